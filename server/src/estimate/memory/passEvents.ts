/** What one pass takes and gives back, operator by operator. */

import type { LoweredGraph } from '../../frameworks/behaviour.ts';
import { shardsOf } from '../../frameworks/exchange.ts';
import { floatAt } from '../../model/at.ts';
import { memoizeRecent } from '../../model/memoizeRecent.ts';
import { heldTables } from '../plan/heldTables.ts';
import { addsToGradients, gradientsLeave, type StepPlan } from '../plan/stepPlan.ts';
import { gradientsBetween } from './backwardMemory.ts';
import { forwardMemory } from './forwardMemory.ts';
import { heldGradients } from './heldParameters.ts';
import type { Variables } from './valueLifetimes.ts';

/**
 * Places of a pass, in the order in which it comes to them: what the model is given, the operators of forward, what backward
 * starts from, the operators of backward, and what is left behind it.
 */
export interface PassEvents {
  /** Operators of the graph. */
  readonly operators: number;
  /** By place: a number where something is taken, its complement where it is given back. */
  readonly events: readonly (readonly number[])[];
  /** By number. */
  readonly taken: readonly Taken[];
}

export interface Taken {
  readonly bytes: number;
  readonly place: number;
}

export const forwardPlace = (operator: number): number => 1 + operator;

export const backwardPlace = (operator: number, operators: number): number => 2 * operators + 1 - operator;

/** What the events of a pass depend on. */
export type PassOfPlan = Pick<
  StepPlan,
  'training' | 'lowered' | 'weightBytesPerElement' | 'exchange' | 'scenario' | 'behaviour'
>;

export const passEvents = (plan: PassOfPlan, variables?: Variables): PassEvents =>
  knownEvents(plan.lowered, {
    training: plan.training,
    born:
      plan.scenario.mode === 'training'
        ? {
            sizes: gradientsOf(plan),
            shards: plan.exchange.shards.gradients,
            isAdded: addsToGradients(plan),
            leaves: gradientsLeave(plan),
          }
        : undefined,
    variables,
  });

interface Pass {
  readonly training: StepPlan['training'];
  /** Gradients of parameters; none in inference. */
  readonly born: BornGradients | undefined;
  readonly variables: Variables | undefined;
}

interface BornGradients {
  /** Bytes by parameter. */
  readonly sizes: Float64Array;
  readonly shards: number;
  /** To those of passes before. */
  readonly isAdded: boolean;
  /** When it is complete. */
  readonly leaves: boolean;
}

/** Stages that leave out other numbers of blocks have what they keep in common, and layouts their stages. */
const knownEvents = memoizeRecent(
  (lowered: LoweredGraph, pass: Pass): PassEvents => eventsOfPass(lowered, pass),
  (known, asked) =>
    known.training === asked.training &&
    known.variables === asked.variables &&
    isBornAlike(known.born, asked.born),
);

const isBornAlike = (known: BornGradients | undefined, asked: BornGradients | undefined): boolean =>
  known === asked ||
  (known !== undefined &&
    asked !== undefined &&
    known.shards === asked.shards &&
    known.isAdded === asked.isAdded &&
    known.leaves === asked.leaves &&
    known.sizes.length === asked.sizes.length &&
    known.sizes.every((size, index) => size === asked.sizes[index]));

function eventsOfPass(lowered: LoweredGraph, { training, born: given, variables }: Pass): PassEvents {
  const { graph, parameters } = training.analysis;
  const operators = graph.operators.length;
  const events: number[][] = Array.from({ length: 2 * operators + 3 }, () => []);
  const taken: Taken[] = [];
  let place = 0;
  const take = (bytes: number): number => {
    if (!(bytes > 0)) return -1;
    const number = taken.push({ bytes, place }) - 1;
    events[place]?.push(number);
    return number;
  };
  const give = (number: number): void => {
    if (number >= 0) events[place]?.push(~number);
  };

  /** By operator: what its backward gives back. */
  const keptBy = new Map<number, number[]>();
  const forward = forwardMemory(
    { training, lowered },
    {
      take,
      give,
      begins: (index) => {
        place = forwardPlace(index);
      },
      keep: (index, number) => {
        const others = keptBy.get(index);
        if (others === undefined) keptBy.set(index, [number]);
        else others.push(number);
      },
    },
    variables,
  );
  place = operators + 1;
  if (given !== undefined) {
    const born = bornGradients(parameters, given.sizes, given.shards);
    const recomputed = new RecomputedMemory(lowered, take);
    /** By the last operator in backward that adds to them. */
    const completed = new Map<number, readonly number[]>();
    /** What the backward that runs has made for itself. */
    let own: number | undefined;
    gradientsBetween(training, lowered, {
      take,
      give,
      begins: (index) => {
        place = backwardPlace(index, operators);
        recomputed.begin(index);
        const temporary = lowered.operators[index]?.backwardTemporary;
        if (temporary !== undefined) own = take(temporary);
      },
      ends: (index) => {
        if (own !== undefined) give(own);
        own = undefined;
        for (const { size, completeAt } of born.get(index) ?? []) {
          const gradient = take(size);
          if (given.leaves) completed.set(completeAt, [...(completed.get(completeAt) ?? []), gradient]);
          else if (given.isAdded) give(gradient);
        }
        for (const gradient of completed.get(index) ?? []) give(gradient);
        for (const number of keptBy.get(index) ?? []) give(number);
        for (const number of recomputed.end(index)) give(number);
      },
    });
  }
  place = 2 * operators + 2;
  for (const number of forward.outputs) give(number);
  return { operators, events, taken };
}

/** The plan may be that of a folded graph, whose parameters are numbered anew. */
const gradientsOf = (plan: PassOfPlan): Float64Array =>
  heldGradients({ ...plan, tables: heldTables(plan.training, plan.behaviour, plan.scenario.gpus) });

interface BornGradient {
  readonly size: number;
  /** The operator whose backward is the last to add to it. */
  readonly completeAt: number;
}

/** By operator: the gradients of parameters that arise in its backward. */
function bornGradients(
  parameters: StepPlan['training']['analysis']['parameters'],
  sizes: Float64Array,
  shards: number,
): ReadonlyMap<number, readonly BornGradient[]> {
  const born = new Map<number, BornGradient[]>();
  for (const [index, parameter] of parameters.entries()) {
    const last = parameter.operators.at(-1);
    if (last === undefined) continue;
    const others = born.get(last) ?? [];
    others.push({
      size: floatAt(sizes, index) / shardsOf(parameter, shards),
      completeAt: parameter.operators[0] ?? last,
    });
    born.set(last, others);
  }
  return born;
}

/** What is made again: of a whole group when backward reaches it, given back operator by operator. */
class RecomputedMemory {
  private group: number | undefined;
  private readonly byOperator = new Map<number, number[]>();
  private readonly members = new Map<number, number[]>();
  private readonly kept: ReadonlySet<string>;

  constructor(
    private readonly lowered: LoweredGraph,
    private readonly take: (bytes: number) => number,
  ) {
    this.kept = new Set(lowered.operators.flatMap((operator) => operator?.saved.map(({ key }) => key) ?? []));
    for (const [index, operator] of lowered.operators.entries()) {
      if (operator?.recomputed === undefined) continue;
      const others = this.members.get(operator.recomputed.group) ?? [];
      others.push(index);
      this.members.set(operator.recomputed.group, others);
    }
  }

  begin(index: number): void {
    const group = this.lowered.operators[index]?.recomputed?.group;
    if (group === undefined || group === this.group) return;
    this.group = group;
    const made = new Set<string>();
    for (const member of this.members.get(group) ?? []) {
      for (const { key, bytes } of this.lowered.operators[member]?.recomputed?.tensors ?? []) {
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
