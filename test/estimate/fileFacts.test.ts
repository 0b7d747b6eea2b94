/** What a file itself says and a step must follow, end to end: its fixed batch, the types of its parameters. */

import { expect, test } from 'vitest';
import { openOnnxText } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

/** One product of `batch` rows of 512 with 512 × 512 weights. */
const stepOf = (batch: number | string, type: string, request: ScenarioRequest) => {
  const text = `<ir_version: 9, opset_import: ["" : 20]>
one (${type}[${batch}, 512] x) => (${type}[${batch}, 512] y)
<${type}[512, 512] w = {...}>
{
  y = MatMul (x, w)
}
`;
  const { cost } = estimateModel(openOnnxText(text, 'one.onnxtxt'), [request]);
  if (cost === undefined) throw new Error('it was not costed');
  return cost;
};

test.each([
  ['the batch of the file', 4, undefined, 4],
  ['another that was asked for', 4, 8, 8],
  ['of one that is open, what was asked for', 'N', 6, 6],
  ['of one that is open and not given, 1', 'N', undefined, 1],
])('batch: %s', (_, inFile, asked, batch) => {
  const given = asked === undefined ? {} : { batch: asked };
  const { scenario, totals } = stepOf(inFile, 'float', { ...given, input: { decodeRate: 500 } });
  expect([scenario.batchPerGpu, totals.flops.forward]).toEqual([batch, 2 * batch * 512 * 512]);
  // Eight GPUs of a DGX H100, whose host has 112 cores.
  expect((totals.throughput ?? 0) * (totals.time.step ?? 0)).toBeCloseTo(8 * batch, 6);
  expect(totals.input?.decoding).toBeCloseTo((8 * batch) / (112 * 500), 9);
});

/** Bytes of an element of parameters, gradients, and AdamW's two moments; types but fp32 keep their width. */
test.each([
  ['float', 'fp32', 4, 8],
  ['float', 'bf16', 4, 8],
  ['float16', 'fp32', 2, 8],
  ['bfloat16', 'bf16', 2, 8],
  ['double', 'fp32', 8, 8],
] as const)('parameters of %s in %s: %d bytes an element', (type, precision, width, state) => {
  const { totals, messages = [] } = stepOf('N', type, { precision, optimizer: 'adamw', gpus: 8 });
  const elements = 512 * 512;
  const { parameters, gradients, optimizerState } = totals.memory;
  expect([parameters, gradients, optimizerState].map((size) => size / elements)).toEqual([
    width,
    width,
    state,
  ]);
  expect(messages.map(({ bytes }) => bytes / elements)).toEqual([width]);
});
