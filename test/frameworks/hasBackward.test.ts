/**
 * Calls that backward does not pass, though they read what is trained: under `torch.no_grad()`, or where a comparison is taken of
 * their result. PyTorch 2.13 on a CPU holds none of their tensors when backward begins (`torch.autograd.graph.saved_tensors_hooks`
 * with weak references), and its profiler shows no kernel of their backward.
 */

import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';

/** Kernels of backward and kept tensors of the operators that `call` makes of the trained `n`, beside another use of it. */
function ofCall(call: string, reader: string) {
  const text = `<ir_version: 11, opset_import: ["" : 23]>
g (float[2, 8, 16] x, float[8] w, float[16] v) => (y) {
  n = LayerNormalization(x, v, v) z = Constant<value_float = 0.0>() ${call} ${reader}
}`;
  const { training, scenario, cluster } = estimateModel(
    openModel(byteSourceOfBuffer(Buffer.from(text)), 'call.onnxtxt'),
    [{ cluster: 'dgx-a100', gpus: 1, precision: 'bf16', optimizer: 'none', loss: 'none' }],
  );
  if (training === undefined || scenario === undefined || cluster === undefined) throw new Error(text);
  const { graph } = training.analysis;
  const last = graph.values.get('r')?.producer ?? -1;
  const { lowered } = planStep(training, scenario, cluster);
  const operator = lowered.operators[last];
  if (operator === undefined) throw new Error(text);
  return { backward: operator.backwardData.length > 0, kept: operator.saved.length > 0 };
}

const calls = [
  ['group normalization', 'r = GroupNormalization<num_groups = 2>(n, w, w)'],
  ['layer normalization', 'r = LayerNormalization(n, v, v)'],
  ['GELU', 'r = Gelu(n)'],
  ['SiLU', 's = Sigmoid(n) r = Mul(n, s)'],
  [
    'softplus',
    'o = Constant<value_float = 20.0>() c = Greater(n, o) e = Exp(n) p = Constant<value_float = 1.0>() a = Add(e, p) l = Log(a) r = Where(c, n, l)',
  ],
] as const;

test.each(calls)('%s of which a comparison is taken', (_, call) => {
  const compared = 'd = Greater(r, z) y = Where(d, n, z)';
  expect(ofCall(call, compared)).toEqual({ backward: false, kept: false });
});

test.each(calls)('%s that leads to the output', (_, call) => {
  expect(ofCall(call, 'y = Add(r, n)')).toMatchObject({ backward: true });
});
