/** Times of the collectives between workers of a copy, on the operators that need them. */

import { collectiveTime } from '../../communication/collectiveTime.ts';
import type { Placement } from '../../communication/placement.ts';
import type { LoweredGraph } from '../../frameworks/behaviour.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { floatAt } from '../../model/at.ts';
import { type Bytes, bytes, type Seconds } from '../../model/units.ts';
import type { MeshAxis } from '../../parallel/division.ts';
import type { MeshCollective } from '../../parallel/meshCollective.ts';
import { columnsBy, type OperatorTimes, type PassTimes } from '../plan/operatorTimes.ts';

export interface TimedCollective extends MeshCollective {
  /** As nccl-tests count (`communication/collectiveKind.ts`). */
  readonly bytes: Bytes;
  /** For which nothing computes meanwhile. */
  readonly time: Seconds;
  readonly low: Seconds;
  readonly high: Seconds;
  /** With what computing hides. */
  readonly whole: Seconds;
  /** "ring (LL128) over NVLink 4 and NVSwitch, 8 GPUs, 412 GB/s bus bandwidth". */
  readonly description: string;
}

/** In the number type that their operator computes in, where they have none of their own. */
export function timeCollectives(
  collectives: readonly MeshCollective[],
  lowered: LoweredGraph,
  cluster: ClusterProfile,
  groupOf: (axis: MeshAxis) => Placement,
  sendsRowsOnce = false,
): readonly TimedCollective[] {
  // By size for each axis and kind: a graph has thousands, and a number is found faster than its text is written.
  const known = new Map<string, Map<number, Omit<TimedCollective, keyof MeshCollective>>>();
  return collectives.flatMap((own) => {
    const width = own.bytesPerElement ?? lowered.operators[own.operator]?.bytesPerElement ?? 4;
    // Sends are timed with the attention that hides them (`ringTimes.ts`).
    if (own.collective === 'send') return [];
    const group = groupOf(own.axis);
    const size = bytes((own.elements * width) / holdersOf(own, group));
    const chosen = sendsRowsOnce ? own.chosen : undefined;
    const kind = `${own.axis} ${own.collective} ${chosen}`;
    const ofKind = known.get(kind) ?? new Map<number, Omit<TimedCollective, keyof MeshCollective>>();
    known.set(kind, ofKind);
    let timed = ofKind.get(size);
    if (timed === undefined) {
      const { time, low, high, description } = collectiveTime(cluster, group, {
        kind: own.collective,
        bytes: size,
        ...(chosen === undefined ? {} : { chosen }),
      });
      timed = { bytes: size, time, low, high, whole: time, description };
      ofKind.set(size, timed);
    }
    return [{ ...own, ...timed }];
  });
}

/** How many GPUs share what a collective is of, by its size in bytes as nccl-tests count: of an all-to-all that of one GPU's part. */
const holdersOf = ({ collective }: MeshCollective, { nodes, gpusPerNode }: Placement): number =>
  collective === 'all-to-all' ? nodes * gpusPerNode : 1;

/** Operators with what they wait for; the host takes a call of a collective for so many `launches`. */
export function withCollectives(
  { forward, backward, weight }: OperatorTimes,
  collectives: readonly TimedCollective[],
  launches: number,
): OperatorTimes {
  return {
    forward: waitingFor(forward, collectives, 'forward', launches),
    backward: waitingFor(backward, collectives, 'backward', launches),
    // What is exchanged in backward are gradients of what other layers gave.
    weight,
  };
}

function waitingFor(
  times: PassTimes,
  collectives: readonly TimedCollective[],
  pass: MeshCollective['pass'],
  launches: number,
): PassTimes {
  const added: Partial<Record<keyof PassTimes, (own: TimedCollective) => number>> = {
    middle: ({ time }) => time,
    low: ({ low }) => low,
    high: ({ high }) => high,
    launches: ({ times: count = 1 }) => count * launches,
  };
  return columnsBy((key) => {
    const addedTo = added[key];
    if (addedTo === undefined) return times[key];
    const column = times[key].slice();
    for (const own of collectives) {
      if (own.pass === pass) column[own.operator] = floatAt(column, own.operator) + addedTo(own);
    }
    return column;
  });
}
