import { expect, it } from 'vitest';
import { layerSpecSignature } from '../../../server/src/language/layer-spec/layerSpecSignature.ts';
import { atCursor } from './cursor.ts';

/** The parameter at the cursor, as the signature writes it; '' where none is, `undefined` outside of calls. */
function check(call: string, expected: string | undefined): void {
  const { document, offset } = atCursor(
    `inputs:\n  x: float32[batch, 8]\nblocks:\n  pair(width, ratio=4):\n    - a: ReLU()\nlayers:\n  - new: ${call}\n`,
  );
  const help = layerSpecSignature(document, offset);
  if (help === undefined) expect(expected).toBeUndefined();
  else {
    const parameter = help.parameters[help.active ?? -1];
    expect(parameter === undefined ? '' : help.label.slice(parameter.start, parameter.end)).toBe(expected);
  }
}

it.each([
  ['Linear(|', 'in_features'],
  ['Linear(8, |', 'out_features'],
  ['Linear(8, 4*|d', 'out_features'],
  ['Linear(8, 8, |)', 'bias=True'],
  ['Linear(8, bias=|', 'bias=True'],
  ['Linear(8, bias=True|, 3)', 'bias=True'],
  ['Conv2d(8, 8, (3, |', 'kernel_size'],
  ['pair(8, |', 'ratio=4'],
  ['pair(ratio=|', 'ratio=4'],
  ['Linear(wrong=|', ''],
  ['Linear|', undefined],
  ['Linear(8, 8) |', undefined],
  ['Linear(8, 8) # (|', undefined],
])('%s is at %s', (call, expected) => check(call, expected));

it('shows the tensors of a function before its parameters', () => {
  const { document, offset } = atCursor('layers:\n  - new: add(|');
  expect(layerSpecSignature(document, offset)?.label).toMatch(/^add\(/);
});
