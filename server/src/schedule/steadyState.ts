/**
 * Simulates steps one after another until they repeat.
 *
 * A step depends on what is outstanding when it begins: messages on and before channels, and batches read ahead. Where
 * the same is outstanding at its begin and its end, relative to either, all later steps repeat it. This is a proof. It
 * mostly succeeds in the first or second step. A message that has arrived before a step begins is not outstanding.
 *
 * The queue of messages may grow while steps take the same time, where nothing waits for them. So steps also count as
 * steady where several take the same time. Steps of several kinds may take turns: messages of later steps go before less
 * urgent ones of this step, for which a step some steps later waits. Such steps are averaged over one turn. Where no turn is
 * found, many steps are averaged.
 */

import { floatAt, intAt, itemAt } from '../model/at.ts';
import { createInputSupply, type InputSupply } from './inputSupply.ts';
import { createMessageSimulation, type MessageSimulation, type Outstanding } from './messageSimulation.ts';
import { type SimulatedStep, simulateStep } from './simulateStep.ts';
import { type Order, orderOf } from './stepOrder.ts';
import type { StepWork } from './stepWork.ts';

export interface SteadyState {
  readonly steps: readonly SimulatedStep[];
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
  readonly lay: () => SimulatedStep;
}

/** `isRecorded`: when each message travels can be asked for, and not only when what waits for it goes on. */
export function steadyState(work: StepWork, isRecorded = false): SteadyState {
  const order = orderOf(work);
  const { longestLag } = order;
  const traffic = createMessageSimulation(work.messages, work.channels, work.slowing, {
    // A step that is like the one before it; steps that wait for what it sends differ in their messages alone.
    steps: longestLag === 0 ? 1 : isRecorded ? 2 + longestLag : 2,
    isRecorded,
  });
  const supply = work.input === undefined ? undefined : createInputSupply(work.input);
  const line = { work, order, traffic, supply };
  const steps: SimulatedStep[] = [];
  const lay = (): SimulatedStep => {
    const step = simulateStep(line, steps);
    steps.push(step);
    return step;
  };
  const steady = (shown: number, averaged: number, isProved: boolean): SteadyState => ({
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
    return steady(0, 1, true);
  }
  const memory = memoryBetweenSteps(order, traffic, supply);
  const shortest = busiestChannel(work) * (1 - tolerance);
  let begin = memory(0, 0);
  let alike = 1;
  while (steps.length < mostSteps + longestLag) {
    const before = steps.at(-1);
    const step = lay();
    const duration = step.end - step.start;
    const end = memory(steps.length, step.end);
    if (begin !== undefined && end !== undefined && isSame(begin, end, duration)) {
      return steady(steps.length - 1, 1, true);
    }
    begin = end;
    alike = before !== undefined && isClose(duration, before.end - before.start) ? alike + 1 : 1;
    // The steps simulated after the shown one wait for what it sends to later steps.
    const shown = steps.length - 1 - longestLag;
    // Steps shorter than a channel is busy for each of them leave more in its queue: one will wait.
    if (alike >= stepsAlike + longestLag && duration >= shortest) return steady(shown, 1, false);
    const turn = shown + 1 < settlingSteps ? undefined : turnOf(steps, shown);
    if (turn !== undefined && meanOf(steps, shown, turn) >= shortest) return steady(shown, turn, false);
  }
  return steady(steps.length - 1 - longestLag, stepsAveraged, false);
}

/** Steps become steady within a few, or take turns; the first ones are not like those after them. */
const settlingSteps = 12;
const stepsAlike = 3;
const mostSteps = 36;
const stepsAveraged = 24;

/** How long the busiest channel carries the messages of a step. */
function busiestChannel({ messages: { channel, time }, channels }: StepWork): number {
  const busy = new Float64Array(channels.length);
  for (let stage = 0; stage < time.length; stage += 1) {
    const at = intAt(channel, stage);
    busy[at] = floatAt(busy, at) + floatAt(time, stage);
  }
  return busy.reduce((most, each) => Math.max(most, each), 0);
}

const meanOf = (steps: readonly SimulatedStep[], shown: number, turn: number): number =>
  (itemAt(steps, shown).end - itemAt(steps, shown - turn).end) / turn;

/** After how many steps up to the shown one steps take the same times again; `undefined` where they do not twice. */
function turnOf(steps: readonly SimulatedStep[], shown: number): number | undefined {
  const duration = (index: number): number => itemAt(steps, index).end - itemAt(steps, index).start;
  const isTurn = (turn: number): boolean => {
    for (let back = 0; back < turn; back += 1) {
      if (!isClose(duration(shown - back), duration(shown - back - turn))) return false;
    }
    return true;
  };
  for (let turn = 2; 2 * turn <= shown + 1; turn += 1) if (isTurn(turn)) return turn;
  return undefined;
}

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
  left.every((time, index) => Math.abs(time - itemAt(right, index)) <= allowed);

const isClose = (left: number, right: number): boolean =>
  Math.abs(left - right) <= tolerance * Math.max(left, right);

const tolerance = 1e-9;
