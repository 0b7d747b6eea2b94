/**
 * What of a ring's messages the blocks of attention do not hide: each goes to the next GPU while a block is computed.
 * In forward keys and values go one step less than there are GPUs. In backward their gradients go with them, and one step more,
 * back to where they belong, behind the last block. Source: Liu et al., arXiv:2310.01889, section 3.
 */

import { measuredLink } from '../../communication/bandwidthDoubt.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { floatAt } from '../../model/at.ts';
import { totalElements } from '../../model/totalElements.ts';
import { bytes, seconds } from '../../model/units.ts';
import type { MeshCollective } from '../../parallel/meshCollective.ts';
import type { OperatorTimes } from '../plan/operatorTimes.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import type { TimedCollective } from './collectiveTimes.ts';
import { transferTime } from './transferTime.ts';

export interface Ring {
  readonly ways: number;
  /** Whether some GPU has its neighbour on another node: all wait for it. */
  readonly crossesNodes: boolean;
}

/** All sends of a stage, with those of one attention together. */
export function timeRings(
  collectives: readonly MeshCollective[],
  { lowered, times, cluster }: Pick<StepPlan, 'lowered' | 'times' | 'cluster'>,
  cores: readonly (readonly number[])[],
  ring: Ring,
): readonly TimedCollective[] {
  const sends = collectives.filter(({ collective }) => collective === 'send');
  if (sends.length === 0) return [];
  return cores.flatMap((core) => {
    const own = sends.filter(({ operator }) => core.includes(operator));
    const width = lowered.operators[own[0]?.operator ?? -1]?.bytesPerElement ?? 4;
    return (['forward', 'backward'] as const).flatMap((pass) =>
      timeRing(
        own.filter((send) => send.pass === pass),
        width,
        core,
        times,
        cluster,
        ring,
      ),
    );
  });
}

/** `sends`: of one attention and one pass. `core`: its operators, `times` those of its blocks. */
function timeRing(
  sends: readonly MeshCollective[],
  bytesPerElement: number,
  core: readonly number[],
  times: OperatorTimes,
  cluster: ClusterProfile,
  { ways, crossesNodes }: Ring,
): readonly TimedCollective[] {
  const [first] = sends;
  if (first === undefined) return [];
  const isBackward = first.pass === 'backward';
  const elements = totalElements(sends);
  const one = transferTime(cluster, crossesNodes, elements * bytesPerElement);
  const exposed = (factor: number, key: 'middle' | 'low' | 'high'): number => {
    const pass = isBackward ? times.backward : times.forward;
    const block = core.reduce((total, index) => total + floatAt(pass[key], index), 0) / ways;
    const step =
      factor * (isBackward ? transferTime(cluster, crossesNodes, 2 * elements * bytesPerElement) : one);
    return (ways - 1) * Math.max(0, step - block) + (isBackward ? factor * one : 0);
  };
  return sends.map((send) => {
    const share = send.elements / elements;
    const whole = share * (isBackward ? 2 * ways - 1 : ways - 1) * one;
    return {
      ...send,
      bytes: bytes(send.elements * bytesPerElement),
      time: seconds(share * exposed(1, 'middle')),
      low: seconds(share * exposed(measuredLink.low, 'high')),
      high: seconds(share * exposed(measuredLink.high, 'low')),
      whole: seconds(whole),
      description: `ring of ${ways} GPUs ${crossesNodes ? 'across nodes' : 'within a node'}, of which attention hides a part`,
    };
  });
}
