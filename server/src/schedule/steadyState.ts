/**
 * Steps laid out one after another until they repeat.
 *
 * What a step does follows from what is on its way when it begins: messages on and before channels, and batches that are
 * read ahead. Where a step begins and ends with the same, told from its begin and its end, all later steps are like it.
 * That is a proof, and mostly found in the first step or the second. A message of an earlier step that has arrived before
 * a step begins is no part of it: nothing waits for it any more.
 *
 * Steps may also take the same time while ever more is on its way, where nothing waits for that; and they may never come
 * to rest. So steps are alike, too, where several take the same time, and after a while their average is told.
 */

import { createInputSupply, type InputSupply } from './inputSupply.ts';
import { createMessageSimulation, type MessageSimulation, type Outstanding } from './messageSimulation.ts';
import { type LaidStep, simulateStep } from './simulateStep.ts';
import { type Order, orderOf } from './stepOrder.ts';
import type { StepWork } from './stepWork.ts';

export interface SettledSteps {
  readonly steps: readonly LaidStep[];
  readonly traffic: MessageSimulation;
  readonly supply: InputSupply | undefined;
  /** The step that stands for all, and of how many up to it times are averaged. */
  readonly shown: number;
  readonly averaged: number;
  /** Whether the shown step was found to repeat by what it begins and ends with. */
  readonly isProved: boolean;
  /** Lays out the steps that wait for what the shown one sends. */
  readonly follow: () => void;
  /** Lays out one more. */
  readonly lay: () => LaidStep;
}

/** `isRecorded`: when each message travels can be asked for, and not only when what waits for it goes on. */
export function steadyState(work: StepWork, isRecorded = false): SettledSteps {
  const order = orderOf(work);
  const { longestLag } = order;
  const traffic = createMessageSimulation(work.messages, work.channels, work.slowing, {
    // A step that is like the one before it; of those that wait for what it sends, messages alone tell.
    steps: longestLag === 0 ? 1 : isRecorded ? 2 + longestLag : 2,
    isRecorded,
  });
  const supply = work.input === undefined ? undefined : createInputSupply(work.input);
  const steps: LaidStep[] = [];
  const lay = (): LaidStep => {
    const step = simulateStep(work, order, traffic, supply, steps, steps.at(-1)?.end ?? 0);
    steps.push(step);
    return step;
  };
  const settled = (shown: number, averaged: number, isProved: boolean): SettledSteps => ({
    steps,
    traffic,
    supply,
    shown,
    averaged,
    isProved,
    follow: () => {
      while (steps.length <= shown + longestLag) lay();
    },
    lay,
  });
  if (longestLag === 0 && supply === undefined) {
    lay();
    return settled(0, 1, true);
  }
  const memory = memoryBetweenSteps(order, traffic, supply);
  let begin = memory(0, 0);
  let alike = 1;
  while (steps.length < settlingSteps + longestLag) {
    const before = steps.at(-1);
    const step = lay();
    const duration = step.end - step.start;
    const end = memory(steps.length, step.end);
    if (begin !== undefined && end !== undefined && isSame(begin, end, duration)) {
      return settled(steps.length - 1, 1, true);
    }
    begin = end;
    alike = before !== undefined && isClose(duration, before.end - before.start) ? alike + 1 : 1;
    // What the shown step sends for later ones has been waited for by the steps laid out after it.
    if (alike === stepsAlike + longestLag) return settled(steps.length - 1 - longestLag, 1, false);
  }
  return settled(steps.length - 1 - longestLag, stepsAveraged, false);
}

/** Periods settle within a few steps; where steps of two or three kinds alternate, their average is told. */
const settlingSteps = 14;
const stepsAlike = 3;
const stepsAveraged = 6;

/** What a step that begins at a time takes over from those before it. */
interface Memory {
  readonly messages: Outstanding;
  readonly input: readonly number[];
}

/** `undefined` where more than that is taken over. */
const memoryBetweenSteps =
  ({ keepsArrivals }: Order, traffic: MessageSimulation, supply: InputSupply | undefined) =>
  (step: number, time: number): Memory | undefined =>
    keepsArrivals
      ? undefined
      : { messages: traffic.outstanding(step, time), input: supply?.ahead(step, time) ?? [] };

/** Up to what adding up times in another order makes of a step of `duration`. */
function isSame(left: Memory, right: Memory, duration: number): boolean {
  const { jobs } = right.messages;
  if (left.messages.jobs.length !== jobs.length) return false;
  const allowed = tolerance * duration;
  return (
    left.messages.jobs.every((job, index) => job === jobs[index]) &&
    areClose(left.messages.left, right.messages.left, allowed) &&
    areClose(left.input, right.input, allowed)
  );
}

const areClose = (left: readonly number[], right: readonly number[], allowed: number): boolean =>
  left.every((time, index) => Math.abs(time - (right[index] ?? 0)) <= allowed);

const isClose = (left: number, right: number): boolean =>
  Math.abs(left - right) <= tolerance * Math.max(left, right);

const tolerance = 1e-9;
