/** Attention over the positions of several GPUs takes as long as the kernels that it is cut into, which are written out here. */

import { describe, expect, test } from 'vitest';
import { timesInBlocks } from '../../../server/src/estimate/parallel/attentionBlocks.ts';
import { operatorTimes } from '../../../server/src/estimate/plan/operatorTimes.ts';
import type { LoweredOperator } from '../../../server/src/frameworks/behaviour.ts';
import type { KernelWork } from '../../../server/src/hardware/kernelWork.ts';
import { bytes, flops } from '../../../server/src/model/units.ts';
import { planOf } from '../../support/estimatedStep.ts';

const plan = planOf(
  { cluster: 'h100-sxm', gpus: 1, batch: 2, precision: 'bf16' },
  'inputs: { x: "float32[batch, 4096, 1024]" }\nlayers:\n  - norm: LayerNorm(1024)\n  - attn: MultiheadAttention(1024, 8, causal=True)\n',
);
const { gpu } = plan.cluster;
const { lowered, times } = plan;

/** The operator of attention in one kernel, and its kernels of forward. */
const core = lowered.operators.findIndex((operator) =>
  operator?.forward.some((kernel) => kernel.class === 'attention'),
);
const operator = lowered.operators[core];
if (operator === undefined) throw new Error('no attention in one kernel');

type Attention = NonNullable<KernelWork['attention']>;
/** The same with another shape of attention in every kernel. */
const shaped = (change: Partial<Attention>): LoweredOperator => {
  const with_ = (kernels: readonly KernelWork[]) =>
    kernels.map((kernel) =>
      kernel.attention === undefined ? kernel : { ...kernel, attention: { ...kernel.attention, ...change } },
    );
  return {
    ...operator,
    forward: with_(operator.forward),
    backwardData: with_(operator.backwardData),
    backwardWeight: with_(operator.backwardWeight),
  };
};
const loweredWith = (own: LoweredOperator) => ({
  ...lowered,
  operators: lowered.operators.map((each, index) => (index === core ? own : each)),
});

/** What `ways` GPUs compute of a kernel: its own keys, those of the others, and the merging of their results. */
function byHand(kernel: KernelWork, ways: number): readonly KernelWork[] {
  const { attention, ...work } = kernel;
  if (kernel.class !== 'attention') return [kernel];
  if (attention === undefined) throw new Error('attention without a shape');
  const part = (share: number, shape: Attention): KernelWork => ({
    ...work,
    flops: flops(kernel.flops * share),
    operations: kernel.operations * share,
    bytes: bytes(kernel.bytes / ways),
    attention: shape,
  });
  const own = part(1 / ways, { ...attention, keys: attention.keys / ways });
  // Without a mask of its own another GPU's half of the keys, else all of them.
  const other = attention.causal
    ? part(1 / (2 * ways), { ...attention, keys: attention.keys / (2 * ways), causal: false })
    : own;
  const result = attention.sequences * attention.queries * attention.size;
  return [
    own,
    ...Array.from({ length: ways - 1 }, () => other),
    {
      class: 'elementwise',
      dtype: kernel.dtype,
      flops: flops(0),
      operations: 0,
      bytes: bytes(2 * (ways - 1) * result * 2),
      launches: ways - 1,
      ...(kernel.environment === undefined ? {} : { environment: kernel.environment }),
    },
  ];
}
const cut = (own: LoweredOperator, ways: number): LoweredOperator => ({
  ...own,
  forward: own.forward.flatMap((kernel) => byHand(kernel, ways)),
  backwardData: own.backwardData.flatMap((kernel) => byHand(kernel, ways)),
  backwardWeight: own.backwardWeight.flatMap((kernel) => byHand(kernel, ways)),
});

describe.each([2, 4])('over %i GPUs', (ways) => {
  test.each([true, false])('causal: %s', (causal) => {
    const own = shaped({ causal });
    const whole = operatorTimes(gpu, loweredWith(own));
    const blocks = timesInBlocks(gpu, loweredWith(own), whole, [[core]], ways);
    const expected = operatorTimes(gpu, loweredWith(cut(own, ways)));
    for (const pass of ['forward', 'backward'] as const) {
      expect(blocks[pass].middle[core]).toBeCloseTo(expected[pass].middle[core] ?? Number.NaN, 12);
      expect(blocks[pass].launches[core]).toBe(expected[pass].launches[core]);
      expect(blocks[pass].bytes[core]).toBeCloseTo(expected[pass].bytes[core] ?? Number.NaN, 3);
      // All other operators are as they were.
      for (const [index, time] of whole[pass].middle.entries())
        if (index !== core) expect(blocks[pass].middle[index]).toBe(time);
    }
    expect(blocks.forward.launches[core]).toBeGreaterThan(whole.forward.launches[core] ?? 0);
    expect(blocks.weight).toBe(whole.weight);
  });
});

test('a kernel under a window is not cut', () => {
  const own = loweredWith(shaped({ window: 128 }));
  const whole = operatorTimes(gpu, own);
  const blocks = timesInBlocks(gpu, own, whole, [[core]], 4);
  expect(blocks.forward.middle[core]).toBe(whole.forward.middle[core]);
  expect(blocks.backward.middle[core]).toBe(whole.backward.middle[core]);
});

test('where no attention is shared, nothing changes', () => {
  expect(timesInBlocks(gpu, lowered, times, [], 4)).toBe(times);
  expect(timesInBlocks(gpu, lowered, times, [[]], 4)).toBe(times);
});
