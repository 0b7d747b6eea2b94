/**
 * What the GPUs of a job exchange, with times. Neither depends on the batch, so that both are found once for a model and
 * kept for its other batches; but a framework that asks what its first steps were like is asked in each step.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { operationTime } from '../../communication/operationTime.ts';
import type { Placement } from '../../communication/placement.ts';
import type { FrameworkBehaviour } from '../../frameworks/behaviour.ts';
import {
  type Exchange,
  type Message,
  noExchange,
  type ProfiledStep,
  type WorkerGroup,
} from '../../frameworks/exchange.ts';
import type { Gradient } from '../../frameworks/gradient.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { LruCache } from '../../model/lruCache.ts';
import { memoize } from '../../model/memoize.ts';
import { isSameContent } from '../../model/sameContent.ts';
import type { Scenario } from '../../model/scenario.ts';
import { bytes } from '../../model/units.ts';
import { frozenWeights, gradientsInReadyOrder } from './gradients.ts';
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
  const { framework, mode } = scenario;
  const frozen = frozenWeights(training, weightBytesPerElement);
  const group = {
    ...workerGroup(training, scenario, placement),
    ...(frozen.length === 0 ? {} : { frozen }),
  };
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

/** Those that exchange what a framework sends: copies of the model, or of a stage. */
export const workerGroup = (
  { costs }: TrainingGraph,
  { gpus, precision, pipelined }: Pick<Scenario, 'gpus' | 'precision' | 'pipelined'>,
  placement: Placement,
): WorkerGroup => ({
  ...placement,
  gpus,
  operators: costs.length,
  precision,
  ...(pipelined === undefined ? {} : { pipelined }),
});

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
  const exchangeIn = (own: readonly Gradient[], among: WorkerGroup, lie: Placement): Exchange =>
    behaviour.exchange(own, among, {
      backwardEnds: noticed(profile.backwardEnds),
      backwardLaunches: noticed(profile.backwardLaunches),
      batchPerGpu: noticed(() => training.batch),
      timeOf: (operation) => operationTime(cluster, lie, operation).time,
    });
  const ways = [...gradients, ...(group.frozen ?? [])].find(
    ({ expertWays }) => expertWays !== undefined,
  )?.expertWays;
  if (ways === undefined) return { exchange: exchangeIn(gradients, group, placement), isOfStep };
  const dense = exchangeIn(
    gradients.filter(({ expertWays }) => expertWays === undefined),
    withFrozen(group, (expertWays) => expertWays === undefined),
    placement,
  );
  const among = expertGroup(group, ways);
  const ofExperts = exchangeIn(
    gradients.filter(({ expertWays }) => expertWays !== undefined),
    { ...withFrozen(group, (expertWays) => expertWays !== undefined), ...among, gpus: group.gpus / ways },
    among,
  );
  return { exchange: withExperts(dense, ofExperts, among), isOfStep };
}

const withFrozen = (group: WorkerGroup, isOwn: (expertWays: number | undefined) => boolean): WorkerGroup =>
  group.frozen === undefined
    ? group
    : { ...group, frozen: group.frozen.filter(({ expertWays }) => isOwn(expertWays)) };

/** Those that have the same experts: neighbours have others. */
function expertGroup({ nodes, gpusPerNode }: Placement, ways: number): Placement {
  const onOneNode = Math.max(1, Math.floor(gpusPerNode / ways));
  return { nodes: Math.max(1, Math.ceil((nodes * gpusPerNode) / ways / onOneNode)), gpusPerNode: onOneNode };
}

/** Gradients of experts are sent beside the others, among fewer workers. Shards of experts follow from those of the others. */
const withExperts = (dense: Exchange, ofExperts: Exchange, group: Placement): Exchange => {
  const stagesIn = memoize((stages: Message['stages']) => stages.map((stage) => ({ ...stage, group })));
  return {
    ...dense,
    messages: [
      ...dense.messages,
      ...ofExperts.messages.map((message) => ({ ...message, stages: stagesIn(message.stages) })),
    ],
    buffers: bytes(dense.buffers + ofExperts.buffers),
  };
};
