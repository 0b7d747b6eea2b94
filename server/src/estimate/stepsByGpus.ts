/**
 * Simulated steps of one job, by the number of its GPUs. The search for an efficient number of GPUs reuses the points of a
 * scaling curve.
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
