/** What reading a spec may take, however it is written: it is read with every keystroke. */

import { expect, test } from 'vitest';
import { meantIndents } from '../../../server/src/formats/layer-spec/meantIndents.ts';
import { readLayerSpec } from '../../../server/src/formats/layer-spec/readLayerSpec.ts';

const linesOf = (count: number, line: string): string => `${line}\n`.repeat(count);

test.each([
  ['of as many lines as are read', linesOf(2 ** 16 - 1, '- a:'), undefined],
  ['of one more', linesOf(2 ** 16, '- a:'), 'has 65537 lines, more than 65536'],
  ['of more characters', 'x'.repeat(2 ** 20 + 1), 'is 1048577 characters long, more than 1048576'],
])('a spec %s', (_, text, refusal) => {
  const refused = readLayerSpec(text).issues.filter(({ code }) => code === 'file/unreadable');
  expect(refused.map(({ message }) => message)).toEqual(
    refusal === undefined
      ? []
      : [`the layer spec ${refusal}; put repeated layers into blocks, or export the model as ONNX`],
  );
});

/** Every reading finds the line right after those that are mended, so that there is always one more to mend. */
function readingsOf(text: string): number {
  let readings = 0;
  meantIndents(text, (meant) => {
    readings += 1;
    const issues = Array.from({ length: 1000 - meant.size }, (_, index) => ({
      code: 'spec/syntax' as const,
      severity: 'error' as const,
      message: 'indent the lines alike',
      span: { start: (index + 4 * meant.size) * 10, end: (index + 4 * meant.size) * 10 + 1 },
    }));
    return { spec: undefined, issues, isMisplaced: false };
  });
  return readings;
}

test.each([
  ['a short spec', 20],
  ['a spec of fifty kilobytes', 5_000],
  ['a spec longer than those whose indents are mended', 10_000],
])('%s is not read again without end', (_, lines) => {
  const text = linesOf(lines, '   - a: b()').slice(0, lines * 12);
  const readings = readingsOf(text);
  // The last slip begins below the bound.
  expect((readings - 24) * text.length).toBeLessThanOrEqual(2 ** 20);
});
