/** The time of a model's FLOPs at the peak of its GPU, which MFU compares a step with. */

import { computePath } from '../hardware/computePath.ts';
import type { Dtype } from '../model/dtype.ts';
import type { StepPlan } from './plan/stepPlan.ts';

/**
 * What the model's FLOPs would take at the dense peak of the number type each matmul runs in: that of the
 * scenario's precision, but TF32's for fp32 convolutions where cuDNN computes them so, and a wider type's where
 * the GPU lacks the one asked for.
 */
export function timeAtPeak(plan: StepPlan): number {
  const { training, lowered, cluster, scenario, faster } = plan;
  const peaks = new Map<Dtype, number>();
  let total = 0;
  for (let index = 0; index < training.costs.length; index += 1) {
    const cost = training.costs[index];
    const dtype = lowered.operators[index]?.dtype;
    if (cost?.kind !== 'known' || dtype === undefined) continue;
    const backward = scenario.mode === 'training' ? cost.backwardData.flops + cost.backwardWeight.flops : 0;
    const matmuls = cost.forward.flops + backward;
    if (matmuls === 0) continue;
    let peak = peaks.get(dtype);
    if (peak === undefined) {
      peak = computePath(cluster.gpu, dtype).peak / cluster.gpu.sustainedCompute.value;
      peaks.set(dtype, peak);
    }
    total += matmuls / peak;
  }
  if (faster === undefined || total === 0) return total;
  // Peaks of two kinds add up, so their times do as inverses.
  const slowShare = 1 - faster.count / scenario.gpus;
  return 1 / (slowShare / total + (1 - slowShare) / timeAtPeak(faster.plan));
}
