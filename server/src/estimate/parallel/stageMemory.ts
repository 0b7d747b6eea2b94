/**
 * GPU memory of a worker of one stage: that of its step with one micro-batch, and the activations of the others that have gone
 * forward and not yet backward. How many these are follows from the schedule.
 */

import type { PeakMemory } from '../../model/stepCost.ts';
import { bytes } from '../../model/units.ts';
import { memoryOf, momentsOf } from '../memory/memoryOf.ts';
import type { PeakMoment, StepMemory } from '../memory/stepMemory.ts';
import type { StepPlan } from '../plan/stepPlan.ts';

export interface StageMemory {
  readonly kinds: Omit<StepMemory, 'peakAt' | 'largestBatch'>;
  readonly peakAt: Omit<PeakMemory, 'layer'>;
  /** Index of the operator of the stage where the peak is; absent in the update. */
  readonly operator: number | undefined;
  readonly peak: StepMemory['peak'];
  readonly capacity: StepMemory['capacity'];
}

/** `alive`: micro-batches whose activations are kept at most, that of the peak among them. */
export function stageMemory(plan: StepPlan, alive: number): StageMemory {
  const { peakAt, largestBatch: _, ...kinds } = memoryOf(plan);
  const others = Math.max(0, alive - 1) * kinds.activations;
  if (others === 0) return { kinds, ...withoutOperator(peakAt), peak: kinds.peak, capacity: kinds.capacity };
  // In the update no micro-batch is on its way.
  const moments = momentsOf(plan).map((moment) =>
    moment.phase === 'update' ? moment : { ...moment, activations: bytes(moment.activations + others) },
  );
  const most = moments.reduce((best, moment) => (sizeOf(moment) > sizeOf(best) ? moment : best));
  const peak = bytes(sizeOf(most));
  return {
    kinds: { ...kinds, activations: bytes(kinds.activations + others), peak },
    ...withoutOperator(most),
    peak,
    capacity: kinds.capacity,
  };
}

function withoutOperator({ operator, ...peakAt }: PeakMoment): Pick<StageMemory, 'operator' | 'peakAt'> {
  return { operator, peakAt };
}

const sizeOf = (moment: PeakMoment): number =>
  moment.parameters +
  moment.gradients +
  moment.optimizerState +
  moment.activations +
  moment.workspace +
  moment.communicationBuffers;
