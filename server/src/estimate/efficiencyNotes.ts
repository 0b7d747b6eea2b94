/** What makes a scaling efficiency hard to read: more than all of it, and a single GPU that could not run the step. */

import { formatBytes, formatTime } from '../model/format.ts';
import type { StepTimes } from '../schedule/stepTimeline.ts';
import { memoryOf } from './memory/memoryOf.ts';
import { withRuntime } from './memory/reservedMemory.ts';
import { planForGpus } from './plan/planStep.ts';
import type { StepPlan } from './plan/stepPlan.ts';

/** Clauses to follow the efficiency; `here` is the step on all GPUs, `alone` that of one by itself. */
export function efficiencyNotes(plan: StepPlan, here: StepTimes, alone: StepTimes): readonly string[] {
  if (plan.scenario.gpus === 1) return [];
  const above = alone.step > (1 + noticed) * here.step ? [whyAbove(plan, here, alone)] : [];
  return [...above, ...baselineNotes(plan)];
}

/** A share that is shown as more than 100 %. */
const noticed = 0.005;

/** On many GPUs the update may be less, and the host further ahead, than on one. */
function whyAbove({ exchange, ownExchange }: StepPlan, here: StepTimes, alone: StepTimes): string {
  const shorter = alone.step - here.step;
  if (ownExchange !== undefined && alone.exposedTime - here.exposedTime >= most * shorter) {
    const [own, waits] = [formatTime(alone.exposedTime), formatTime(here.exposedTime)];
    return `over 100 %, because a single GPU copies all state to and from its host, and waits ${own} for it; here each waits ${waits}`;
  }
  const updating = alone.updateTime - here.updateTime;
  if (updating < most * shorter) {
    const [waits, own] = [formatTime(here.hostTime), formatTime(alone.hostTime)];
    return `over 100 %, because the host launches ahead while messages are in flight: the GPU waits ${waits} for it, and ${own} on a single GPU`;
  }
  const [whole, own] = [formatTime(alone.updateTime), formatTime(here.updateTime)];
  if (exchange.update === 'at servers')
    return `over 100 %, because servers update the parameters, and a single GPU does so itself in ${whole}`;
  const { optimizerState } = exchange.shards;
  return optimizerState > 1
    ? `over 100 %, because each GPU updates 1/${optimizerState} of the parameters in ${own}, and a single GPU all in ${whole}`
    : `over 100 %, because the update takes ${own} here, and ${whole} on a single GPU`;
}

/** Of what a step is shorter: the update explains it. */
const most = 0.5;

/** The step of a single GPU is compared with whether it fits there or not. */
function baselineNotes(plan: StepPlan): readonly string[] {
  const { peak, capacity } = memoryOf(planForGpus(plan, 1));
  const needed = withRuntime(peak);
  return needed <= capacity
    ? []
    : [`against a single GPU that would need ${formatBytes(needed)} of its ${formatBytes(capacity)}`];
}
