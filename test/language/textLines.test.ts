import fc from 'fast-check';
import { expect, it } from 'vitest';
import { positionAt, rangeOfLine, splitLines } from '../../server/src/language/textLines.ts';

it('splits at line feeds and keeps carriage returns out', () => {
  expect(splitLines('a\r\nbc\n').lines).toEqual(['a', 'bc', '']);
  expect(splitLines('').lines).toEqual(['']);
});

it('finds every offset again', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'b', '\n', ' ', '𝒳')), (characters) => {
      const text = characters.join('');
      const lines = splitLines(text);
      for (let offset = 0; offset <= text.length; offset += 1) {
        const { line, character } = positionAt(lines, offset);
        expect((lines.starts[line] ?? 0) + character).toBe(offset);
      }
    }),
  );
});

it('leaves out the blanks around what a line says', () => {
  expect(rangeOfLine(splitLines('  ab  \n   '), 0)).toEqual({
    start: { line: 0, character: 2 },
    end: { line: 0, character: 4 },
  });
  expect(rangeOfLine(splitLines('  ab  \n   '), 1).end.character).toBe(0);
});
