import { expect, test } from 'vitest';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { attentionKernels } from '../../server/src/hardware/kernelEnvironment.ts';
import { openGraph } from '../support/savedActivations.ts';

const opened = openGraph('samples/more/llama-3-8b.layers.yaml');

/** Seconds of forward and backward on an H100. */
function passes(kernel: string): readonly [forward: number, backward: number] {
  const framework = { name: 'pytorch-fsdp', options: { 'attention-kernel': kernel } };
  const { cost } = estimateModel(opened, [
    { cluster: 'dgx-h100', gpus: 8, batch: 1, precision: 'bf16', framework },
  ]);
  return [cost?.totals.time.forward ?? 0, cost?.totals.time.backward ?? 0];
}

test('the kernel of attention sets the time of forward and of backward', () => {
  const all = new Map(attentionKernels.map((kernel) => [kernel, passes(kernel)]));
  for (const pass of [0, 1]) {
    const of = (kernel: (typeof attentionKernels)[number]): number => all.get(kernel)?.[pass] ?? 0;
    expect(of('newest')).toBeGreaterThan(0);
    expect(of('flash-attention-2')).toBeGreaterThan(of('newest'));
    expect(of('triton')).toBeGreaterThan(of('flash-attention-2'));
    expect(of('flash-attention-1')).toBeGreaterThanOrEqual(of('triton'));
  }
});
