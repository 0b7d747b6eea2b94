/**
 * The memory of a training step in the order it is taken and given back, for the allocator that has to place it.
 *
 * Forward takes what each operator gives, copies and keeps, and gives back what has no reader left and is not kept.
 * Backward takes gradients and gives back, operator by operator, what was kept. Gradients of parameters stay until the next
 * step begins. Model state is taken before the first step, that of the optimizer in the update of the first.
 */

import type { LoweredGraph } from '../frameworks/behaviour.ts';
import { gradientsBetween } from './backwardMemory.ts';
import type { Block, CachingAllocator } from './cachingAllocator.ts';
import { forwardMemory } from './forwardMemory.ts';
import { parameterBytes } from './gradients.ts';
import { groupsMadeAgain } from './loweredStep.ts';
import { passesOf, type StepPlan } from './stepPlan.ts';

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

export function memoryTrace(plan: StepPlan): MemoryTrace {
  const { training, exchange, update, weightWidth } = plan;
  const { parameters, frozen } = training.analysis;
  const lowered = plan.folded === undefined ? plan.lowered : lowerWhole(plan);
  const widthOf = (share: number): readonly number[] =>
    parameters.map((parameter) => parameterBytes(parameter, weightWidth) / share);
  const whole = widthOf(1).reduce((total, size) => total + size, 0);
  const ofEach = (total: number): readonly number[] =>
    whole === 0 ? [] : widthOf(1).map((size) => (size * total) / whole);
  const { sizes, events } = passTrace({ ...plan, lowered });
  return {
    always: [
      ...widthOf(exchange.shards.parameters),
      ...frozen.map((parameter) => parameterBytes(parameter, weightWidth) / exchange.shards.parameters),
      ...(exchange.buffers > 0 ? [exchange.buffers] : []),
      ...(plan.scenario.mode === 'training' && passesOf(plan.scenario) > 1
        ? widthOf(exchange.shards.gradients)
        : []),
    ],
    // Moments of each parameter are tensors of their own.
    state: [...ofEach(update.stateBytes / 2), ...ofEach(update.stateBytes / 2)],
    temporaries: ofEach(update.temporaryBytes),
    sizes,
    events,
  };
}

/** Repeated blocks share what they keep where a graph is folded; here each has its own. */
function lowerWhole({ training, behaviour, scenario }: StepPlan): LoweredGraph {
  return behaviour.lower(training, scenario.precision, scenario.mode, groupsMadeAgain(training, scenario));
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
  let left: Map<number, Block> = new Map();
  for (let step = 0; step < steps; step += 1) {
    for (const block of left.values()) allocator.release(block);
    left = new Map();
    for (const event of trace.events) {
      if (event >= 0) {
        const block = allocator.allocate(trace.sizes[event] ?? 0);
        if (block === undefined) return false;
        left.set(event, block);
        continue;
      }
      const block = left.get(~event);
      if (block !== undefined) allocator.release(block);
      left.delete(~event);
    }
    if (step === 0 && takeAll(trace.state) === undefined) return false;
    const temporaries = takeAll(trace.temporaries);
    if (temporaries === undefined) return false;
    for (const block of temporaries) allocator.release(block);
  }
  return true;
}

/** One pass, forward and backward. */
function passTrace(plan: StepPlan): Pick<MemoryTrace, 'sizes' | 'events'> {
  const { training, lowered, weightWidth, exchange } = plan;
  const { parameters } = training.analysis;
  const sizes: number[] = [];
  const events: number[] = [];
  const take = (size: number): number => {
    if (!(size > 0)) return -1;
    const taken = sizes.push(size) - 1;
    events.push(taken);
    return taken;
  };
  const give = (taken: number | undefined): void => {
    if (taken !== undefined && taken >= 0) events.push(~taken);
  };

  /** By operator: what its backward gives back. */
  const keptBy = new Map<number, number[]>();
  const forward = forwardMemory(plan, {
    take,
    give,
    keep: (index, taken) => {
      const others = keptBy.get(index);
      if (others === undefined) keptBy.set(index, [taken]);
      else others.push(taken);
    },
  });
  const giveOutputs = (): void => {
    for (const taken of forward.outputs) give(taken);
  };
  if (plan.scenario.mode !== 'training') {
    giveOutputs();
    return { sizes, events };
  }
  /** By operator: bytes of the gradients of parameters that arise in its backward. */
  const born = new Map<number, number[]>();
  const sent = exchange.shards.gradients;
  for (const parameter of parameters) {
    const last = parameter.operators.at(-1);
    if (last === undefined) continue;
    const others = born.get(last) ?? [];
    others.push(parameterBytes(parameter, weightWidth) / sent);
    born.set(last, others);
  }
  const isAdded = passesOf(plan.scenario) > 1;
  const kept = new Set(lowered.operators.flatMap((operator) => operator?.saved.map(({ key }) => key) ?? []));
  const again = new AgainTaken(plan, kept, take);
  gradientsBetween(training, lowered, {
    take,
    give,
    begins: (index) => again.begin(index),
    ends: (index) => {
      for (const size of born.get(index) ?? []) {
        const taken = take(size);
        if (isAdded) give(taken);
      }
      for (const taken of keptBy.get(index) ?? []) give(taken);
      for (const taken of again.end(index)) give(taken);
    },
  });
  giveOutputs();
  return { sizes, events };
}

/** What is made again: of a whole group when backward reaches it, given back operator by operator. */
class AgainTaken {
  private group: number | undefined;
  private readonly byOperator = new Map<number, number[]>();
  private readonly members = new Map<number, number[]>();

  constructor(
    private readonly plan: StepPlan,
    private readonly kept: ReadonlySet<string>,
    private readonly take: (size: number) => number,
  ) {
    for (const [index, operator] of plan.lowered.operators.entries()) {
      if (operator?.again === undefined) continue;
      const others = this.members.get(operator.again.group) ?? [];
      others.push(index);
      this.members.set(operator.again.group, others);
    }
  }

  begin(index: number): void {
    const group = this.plan.lowered.operators[index]?.again?.group;
    if (group === undefined || group === this.group) return;
    this.group = group;
    const made = new Set<string>();
    for (const member of this.members.get(group) ?? []) {
      for (const { key, bytes } of this.plan.lowered.operators[member]?.again?.tensors ?? []) {
        if (this.kept.has(key) || made.has(key)) continue;
        made.add(key);
        const others = this.byOperator.get(member) ?? [];
        others.push(this.take(bytes));
        this.byOperator.set(member, others);
      }
    }
  }

  end(index: number): readonly number[] {
    return this.byOperator.get(index) ?? [];
  }
}
