/** One step after another on its resources: when each piece of work ends, and for which messages the GPU waits. */

import { floatAt } from '../model/at.ts';
import type { Stall } from './exposure.ts';
import { createGpuStream, type GpuStream } from './gpuStream.ts';
import type { InputSupply } from './inputSupply.ts';
import type { MessageSimulation } from './messageSimulation.ts';
import { createStepMessages, type StepMessages } from './stepMessages.ts';
import type { Order } from './stepOrder.ts';
import { createStepUpdate, type StepUpdate, type UpdateTimes } from './stepUpdate.ts';
import type { StepWork } from './stepWork.ts';

/** The work of every step, and what all steps share. */
export interface StepLine {
  readonly work: StepWork;
  readonly order: Order;
  readonly traffic: MessageSimulation;
  readonly supply: InputSupply | undefined;
}

export interface SimulatedStep extends UpdateTimes, PassTimes {
  readonly start: number;
  /** When it has its batch. */
  readonly fed: number;
  readonly end: number;
  /** How long the GPU had nothing to run because the host had not launched it. */
  readonly hostTime: number;
  readonly slowedTime: number;
  readonly stalls: readonly Stall[];
  /** By message: when what waits for it started; infinite where the step ended before. */
  readonly neededAt: Float64Array;
}

/** By kernel of forward and of backward: by how much it moves the end of the work so far, and when it ends. */
interface PassTimes {
  readonly forward: Float64Array;
  readonly backward: Float64Array;
  readonly forwardEnds: Float64Array;
  readonly backwardEnds: Float64Array;
}

/** The step after `steps`, which begins when the last of them ends. */
export function simulateStep(line: StepLine, steps: readonly SimulatedStep[]): SimulatedStep {
  const { work, order, traffic, supply } = line;
  const start = steps.at(-1)?.end ?? 0;
  const fed = supply?.arrival(steps.length, start) ?? start;
  const isHeldByInput = work.input !== undefined && work.input.ahead !== 'reading and copying';
  const isSlowed = work.slowing?.some((share) => share > 0) ?? false;
  const gpu = createGpuStream(fed, isHeldByInput ? fed : start, isSlowed ? traffic : undefined);
  const neededBefore = steps.map((step) => step.neededAt);
  const messages = createStepMessages(order, traffic, gpu, neededBefore);
  const update = createStepUpdate(work, order, gpu, messages);
  const count = work.forward.device.length + work.backward.device.length;

  messages.release(0, start);
  const passes = runPasses(line, gpu, messages, update);
  update.finish(messages.waitedFor(count));
  messages.release(count + 1, gpu.freeAt());
  return {
    ...passes,
    ...update.times(),
    start,
    fed,
    end: gpu.freeAt(),
    hostTime: gpu.hostTime(),
    slowedTime: gpu.slowedTime(),
    stalls: messages.stalls,
    neededAt: messages.neededAt,
  };
}

/** Runs forward, then backward, from one place where messages are released or waited for to the next. */
function runPasses(
  { work: { forward, backward }, order }: StepLine,
  gpu: GpuStream,
  messages: StepMessages,
  update: StepUpdate,
): PassTimes {
  const split = forward.device.length;
  const count = split + backward.device.length;
  const moved = { forward: new Float64Array(split), backward: new Float64Array(count - split) };
  const ends = { forward: new Float64Array(split), backward: new Float64Array(count - split) };
  let done = 0;
  for (const stop of order.stops) {
    if (stop > done) {
      gpu.run(forward, done, Math.min(stop, split), moved.forward, ends.forward);
      gpu.run(backward, Math.max(done - split, 0), stop - split, moved.backward, ends.backward);
      done = stop;
      messages.release(stop, gpu.freeAt());
    }
    if (stop === count) break;
    const launch = stop < split ? floatAt(forward.host, stop) : floatAt(backward.host, stop - split);
    for (const message of messages.waitedFor(stop)) {
      if (update.isApart(message)) update.runApart(message);
      else messages.waitFor(message, launch);
    }
  }
  return {
    forward: moved.forward,
    backward: moved.backward,
    forwardEnds: ends.forward,
    backwardEnds: ends.backward,
  };
}
