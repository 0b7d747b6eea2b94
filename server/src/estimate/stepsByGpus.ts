/**
 * Steps of one job that have been laid out, by the number of its GPUs: who asks on how many GPUs it is efficient asks for
 * what the other points of a scaling curve have found.
 */

import type { LoweredGraph } from '../frameworks/behaviour.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { StepPlan } from './plan/stepPlan.ts';

/** Seconds, to be added to; the nodes are as many as that many GPUs need. */
export const stepsByGpus = ({ lowered, scenario, cluster, measured }: StepPlan): Map<number, number> =>
  stepsOfJob(lowered, { scenario: { ...scenario, gpus: 0, nodes: 0 }, cluster, measured });

interface Job extends Pick<StepPlan, 'scenario' | 'cluster'> {
  readonly measured: StepPlan['measured'] | undefined;
}

const stepsOfJob = memoizeRecent(
  (_: LoweredGraph, __: Job): Map<number, number> => new Map(),
  (known, asked) =>
    known.cluster === asked.cluster &&
    known.measured === asked.measured &&
    isSameContent(known.scenario, asked.scenario),
);
