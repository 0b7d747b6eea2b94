/** Why one layout is slower than another: the part of the step that differs most. */

import { formatTime } from '../../model/format.ts';
import { seconds } from '../../model/units.ts';
import type { LayoutCandidate } from './layoutCandidate.ts';

/** Seconds by what they are spent on; they add up to the step. */
type PartsOfStep = readonly (readonly [name: string, time: number])[];

/** "+120 ms of pipeline bubble"; '' where no part is longer, or a part is not known. */
export function whySlower(slower: LayoutCandidate, faster: LayoutCandidate): string {
  const [own, other] = [partsOf(slower), new Map(partsOf(faster))];
  let [most, longest] = [0, ''];
  for (const [name, time] of own) {
    const before = other.get(name);
    if (before === undefined || time - before <= most) continue;
    [most, longest] = [time - before, name];
  }
  return longest === '' ? '' : `+${formatTime(seconds(most))} of ${longest}`;
}

function partsOf({ cost }: LayoutCandidate): PartsOfStep {
  const { forward, backward, update, exposedCommunication } = cost.totals.time;
  if (forward === null || backward === null || update === null || exposedCommunication === null) return [];
  // A copy on each GPU has neither.
  const {
    tensorCommunication: tensor,
    contextCommunication: context,
    expertCommunication: experts,
    bubble,
  } = cost.parallel ?? nothingShared;
  return [
    ['kernels of smaller shapes, and recomputation', forward + backward - tensor - context - experts],
    ['collectives of tensor parallelism', tensor],
    ['exchanges of context parallelism', context],
    ['all-to-alls of expert parallelism', experts],
    ['pipeline bubble', bubble],
    ['gradients and weights exchanged between copies', exposedCommunication],
    ['the update', update],
  ];
}

const nothingShared = {
  tensorCommunication: 0,
  contextCommunication: 0,
  expertCommunication: 0,
  bubble: 0,
};
