/** Recurrent layers that are given the lengths of their sequences, as PyTorch exports packed ones. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { onnxModel } from '../support/onnxModel.ts';

const messagesOf = (lengths: string, inputs: readonly string[]) =>
  analyzeOnnx(
    onnxModel({
      inputs: ['x: float32[12, 2, 32]', ...inputs],
      outputs: ['y'],
      initializers: [
        ...['w: float32[1, 256, 32]', 'r: float32[1, 256, 64]', 'b: float32[1, 512]'],
        'stored: int32[2] = 12, 12',
        'shorter: int32[2] = 12, 7',
      ],
      nodes: [`y = LSTM(x, w, r, b${lengths})`],
    }),
  ).issues.flatMap(({ code, message }) => (code === 'graph/sequence-lengths' ? [message] : []));

test.each([
  ['lengths of a batch', ', lengths', ['lengths: int32[2]'], 1],
  ['stored lengths', ', stored', [], 0],
  ['stored lengths, of which one is shorter', ', shorter', [], 1],
  ['no lengths', '', [], 0],
] as const)('%s', (_, lengths, inputs, count) => {
  const said = messagesOf(lengths, inputs);
  expect(said.length).toBe(count);
  for (const message of said) expect(message).toContain('All are costed at full length');
});
