/** What calibration runs: a model that is costed whole, that PyTorch runs, and that has each kind of kernel at several sizes. */

import { describe, expect, it } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import {
  calibrationModel,
  calibrationRuns,
} from '../../../server/src/benchmark/calibration/calibrationModel.ts';
import { notRunnable } from '../../../server/src/benchmark/notRunnable.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { planStep } from '../../../server/src/estimate/plan/planStep.ts';
import { measuredKind } from '../../../server/src/hardware/measuredKernels.ts';

const kinds = ['cpu', 'cuda'] as const;
const runs = kinds.flatMap((kind) => calibrationRuns(kind, 60).map((run) => ({ kind, ...run })));

describe.each(runs)('$kind, batch $request.batch', ({ kind, request }) => {
  const { cost, training, scenario, issues } = estimateModel(
    openLayerSpec(calibrationModel, 'kernels.layers.yaml'),
    [request],
  );

  it('is costed whole, with a loss of its own', () => {
    expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(issues.map(({ code }) => code)).not.toContain('scenario/added-loss');
    expect(cost?.totals.exact).toBe(true);
  });

  it('can be run', () => {
    if (training === undefined || scenario === undefined) throw new Error('not costed');
    expect(notRunnable(training, scenario)).toBeUndefined();
    expect(scenario.precision).toBe(kind === 'cpu' ? 'fp32' : 'bf16');
  });

  it('fits into the memory of a small GPU', () => {
    expect(cost?.totals.memory.peak).toBeLessThan(16 * 2 ** 30);
  });
});

it('has the kernels that most of a training step is, at several sizes', () => {
  const sizes = new Map<string, Set<string>>();
  for (const { request } of calibrationRuns('cuda', 60)) {
    const { training, scenario, cluster } = estimateModel(
      openLayerSpec(calibrationModel, 'kernels.layers.yaml'),
      [request],
    );
    if (training === undefined || scenario === undefined || cluster === undefined)
      throw new Error('not costed');
    const { operators } = planStep(training, scenario, cluster).lowered;
    for (const { forward, backwardData, backwardWeight } of operators.filter((each) => each !== undefined)) {
      for (const work of [...forward, ...backwardData, ...backwardWeight]) {
        const kind = measuredKind(work);
        sizes.set(kind, (sizes.get(kind) ?? new Set()).add(`${work.flops} ${work.bytes}`));
      }
    }
  }
  const few = [...sizes].filter(([, { size }]) => size < 2).map(([kind]) => kind);
  expect(few).toEqual([]);
  expect([...sizes.keys()].sort()).toMatchInlineSnapshot(`
    [
      "attention bf16",
      "batched gemm bf16",
      "column sums",
      "convolution 1x1 data bf16",
      "convolution 1x1 forward bf16",
      "convolution 1x1 weight bf16",
      "convolution 3x3 data bf16",
      "convolution 3x3 forward bf16",
      "convolution 3x3 weight bf16",
      "convolution other data bf16",
      "convolution other forward bf16",
      "convolution other weight bf16",
      "depthwise data bf16",
      "depthwise forward bf16",
      "depthwise weight bf16",
      "elementwise",
      "embedding",
      "gemm bf16",
      "movement",
      "normalization",
      "normalization backward",
      "normalization forward",
      "pooling",
      "reduction",
      "row normalization",
      "softmax",
      "wide groups data bf16",
      "wide groups forward bf16",
      "wide groups weight bf16",
    ]
  `);
});
