/**
 * How a step changes with the number of GPUs: each point with its efficiency and what limits it.
 *
 * Weak scaling keeps the batch of each GPU; strong scaling keeps the batch over all of them, so that a single GPU
 * takes the whole batch. Efficiency is the throughput of a GPU here over that of one by itself.
 */

import type { Range } from '../../model/estimate.ts';
import { gpuMemory } from '../../model/gpuMemory.ts';
import type { Fit, StepCost, StepLimit } from '../../model/stepCost.ts';
import type { Bytes, Seconds } from '../../model/units.ts';

export interface ScalingPoint {
  readonly gpus: number;
  readonly nodes: number;
  readonly batchPerGpu: number;
  readonly step: Seconds | null;
  /** Low and high bound of `step`; null where that is a lower bound itself. */
  readonly stepRange: Range<Seconds> | null;
  readonly communication: Seconds | null;
  readonly exposedCommunication: Seconds | null;
  readonly throughput: number | null;
  readonly scalingEfficiency: number | null;
  /** What `scalingEfficiency` is of: the batch of each GPU is kept, or that over all of them. */
  readonly scaling: 'weak' | 'strong';
  /** Over a single GPU. */
  readonly speedup: number | null;
  readonly limit: StepLimit;
  /** What a GPU needs (`model/gpuMemory.ts`). */
  readonly memory: Bytes;
  /** `null` where its memory is unknown. */
  readonly fits: Fit | null;
  /** Where a run is described: seconds, and US dollars where there is a price. */
  readonly runTime: Seconds | null;
  readonly runPrice: number | null;
  /** False where both are lower bounds. */
  readonly runExact: boolean;
  /** False where the step is a lower bound. */
  readonly exact: boolean;
  /** False where memory is. */
  readonly memoryExact: boolean;
}

/** `alone` is the step of one GPU with the batch of all, where that is what all share; left out, scaling is weak. */
export function scalingCurve(costs: readonly StepCost[], alone?: StepCost): readonly ScalingPoint[] {
  return costs.map((cost) => {
    const { scenario, totals } = cost;
    const { needed, fits } = gpuMemory(cost);
    const { gpus, nodes, batchPerGpu, globalBatch } = scenario;
    // A model with a batch of its own takes no other, and one GPU then not the whole. A measured step is of one batch.
    const isOfAll =
      globalBatch !== undefined &&
      alone?.scenario.globalBatch === globalBatch &&
      scenario.measuredStep === undefined;
    const ofOne = isOfAll && alone.totals.time.exact ? alone.totals.throughput : null;
    const strong = ofOne === null || totals.throughput === null ? null : totals.throughput / (gpus * ofOne);
    const efficiency = alone === undefined ? totals.scalingEfficiency : totals.time.exact ? strong : null;
    return {
      gpus,
      nodes,
      batchPerGpu,
      step: totals.time.step,
      stepRange: totals.time.exact ? totals.time.range : null,
      communication: totals.time.communication,
      exposedCommunication: totals.time.exposedCommunication,
      throughput: totals.throughput,
      scalingEfficiency: efficiency,
      scaling: alone === undefined ? ('weak' as const) : ('strong' as const),
      speedup: efficiency === null ? null : efficiency * gpus,
      limit: totals.limit,
      memory: needed,
      fits,
      runTime: totals.run?.time ?? null,
      runPrice: totals.run?.price ?? null,
      runExact: totals.time.exact && totals.run?.exact !== false,
      exact: totals.time.exact,
      memoryExact: totals.exact,
    };
  });
}
