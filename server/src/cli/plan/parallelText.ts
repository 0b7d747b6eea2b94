/** A layout as `--parallel` takes it: `tp=2,sp,pp=4,vp=2,schedule=interleaved-1f1b,micro-batch=1`. */

import type { LayoutCandidate } from '../../estimate/planner/searchLayouts.ts';

export const parallelText = ({
  tensor,
  context,
  expert,
  pipeline,
  chunks,
  schedule,
  microBatch,
}: Omit<LayoutCandidate, 'request' | 'cost' | 'step'>): string =>
  [
    ...(tensor > 1 ? [`tp=${tensor}`, 'sp'] : []),
    ...(context > 1 ? [`cp=${context}`] : []),
    ...(expert > 1 ? [`ep=${expert}`] : []),
    ...(pipeline > 1 ? [`pp=${pipeline}`] : []),
    ...(chunks > 1 ? [`vp=${chunks}`] : []),
    ...(schedule === '1f1b' ? [] : [`schedule=${schedule}`]),
    `micro-batch=${microBatch}`,
  ].join(',');
