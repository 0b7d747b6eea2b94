import { expect, it } from 'vitest';
import {
  findDefinition,
  findReferences,
} from '../../../server/src/language/layer-spec/layerSpecNavigation.ts';
import { nameAt, namesOfSpec } from '../../../server/src/language/layer-spec/specNames.ts';
import { readSpecText } from '../../../server/src/language/layer-spec/specText.ts';
import { positionAt } from '../../../server/src/language/textLines.ts';

const text = `dims: { batch: 8, d: 64, hidden: 4*d }
inputs:
  x: float32[batch, d]
  memory: float32[batch, d]
blocks:
  pair(width, ratio=d):
    - up: Linear(width, ratio)
    - down: Linear(ratio, width) from up
    - sum: add(down, input)
  cross(width) from query, keys to out:
    - q: Linear(width) from query
    - out: add(q, keys, x)
layers:
  - first: Linear(d, (d))
  - body: pair(d, ratio=hidden) * 2 from first
  - join: cross(d) from body, memory
  - tied: Linear(d, d, weight=first)
  - out, h: LSTM(d)
  - last: concat((first, h), out, dim=1)
outputs: [last, first]
`;
const document = readSpecText(text);

/** The word `of` at its place number `nth` in the text; every place of the name, the definitions first. */
function check(of: string, nth: number, expected: readonly string[]): void {
  let at = -1;
  for (let count = 0; count <= nth; count += 1) {
    const pattern = new RegExp(`\\b${of}\\b`, 'g');
    pattern.lastIndex = at + 1;
    at = pattern.exec(text)?.index ?? -1;
  }
  const places = findReferences(document, at, true).map(({ start, end }) => {
    const { line, character } = positionAt(document.text, start);
    expect(text.slice(start, end)).toBe(of);
    return `${line + 1}:${character + 1}`;
  });
  expect(places).toEqual(expected);
}

it('finds every use of a dim, that in its own file’s expressions included', () => {
  check('d', 0, [
    '1:19',
    '1:36',
    '3:21',
    '4:26',
    '6:21',
    '14:19',
    '14:23',
    '15:16',
    '16:17',
    '17:18',
    '17:21',
    '18:18',
  ]);
  check('hidden', 0, ['1:26', '15:25']);
});

it('keeps a parameter of a block apart from the dims outside', () => {
  check('width', 0, ['6:8', '7:18', '8:27']);
  check('ratio', 0, ['6:15', '7:25', '8:20', '15:19']);
});

it('finds layers as sources, as arguments, as tied weights and as outputs', () => {
  check('first', 0, ['14:5', '15:42', '17:31', '19:19', '20:17']);
  check('last', 0, ['19:5', '20:11']);
  check('h', 0, ['18:10', '19:26']);
  check('up', 0, ['7:7', '8:39']);
});

it('finds inputs of the model and of a block', () => {
  check('memory', 0, ['4:3', '16:31']);
  check('x', 0, ['3:3', '12:25']);
  check('query', 0, ['10:21', '11:29']);
  check('keys', 0, ['10:28', '12:19']);
});

it('finds the outputs of a block, not the layer of the same name outside', () => {
  check('out', 0, ['10:36', '12:7']);
  check('out', 2, ['18:5', '19:30']);
});

it('finds calls of a block', () => {
  check('pair', 0, ['6:3', '15:11']);
});

it('goes from a use to its definition, and from `input` to the block', () => {
  const at = (part: string, word: string): number => text.indexOf(part) + part.indexOf(word);
  const target = (part: string, word: string): string => {
    const found = findDefinition(document, at(part, word));
    return found === undefined ? '' : text.slice(found.whole.start, found.whole.end);
  };
  expect(target('pair(d, ratio', 'd')).toBe('d: 64');
  expect(target('from body, memory', 'memory')).toBe('memory: float32[batch, d'.slice(0, 24));
  expect(target('from first', 'first')).toBe('first: Linear(d, (d))');
  expect(target('add(down, input)', 'input')).toBe('pair');
  expect(target('Linear(width, ratio)', 'Linear')).toBe('');
});

it('gives every name and use a place of its own', () => {
  const seen = new Set<number>();
  for (const { definitions, references } of namesOfSpec(document)) {
    for (const { start } of [...definitions, ...references]) {
      expect(seen.has(start)).toBe(false);
      seen.add(start);
    }
  }
  expect(nameAt(namesOfSpec(document), text.indexOf('LSTM'))).toBeUndefined();
});
