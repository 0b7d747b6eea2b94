/** Masks of booleans that a call of attention makes numbers of: exporters write the conversion out, and autocast casts nothing behind it. */

import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';

/** Attention of 2 sequences of 64 tokens with 4 heads of 16, as the default exporter of torch 2.13 writes `scaled_dot_product_attention`. */
const attention = (hidden: string, outputs = 'float[2,4,64,16] y'): string => `
<ir_version: 8, opset_import: ["" : 18]>
attention (float[2,64,64] x, bool[2,1,64,64] seen) => (${outputs})
<float[64,192] w, float zero = {0.0}, float hidden = {${hidden}}, int64[3] parts = {64, 64, 64}, int64[4] heads = {2, 64, 4, 16}, float scale = {0.5}> {
  all = MatMul (x, w)
  q, k, v = Split <axis = 2> (all, parts)
  qs = Reshape (q, heads)
  ks = Reshape (k, heads)
  vs = Reshape (v, heads)
  qh = Transpose <perm = [0, 2, 1, 3]> (qs)
  kh = Transpose <perm = [0, 2, 3, 1]> (ks)
  vh = Transpose <perm = [0, 2, 1, 3]> (vs)
  qc = Mul (qh, scale)
  kc = Mul (kh, scale)
  mask = Where (seen, zero, hidden)
  scores = MatMul (qc, kc)
  masked = Add (scores, mask)
  weights = Softmax <axis = -1> (masked)
  y = MatMul (weights, vh)
}`;

function masksOf(text: string): {
  readonly written: number;
  readonly launches: number;
  readonly kept: number;
} {
  const opened = openModel(byteSourceOfBuffer(Buffer.from(text)), 'attention.onnxtxt');
  const { training, issues } = estimateModel(opened, [{ gpus: 1, precision: 'bf16', loss: 'none' }]);
  if (training === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options: {} });
  const { operators } = behaviour.lower(training, 'bf16', 'training');
  const of = (type: string) =>
    operators[training.analysis.graph.operators.findIndex((operator) => operator.type === type)];
  const called = operators.find((operator) => operator?.forward.some((kernel) => kernel.attention));
  return {
    written: (of('Where')?.bytesPerElement ?? 0) * 2 * 64 * 64,
    launches: called?.forward.length ?? 0,
    kept: called?.saved.find(({ key }) => key.startsWith('mask'))?.bytes ?? 0,
  };
}

const elements = 2 * 64 * 64;

test.each([
  ['the lowest number of fp32', '-3.4028234663852886e38'],
  ['the lowest number of fp16', '-65504.0'],
])('a call makes numbers of its mask in half precision: %s', (_, hidden) => {
  const { written, kept } = masksOf(attention(hidden));
  expect({ written, kept }).toEqual({ written: 2 * elements, kept: 2 * elements });
});

test.each([
  ['another number', attention('-100.0')],
  ['read elsewhere too', attention('-65504.0', 'float[2,4,64,16] y, float[2,1,64,64] mask')],
])('a mask of numbers that a model makes is cast: %s', (_, text) => {
  const called = masksOf(attention('-65504.0'));
  const launches = called.launches + 1;
  expect(masksOf(text)).toEqual({ written: 4 * elements, launches, kept: 2 * elements });
});

test('where an exporter adds the booleans to the scores, the call still makes numbers of them', () => {
  const added = attention('-65504.0').replace('Add (scores, mask)', 'Add (scores, seen)');
  const launches = masksOf(attention('-65504.0')).launches + 2;
  expect(masksOf(added.replace('  mask = Where (seen, zero, hidden)\n', '')).launches).toBe(launches);
});

/** `Attention` of opset 23 with a mask that the file holds: 2 sequences of 4 tokens, 2 heads of 8. */
const masked = (shown: readonly number[]): string => `
<ir_version: 10, opset_import: ["" : 23]>
attention (float[2,2,4,8] q, float[2,2,4,8] k, float[2,2,4,8] v) => (float[2,2,4,8] y)
<bool[1,1,4,4] seen = {${shown.join(', ')}}> {
  y = Attention (q, k, v, seen)
}`;

test.each([
  ['that hides nothing is none', Array.from({ length: 16 }, () => 1), 0],
  ['that hides one key makes numbers of it', [0, ...Array.from({ length: 15 }, () => 1)], 2],
])('a mask %s', (_, shown, more) => {
  const none = masked([]).replace('<bool[1,1,4,4] seen = {}>', '').replace(', seen)', ')');
  expect(masksOf(masked(shown)).launches).toBe(masksOf(none).launches + more);
});
