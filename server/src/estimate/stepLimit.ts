/** What a step waits for beside computation, and whether that is worth a word. */

import { floatAt } from '../model/at.ts';
import type { StepLimit } from '../model/stepCost.ts';
import type { StepTimeline } from '../schedule/stepTimeline.ts';
import { waitingForSlower, workerTimeline } from './plan/plannedTimes.ts';
import type { StepPlan } from './plan/stepPlan.ts';

/** Less of the step than this, in all, leaves computation the limit. */
export const smallShare = 0.05;

export function stepLimit(plan: StepPlan, timeline: StepTimeline): StepLimit {
  const { step, hostTime, exposedInputTime, forwardTime, backwardTime, updateTime } = timeline;
  if (step === 0) return { kind: 'compute', share: 1 };
  const busy = forwardTime + backwardTime + updateTime - hostTime;
  const parts: readonly (readonly [StepLimit['kind'], number])[] = [
    ['host', hostTime],
    ['input', exposedInputTime],
    ...exposedByCause(plan, timeline),
    ['imbalance', busy * (1 - 1 / plan.imbalance) + waitingForSlower(plan, step)],
  ];
  let all = 0;
  let largest: readonly [StepLimit['kind'], number] = ['compute', 0];
  for (const part of parts) {
    all += part[1];
    if (part[1] > largest[1]) largest = part;
  }
  return all < smallShare * step
    ? { kind: 'compute', share: 1 - all / step }
    : { kind: largest[0], share: largest[1] / step };
}

/**
 * Exposed communication by what its messages take their time for: starting up, queueing at servers, moving bytes, which
 * also slows what is computed meanwhile.
 */
function exposedByCause(
  plan: StepPlan,
  timeline: StepTimeline,
): readonly (readonly [StepLimit['kind'], number])[] {
  const { traffic, exchange } = plan;
  const line = exchange.synchrony === 'synchronous' ? timeline : workerTimeline(plan, 'middle');
  const { step, exposed, slowedTime } = line;
  let latency = 0;
  let server = timeline.step - step;
  let communication: number = slowedTime;
  for (let index = 0; index < exposed.length; index += 1) {
    const ownExposed = floatAt(exposed, index);
    if (ownExposed === 0) continue;
    const stages = traffic.stages[index] ?? [];
    let whole = 0;
    for (const { time } of stages) whole += time;
    if (whole === 0) continue;
    for (const { time, startup, bound } of stages) {
      const part = ownExposed / whole;
      latency += startup * part;
      if (bound === 'server') server += (time - startup) * part;
      else communication += (time - startup) * part;
    }
  }
  return [
    ['latency', latency],
    ['server', server],
    ['communication', communication],
  ];
}
