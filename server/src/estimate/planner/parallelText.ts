/** A layout as `parallel` takes it: `tp=2,sp,pp=4,vp=2,schedule=interleaved-1f1b,micro-batch=1`. */

import type { LayoutCandidate } from './searchLayouts.ts';

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

export const parallelText = (layout: Layout): string =>
  Object.entries(parallelPairs(layout))
    .map(([name, value]) => (value === 'on' ? name : `${name}=${value}`))
    .join(',');
