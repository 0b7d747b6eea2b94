/** A layout in words: as `parallel` takes it (`tp=2,sp,pp=4,vp=2,schedule=interleaved-1f1b,micro-batch=1`), and what its step takes. */

import { printGroup } from '../../formats/scenarioGroups.ts';
import { atLeast, formatTime } from '../../model/format.ts';
import { seconds } from '../../model/units.ts';
import type { LayoutCandidate } from './layoutCandidate.ts';

type Layout = Omit<LayoutCandidate, 'request' | 'cost' | 'step'>;

/** By the names of `groupNames.parallel`; what is left out is the default. */
export const parallelPairs = ({
  tensor,
  context,
  expert,
  pipeline,
  chunks,
  schedule,
  microBatch,
}: Layout): Readonly<Record<string, number | string>> => ({
  ...(tensor > 1 ? { tp: tensor, sp: 'on' } : {}),
  ...(context > 1 ? { cp: context } : {}),
  ...(expert > 1 ? { ep: expert } : {}),
  ...(pipeline > 1 ? { pp: pipeline } : {}),
  ...(chunks > 1 ? { vp: chunks } : {}),
  ...(schedule === '1f1b' ? {} : { schedule }),
  'micro-batch': microBatch,
});

export const parallelText = (layout: Layout): string => printGroup(parallelPairs(layout));

/** What a step takes; a lower bound where parts of the model are unknown. */
export const stepText = ({ step, cost }: Pick<LayoutCandidate, 'step' | 'cost'>): string =>
  atLeast(formatTime(seconds(step)), cost.totals.time.exact);
