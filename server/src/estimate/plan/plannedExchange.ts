/**
 * What the GPUs of a job exchange, with times. Neither depends on the batch, so that both are found once for a model and
 * kept for its other batches; but a framework that asks what its first steps were like is asked in each step.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { operationTime } from '../../communication/operationTime.ts';
import type { Placement } from '../../communication/placement.ts';
import type { FrameworkBehaviour } from '../../frameworks/behaviour.ts';
import { type Exchange, noExchange, type ProfiledStep, type WorkerGroup } from '../../frameworks/exchange.ts';
import type { Gradient } from '../../frameworks/gradient.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { LruCache } from '../../model/lruCache.ts';
import { isSameContent } from '../../model/sameContent.ts';
import type { Scenario } from '../../model/scenario.ts';
import { gradientsInReadyOrder } from './gradients.ts';
import { unlikeOthers } from './heldTables.ts';
import { type PlannedTraffic, timeTraffic } from './plannedTraffic.ts';

export interface PlannedExchange {
  readonly exchange: Exchange;
  /** Its messages with their times. */
  readonly traffic: PlannedTraffic;
}

export interface ExchangingStep {
  readonly training: TrainingGraph;
  readonly scenario: Scenario;
  readonly cluster: ClusterProfile;
  readonly placement: Placement;
  readonly behaviour: FrameworkBehaviour;
  /** Bytes per element of weights and gradients that are fp32 in the file. */
  readonly weightBytesPerElement: number;
}

type MeasuredProfile = Pick<ProfiledStep, 'backwardEnds' | 'backwardLaunches'>;

export function planExchange(step: ExchangingStep, profile: MeasuredProfile): PlannedExchange {
  const { training, scenario, cluster, placement, weightBytesPerElement } = step;
  const gradients = gradientsInReadyOrder(
    training,
    weightBytesPerElement,
    unlikeOthers(training, step.behaviour),
  );
  const { framework, mode, precision, gpus } = scenario;
  const group: WorkerGroup = { ...placement, gpus, operators: training.costs.length, precision };
  const job: Job = { framework, mode, group, cluster };
  const known = jobs.get(gradients) ?? new LruCache<Job, PlannedExchange>(isSameJob, mostJobs);
  jobs.set(gradients, known);
  const found = known.find(job);
  if (found !== undefined) {
    known.keep(job, found);
    return found;
  }
  const { exchange, isOfStep } = exchangeOf(step, gradients, group, profile);
  const planned = { exchange, traffic: timeTraffic(exchange, cluster, placement, training) };
  if (!isOfStep) known.keep(job, planned);
  return planned;
}

interface Job extends Pick<Scenario, 'framework' | 'mode'> {
  readonly group: WorkerGroup;
  readonly cluster: ClusterProfile;
}

const isSameJob = (known: Job, asked: Job): boolean =>
  known.cluster === asked.cluster &&
  known.mode === asked.mode &&
  isSameContent(known.group, asked.group) &&
  isSameContent(known.framework, asked.framework);

/** The points of a scaling curve. */
const mostJobs = 16;

const jobs = new WeakMap<readonly Gradient[], LruCache<Job, PlannedExchange>>();

/** `isOfStep`: whether the framework has asked for anything of the step. */
function exchangeOf(
  { training, scenario, cluster, placement, behaviour }: ExchangingStep,
  gradients: readonly Gradient[],
  group: WorkerGroup,
  profile: MeasuredProfile,
): { readonly exchange: Exchange; readonly isOfStep: boolean } {
  // A graph without operators has no step, whatever a framework sends in each.
  if (group.operators === 0) return { exchange: noExchange, isOfStep: false };
  if (scenario.mode !== 'training') {
    return { exchange: behaviour.exchangeInInference?.(gradients, group) ?? noExchange, isOfStep: false };
  }
  let isOfStep = false;
  const noticed =
    <Value>(read: () => Value) =>
    (): Value => {
      isOfStep = true;
      return read();
    };
  const exchange = behaviour.exchange(gradients, group, {
    backwardEnds: noticed(profile.backwardEnds),
    backwardLaunches: noticed(profile.backwardLaunches),
    batchPerGpu: noticed(() => training.batch),
    timeOf: (operation) => operationTime(cluster, placement, operation).time,
  });
  return { exchange, isOfStep };
}
