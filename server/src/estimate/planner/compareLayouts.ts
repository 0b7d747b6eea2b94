/** Why one layout is slower than another: the part of the step that differs most. */

import { formatTime } from '../../model/format.ts';
import type { ParallelCost, StepCost } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import type { LayoutCandidate } from './layoutCandidate.ts';

/** What decides how long a layout takes, and for what. */
export interface ComparedLayout
  extends Pick<LayoutCandidate, 'microBatch' | 'tensor' | 'context' | 'checkpoint' | 'framework'> {
  readonly cost: {
    readonly totals: {
      readonly time: Pick<
        StepCost['totals']['time'],
        'forward' | 'backward' | 'update' | 'exposedCommunication'
      >;
    };
    /** Absent where each GPU has a copy of the model. */
    readonly parallel?: Pick<ParallelCost, keyof typeof nothingShared | 'whole'>;
  };
}

/** Seconds by what they are spent on; they add up to the step. */
type PartsOfStep = readonly (readonly [name: string, time: number])[];

/** "+120 ms of pipeline bubble"; '' where no part is longer, or a part is not known. */
export function whySlower(slower: ComparedLayout, faster: ComparedLayout): string {
  const computing = whyComputing(slower, faster);
  const [own, other] = [partsOf(slower, computing), new Map(partsOf(faster, computing))];
  let [most, longest] = [0, ''];
  for (const [name, time] of own) {
    const before = other.get(name);
    if (before === undefined || time - before <= most) continue;
    [most, longest] = [time - before, name];
  }
  return longest === '' ? '' : `+${formatTime(seconds(most))} of ${longest}`;
}

function partsOf({ cost }: ComparedLayout, computing: string): PartsOfStep {
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
    [computing, forward + backward - tensor - context - experts],
    ['collectives of tensor parallelism', tensor],
    ['exchanges of context parallelism', context],
    ['all-to-alls of expert parallelism', experts],
    ['pipeline bubble', bubble],
    ['gradients and weights exchanged between copies', exposedCommunication],
    ['the update', update],
  ];
}

/** What of two layouts makes one compute longer. */
function whyComputing(slower: ComparedLayout, faster: ComparedLayout): string {
  const causes = [
    ...(shareOfPass(slower) < shareOfPass(faster) ? ['smaller kernels'] : []),
    ...(wholeShare(slower) - wholeShare(faster) > littleShare ? ['layers that stay whole'] : []),
    ...(slower.checkpoint !== faster.checkpoint && slower.checkpoint !== 'none' ? ['recomputation'] : []),
    ...(slower.framework.name === faster.framework.name ? [] : [`kernels of ${slower.framework.name}`]),
  ];
  return causes.length === 0 ? 'computation' : new Intl.ListFormat('en-GB').format(causes);
}

/** Samples whose rows and columns a GPU computes at once. */
const shareOfPass = ({ microBatch, tensor, context }: ComparedLayout): number =>
  microBatch / (tensor * context);

/** Of forward FLOPs: products that each GPU of a group computes. */
const wholeShare = ({ cost }: ComparedLayout): number =>
  (cost.parallel?.whole ?? []).reduce((share, layer) => share + layer.share, 0);

const littleShare = 0.01;

const nothingShared = {
  tensorCommunication: 0,
  contextCommunication: 0,
  expertCommunication: 0,
  bubble: 0,
};
