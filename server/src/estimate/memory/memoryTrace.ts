/**
 * The memory of a training step in the order it is taken and given back, for the allocator that has to place it.
 *
 * Forward takes what each operator gives, copies and keeps, and gives back what has no reader left and is not kept.
 * Backward takes gradients and gives back, operator by operator, what was kept. Gradients of parameters stay until the next
 * step begins. Model state is taken before the first step, that of the optimizer in the update of the first.
 */

import type { Parameter } from '../../analysis/modelAnalysis.ts';
import type { LoweredGraph } from '../../frameworks/behaviour.ts';
import { shardsOf } from '../../frameworks/exchange.ts';
import { itemAt } from '../../model/at.ts';
import { parameterBytes } from '../plan/gradients.ts';
import { recomputedSteps } from '../plan/loweredStep.ts';
import { addsToGradients, gradientsLeave, type StepPlan } from '../plan/stepPlan.ts';
import type { Block, CachingAllocator } from './cachingAllocator.ts';
import { heldParameters, heldSums } from './heldParameters.ts';
import { type PassEvents, passEvents } from './passEvents.ts';
import { unfoldPass } from './unfoldPass.ts';
import type { Variables } from './valueLifetimes.ts';

export interface MemoryTrace {
  /** Sizes of what is there all the time. */
  readonly always: readonly number[];
  /** What the first update takes and keeps. */
  readonly state: readonly number[];
  /** What an update takes for itself. */
  readonly temporaries: readonly number[];
  /** By number: bytes of what a pass takes. */
  readonly sizes: readonly number[];
  /** A number where it is taken, its complement where it is given back. What is not given back stays until the next step. */
  readonly events: readonly number[];
}

/** `variables`: whether those of the program hold what they name as long as they can. */
export function memoryTrace(plan: StepPlan, variables?: Variables): MemoryTrace {
  const { training, exchange, update, weightBytesPerElement } = plan;
  const { parameters: trained, frozen } = training.analysis;
  const { onHost } = exchange;
  const parameters = [...heldParameters(plan)];
  const shared = (of: readonly Parameter[], sizes: readonly number[], shards: number): readonly number[] =>
    sizes.map((size, index) => size / shardsOf(itemAt(of, index), shards));
  const whole = parameters.reduce((total, size) => total + size, 0);
  const ofEach = (total: number): readonly number[] =>
    whole === 0 ? [] : parameters.map((size) => (size * total) / whole);
  const { events, taken } = eventsOf(plan, variables);
  return {
    always: [
      ...(onHost?.parameters === true
        ? []
        : [
            ...shared(trained, parameters, exchange.shards.parameters),
            ...shared(
              frozen,
              frozen.map((parameter) => parameterBytes(parameter, weightBytesPerElement)),
              exchange.shards.parameters,
            ),
          ]),
      ...(exchange.buffers > 0 ? [exchange.buffers] : []),
      ...(addsToGradients(plan) && !gradientsLeave(plan)
        ? shared(trained, [...heldSums(plan)], exchange.shards.gradients)
        : []),
    ],
    // Moments of each parameter are tensors of their own.
    state: [...ofEach(update.stateBytes / 2), ...ofEach(update.stateBytes / 2)],
    temporaries: ofEach(update.temporaryBytes),
    sizes: taken.map(({ bytes }) => bytes),
    events: events.flat(),
  };
}

/** Where blocks repeat, those of one stand for all, unless blocks do not do the same. */
function eventsOf(plan: StepPlan, variables: Variables | undefined): PassEvents {
  const { training, folded } = plan;
  const { graph, folded: fold } = training.analysis;
  if (folded === undefined || fold === undefined) return passEvents(plan, variables);
  const kept = fold.analysis.graph;
  // What blocks left out are given, or give out, is nowhere else.
  const hasAll = kept.inputs.length === graph.inputs.length && kept.outputs.length === graph.outputs.length;
  const whole = hasAll ? unfoldPass(fold.layout, passEvents({ ...plan, ...folded }, variables)) : undefined;
  return whole ?? passEvents({ ...plan, lowered: lowerWhole(plan) }, variables);
}

/** Repeated blocks share what they keep where a graph is folded; here each has its own. */
export function lowerWhole({ training, behaviour, scenario }: StepPlan): LoweredGraph {
  return behaviour.lower(training, scenario.precision, scenario.mode, recomputedSteps(training, scenario));
}

/** So many steps on an allocator; whether the GPU had memory for all of them. */
export function replay(trace: MemoryTrace, allocator: CachingAllocator, steps = 2): boolean {
  const takeAll = (sizes: readonly number[]): readonly Block[] | undefined => {
    const blocks: Block[] = [];
    for (const size of sizes) {
      if (size === 0) continue;
      const block = allocator.allocate(size);
      if (block === undefined) return undefined;
      blocks.push(block);
    }
    return blocks;
  };
  if (takeAll(trace.always) === undefined) return false;
  const { sizes, events } = trace;
  const left: (Block | undefined)[] = sizes.map(() => undefined);
  const giveBack = (number: number): void => {
    const block = left[number];
    if (block === undefined) return;
    allocator.release(block);
    left[number] = undefined;
  };
  // Deep models have tens of thousands of events: no iterators.
  for (let step = 0; step < steps; step += 1) {
    for (let number = 0; number < left.length; number += 1) giveBack(number);
    for (let at = 0; at < events.length; at += 1) {
      const event = itemAt(events, at);
      if (event < 0) {
        giveBack(~event);
        continue;
      }
      const block = allocator.allocate(itemAt(sizes, event));
      if (block === undefined) return false;
      left[event] = block;
    }
    if (step === 0 && takeAll(trace.state) === undefined) return false;
    const temporaries = takeAll(trace.temporaries);
    if (temporaries === undefined) return false;
    for (const block of temporaries) allocator.release(block);
  }
  return true;
}
