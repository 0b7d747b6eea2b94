/**
 * Parameters kept in shards and gathered unit by unit, as FSDP and ZeRO-3 do: when each unit's gathers and the scatter of
 * its gradients may start, and what waits for them.
 */

import type { CollectiveOperation } from '../communication/operation.ts';
import { largestOf, smallestOf } from '../model/extremes.ts';
import { totalElements } from '../model/totalElements.ts';
import { type Bytes, bytes } from '../model/units.ts';
import {
  backwardAt,
  type Channel,
  forwardAt,
  type Message,
  type SyncPoint,
  stepStart,
  theUpdate,
  type WorkerGroup,
} from './exchange.ts';
import type { FrozenWeight, Gradient } from './gradient.ts';

export interface Unit {
  readonly gradients: readonly Gradient[];
  readonly frozen: readonly FrozenWeight[];
  /** Of all that is gathered. */
  readonly elements: number;
  /** Of what has a gradient. */
  readonly trained: number;
  /** Whether backward comes to it: it, or something before it, is trained. */
  readonly runsBackward: boolean;
  /** From the start of forward to the end of backward. */
  readonly staysWhole?: true;
  /** Positions of forward. */
  readonly first: number;
  readonly last: number;
  /** Positions of backward. */
  readonly backwardFirst: number;
  readonly backwardLast: number;
}

/** One after the other, or together. */
export function unitOf(weights: readonly (Gradient | FrozenWeight)[], { operators }: WorkerGroup): Unit {
  const gradients = weights.filter(isTrained);
  const frozen = weights.filter(isFrozen);
  const uses = weights.map((weight) => weight.usedFrom);
  const last = largestOf(uses);
  const backwardFirst = Math.max(0, operators - 1 - last);
  const trained = totalElements(gradients);
  const passed = frozen.flatMap(({ passedAfter }) => passedAfter ?? []);
  return {
    gradients,
    frozen,
    elements: trained + totalElements(frozen),
    trained,
    runsBackward: gradients.length > 0 || passed.length > 0,
    first: smallestOf(uses),
    last,
    backwardFirst,
    backwardLast: largestOf([backwardFirst, ...gradients.map((gradient) => gradient.readyAfter), ...passed]),
  };
}

const isTrained = (weight: Gradient | FrozenWeight): weight is Gradient => 'readyAfter' in weight;
const isFrozen = (weight: Gradient | FrozenWeight): weight is FrozenWeight => !isTrained(weight);

export interface Gathering {
  /** Ranks that hold the shards, and the like across nodes that then add theirs. */
  readonly over: 'all' | 'node';
  readonly parameterBytesPerElement: number;
  readonly gradientBytesPerElement: number;
  /** Whether parameters are given up after forward, and gathered again for backward. */
  readonly gathersAgain: boolean;
  /** Units that may be whole at a time while forward runs. */
  readonly ahead: number;
  /** Units that backward gathers before it needs them. */
  readonly aheadInBackward: number;
  /** Backward gathers ahead whether or not it will come to that unit, before which nothing may be trained. */
  readonly gathersBlindly?: boolean;
  /** Of what follows the backward of one unit, the next gather is issued before the scatter. */
  readonly gathersFirst?: boolean;
}

export const shardStream: Channel = { name: 'NCCL stream', order: 'first come', runsKernels: true };

/** `units` in the order of forward. Those that are whole from one end of forward to the other are not gathered again. */
export function shardedMessages(
  units: readonly Unit[],
  group: WorkerGroup,
  how: Gathering,
): readonly Message[] {
  const passing = givenUp(units);
  const places = new Map(passing.map((unit, index) => [unit, index]));
  const backward = units.toReversed();
  const reached =
    how.gathersBlindly === true ? lastReached(units, passing) - how.aheadInBackward : passing.length;
  const gathers = backward.map((unit): readonly Message[] => {
    const place = places.get(unit);
    if (place === undefined || !how.gathersAgain) return [];
    if (!unit.runsBackward && place < reached) return [];
    const passed = passing[place + 1 + how.aheadInBackward];
    const after: SyncPoint =
      passed === undefined ? forwardAt(group.operators - 1) : backwardAt(passed.backwardLast);
    return [gather(unit, how, after, unit.runsBackward ? backwardAt(unit.backwardFirst) : theUpdate)];
  });
  const inBackward = backward.flatMap((unit, index): readonly Message[] => {
    const scattered = unit.trained === 0 ? [] : [scatter(unit, group, how)];
    return how.gathersFirst === true
      ? [...(gathers[index + 1] ?? []), ...scattered]
      : [...scattered, ...(gathers[index + 1] ?? [])];
  });
  return [...gathersOfForward(units, how), ...(gathers[0] ?? []), ...inBackward];
}

/** The place of the unit that backward comes to last; beyond all where it comes to none of them. */
function lastReached(units: readonly Unit[], passing: readonly Unit[]): number {
  if (!units.some(({ runsBackward }) => runsBackward)) return Number.POSITIVE_INFINITY;
  const place = passing.findIndex(({ runsBackward }) => runsBackward);
  return place < 0 ? passing.length : place;
}

/** A unit's gather starts when the unit `ahead` before it has been given up. */
export function gathersOfForward(
  units: readonly Unit[],
  how: Pick<Gathering, 'over' | 'parameterBytesPerElement' | 'ahead'>,
): readonly Message[] {
  const passing = givenUp(units);
  let passed = 0;
  return units.map((unit) => {
    const before = passing[passed - how.ahead];
    if (unit === passing[passed]) passed += 1;
    return gather(
      unit,
      how,
      before === undefined ? stepStart : forwardAt(before.last),
      forwardAt(unit.first),
    );
  });
}

/** Units that forward is through with when the next is done with its first operator: one operator may use weights of both. */
const givenUp = (units: readonly Unit[]): readonly Unit[] =>
  units.filter(
    ({ last, staysWhole }, index) =>
      staysWhole !== true && last <= (units[index + 1]?.first ?? Number.POSITIVE_INFINITY),
  );

const gather = (
  unit: Unit,
  how: Pick<Gathering, 'over' | 'parameterBytesPerElement'>,
  after: SyncPoint,
  before: SyncPoint,
): Message => {
  const size = bytes(unit.elements * how.parameterBytesPerElement);
  return {
    gradients: unit.gradients,
    ...(unit.frozen.length === 0 ? {} : { frozen: unit.frozen }),
    bytes: size,
    after,
    before,
    stages: [stage('all-gather', size, how.over)],
  };
};

function scatter(unit: Unit, { nodes, gpusPerNode }: WorkerGroup, how: Gathering): Message {
  const size = bytes(unit.trained * how.gradientBytesPerElement);
  return {
    gradients: unit.gradients,
    bytes: size,
    after: backwardAt(unit.backwardLast),
    before: theUpdate,
    stages: [
      stage('reduce-scatter', size, how.over),
      ...(how.over === 'node' && nodes > 1
        ? [stage('all-reduce', bytes(size / gpusPerNode), 'across nodes')]
        : []),
    ],
  };
}

const stage = (
  collective: CollectiveOperation['collective'],
  size: Bytes,
  over: CollectiveOperation['over'],
) => ({ channel: shardStream, operation: { kind: 'collective', collective, bytes: size, over } }) as const;
