/** What findings are derived from. */

import type { MessageCost } from '../../model/stepCost.ts';
import type { Seconds } from '../../model/units.ts';
import type { StepTimeline } from '../../schedule/stepTimeline.ts';
import type { ReservedMemory } from '../memory/reservedMemory.ts';
import type { StepMemory } from '../memory/stepMemory.ts';
import type { StepPlan } from '../plan/stepPlan.ts';

export interface EstimatedStep {
  readonly plan: StepPlan;
  readonly timeline: StepTimeline;
  /** What a step takes on one GPU by itself; `null` where the cost of an operator is unknown. */
  readonly alone: Seconds | null;
  readonly memory: StepMemory;
  /** What the allocator takes for it; placed when it is first asked for. */
  readonly reserved: () => ReservedMemory;
  readonly messages: readonly MessageCost[];
  /** Whether the cost of every operator is known. */
  readonly exact: boolean;
}
