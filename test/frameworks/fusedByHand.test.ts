/** Kernels that Megatron-LM fuses by hand: what a pass reads and writes, beside the same operators of eager PyTorch. */

import { beforeAll, expect, it } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { LoweredOperator } from '../../server/src/frameworks/behaviour.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';

/** 4 heads of 64 × 64 scores, rows of 32, a gate of 96. */
const text = `dims: { batch: 2, seq: 64, h: 32 }
inputs:
  x: [batch, seq, h]
layers:
  - up: Linear(h, 96, bias=False) from x
  - gate: Linear(h, 96, bias=False) from x
  - act: SiLU()
  - gated: mul(act, up)
  - down: Linear(96, h, bias=False)
  - drop: Dropout(0.1)
  - res: add(drop, x)
  - attn: MultiheadAttention(h, 4, causal=True, fused=False)
`;

const [rows, wide, scores] = [2 * 64 * 32, 2 * 64 * 96, 2 * 4 * 64 * 64];

function loweredBy(name: 'megatron' | 'pytorch-ddp'): ReadonlyMap<string, LoweredOperator> {
  const opened = openLayerSpec(text, 'block.layers.yaml');
  const framework = {
    name,
    options: { attention: 'eager', ...(name === 'pytorch-ddp' ? { weights: 'half' } : {}) },
  };
  const { training } = estimateModel(opened, [
    { cluster: 'dgx-a100', gpus: 1, precision: 'fp16', framework },
  ]);
  if (training === undefined) throw new Error('not costed');
  const { operators } = resolveFramework(framework).behaviour.lower(training, 'fp16', 'training');
  return new Map(
    operators.flatMap((lowered, index) => {
      const operator = training.analysis.graph.operators[index];
      return lowered === undefined || operator === undefined ? [] : [[operator.outputs[0] ?? '', lowered]];
    }),
  );
}

let eager: ReadonlyMap<string, LoweredOperator>;
let fused: ReadonlyMap<string, LoweredOperator>;
beforeAll(() => {
  eager = loweredBy('pytorch-ddp');
  fused = loweredBy('megatron');
});

type Pass = 'forward' | 'backwardData';
const sum = (kernels: readonly KernelWork[], of: 'bytes' | 'launches'): number =>
  kernels.reduce((total, kernel) => total + kernel[of], 0);
const saving = (names: readonly string[], pass: Pass, of: 'bytes' | 'launches'): number =>
  [...eager].reduce((total, [name, own]) => {
    const other = fused.get(name);
    return other !== undefined && names.some((each) => name.includes(each))
      ? total + sum(own[pass], of) - sum(other[pass], of)
      : total;
  }, 0);

/** What lies between two operators is written by one and read by the other, in two bytes an element. */
it.each<readonly [string, readonly string[], Pass, number, number]>([
  ['scale, mask and softmax', ['attn/Mul', 'attn/Add_', 'attn/Softmax'], 'forward', 2 * 2 * 2 * scores, 2],
  ['their backward', ['attn/Mul', 'attn/Add_', 'attn/Softmax'], 'backwardData', 2 * 2 * scores, 1],
  ['dropout and the residual', ['drop', 'res'], 'forward', 2 * 2 * rows, 1],
  ['their backward', ['drop', 'res'], 'backwardData', 0, 0],
  ['an activation and its gate', ['act', 'gated'], 'forward', 2 * 2 * wide, 1],
  ['their backward', ['act', 'gated'], 'backwardData', 3 * 2 * wide, 1],
  ['products', ['MatMul'], 'forward', 0, 0],
])('%s move fewer bytes', (_, names, pass, size, launches) => {
  expect([saving(names, pass, 'bytes'), saving(names, pass, 'launches')]).toEqual([size, launches]);
});

it('a gate keeps what goes into its activation, and not what comes out', () => {
  const kept = (of: ReadonlyMap<string, LoweredOperator>): number =>
    new Set([...of.values()].flatMap(({ saved }) => saved.map(({ key }) => key))).size;
  expect(kept(eager) - kept(fused)).toBe(1);
});

/** Layers of Transformer Engine are one kernel each, also where a model writes them out (`TENorm`): two launches more are products. */
it.each(['RMSNorm(64, fused=False)', "RMSNorm(64, fused=False, cast='behind')", 'RMSNorm(64)'])(
  '%s is one kernel in each direction',
  (call) => {
    const spec = `inputs:\n  x: [8, 16, 64]\nlayers:\n  - up: Linear(64, 64)\n  - norm: ${call}\n  - down: Linear(64, 64)\n`;
    const framework = { name: 'megatron', options: {} };
    const { training } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [
      { cluster: 'dgx-h100', gpus: 1, precision: 'bf16', framework },
    ]);
    if (training === undefined) throw new Error('not costed');
    const { operators } = resolveFramework(framework).behaviour.lower(training, 'bf16', 'training');
    const launches = (pass: Pass): number =>
      sum(
        operators.flatMap((each) => each?.[pass] ?? []),
        'launches',
      );
    expect([launches('forward'), launches('backwardData')]).toEqual([3, 2]);
  },
);

/** Scale, mask and softmax are one kernel (`masked_softmax_fusion`); what is no scale stays one of its own. */
it.each([
  ['mul(sc, 0.25)', 'add(scaled, m)', 1],
  ['div(sc, 4)', 'add(scaled, m)', 1],
  ['exp(sc)', 'add(scaled, m)', 2],
  ['mul(sc, 0.25)', 'exp(scaled)', 3],
])('%s, %s and a softmax are launched %i times', (scale, mask, launches) => {
  const spec = `inputs:
  x: float32[2, 4, 16, 8]
  m: float32[2, 1, 16, 16]
layers:
  - q: Linear(8, 8, bias=False) from x
  - k: transpose(q, 2, 3)
  - sc: matmul(q, k)
  - scaled: ${scale}
  - masked: ${mask}
  - out: softmax(masked, dim=-1)
`;
  const framework = { name: 'megatron', options: { attention: 'eager' } };
  const { training } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [
    { cluster: 'dgx-a100', gpus: 1, precision: 'fp32', loss: 'none', framework },
  ]);
  if (training === undefined) throw new Error('not costed');
  const { operators } = resolveFramework(framework).behaviour.lower(training, 'fp32', 'training');
  expect(
    sum(
      operators.slice(-3).flatMap((each) => each?.forward ?? []),
      'launches',
    ),
  ).toBe(launches);
});
