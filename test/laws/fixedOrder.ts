/**
 * A step whose channels carry messages in an order that is given, instead of choosing what goes next.
 *
 * With every order fixed, each start is the largest of some ends, and each end a start plus a time: shorter times never make
 * anything later (Baccelli et al., "Synchronization and Linearity", 1992, §2.5). So a step that shorter messages make
 * longer is a scheduling anomaly if it is not longer in the order of before, and a fault of the simulation if it is.
 */

import { floatAt, intAt } from '../../server/src/model/at.ts';
import { createInputSupply } from '../../server/src/schedule/inputSupply.ts';
import type { Jobs } from '../../server/src/schedule/jobs.ts';
import type { MessageColumns } from '../../server/src/schedule/messageColumns.ts';
import type { MessageSimulation } from '../../server/src/schedule/messageSimulation.ts';
import { type SimulatedStep, simulateStep } from '../../server/src/schedule/simulateStep.ts';
import { steadyState } from '../../server/src/schedule/steadyState.ts';
import { orderOf } from '../../server/src/schedule/stepOrder.ts';
import type { StepWork } from '../../server/src/schedule/stepWork.ts';

const steps = 12;

/** When each of the first steps of `work` ends, its kernels not slowed by messages. */
export function endsOf(work: StepWork): readonly number[] {
  return recorded(work).steps.map(({ end }) => end);
}

/** The same of `work` whose messages travel in the order of those of `other`, which are as many. */
export function endsInOrderOf(other: StepWork, work: StepWork): readonly number[] {
  const { jobs } = recorded(other);
  const traffic = inOrder(work.messages, jobs);
  const supply = work.input === undefined ? undefined : createInputSupply(work.input);
  const laid: SimulatedStep[] = [];
  const line = { work: { ...work, slowing: [] }, order: orderOf(work), traffic, supply };
  for (let step = 0; step < steps; step += 1) laid.push(simulateStep(line, laid));
  return laid.map(({ end }) => end);
}

function recorded(work: StepWork): { readonly steps: readonly SimulatedStep[]; readonly jobs: Jobs } {
  const line = steadyState({ ...work, slowing: [] }, true);
  while (line.steps.length < steps) line.lay();
  const { jobs } = line.traffic;
  if (jobs === undefined) throw new Error('nothing was recorded');
  return { steps: line.steps.slice(0, steps), jobs };
}

/** Jobs begin in the order of `jobs`, as soon as they and their channel are ready. */
function inOrder({ firstStage, time }: MessageColumns, jobs: Jobs): MessageSimulation {
  const perStep = time.length;
  const releasedAt = new Map<number, number>();
  const ends = new Map<number, number>();
  const jobOf = (step: number, message: number): number => step * perStep + intAt(firstStage, message);
  const isFirstStage = (job: number): boolean =>
    jobs.messageOf[job % perStep] !== jobs.messageOf[(job % perStep) - 1];
  const releaseOf = (job: number): number => {
    const at = releasedAt.get(job);
    if (at === undefined) throw new Error(`job ${job} is waited for and was not released`);
    return at;
  };
  const endOf = (asked: number): number => {
    const open = [asked];
    for (let job = open.at(-1); job !== undefined; job = open.at(-1)) {
      const previous = intAt(jobs.previous, job);
      const before = [...(previous < 0 ? [] : [previous]), ...(isFirstStage(job) ? [] : [job - 1])];
      const unknown = before.filter((other) => !ends.has(other));
      open.push(...unknown);
      if (unknown.length > 0) continue;
      open.pop();
      const ready = isFirstStage(job) ? releaseOf(job) : 0;
      const begin = Math.max(ready, ...before.map((other) => ends.get(other) ?? Number.NaN));
      ends.set(job, begin + floatAt(time, job % perStep));
    }
    return ends.get(asked) ?? Number.NaN;
  };
  return {
    release: (step, message, at) => {
      releasedAt.set(jobOf(step, message), at);
    },
    arrival: (step, message) => {
      const [first, next] = [jobOf(step, message), jobOf(step, message + 1)];
      return first === next ? 0 : endOf(next - 1);
    },
    endOfWork: (start, work) => start + work,
    pace: { until: Number.POSITIVE_INFINITY, factor: 1 },
    outstanding: () => ({ jobs: [], left: [] }),
    jobs: undefined,
  };
}
