/** The messages of an exchange with their times, as the timeline takes them. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { kernelSlowdown } from '../communication/kernelSlowdown.ts';
import type { Operation } from '../communication/operation.ts';
import { type OperationTime, operationTime } from '../communication/operationTime.ts';
import type { Placement } from '../communication/placement.ts';
import type { Channel, Exchange, Message, Moment } from '../frameworks/exchange.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { once } from '../model/once.ts';
import { type Seconds, seconds } from '../model/units.ts';
import { type MessageColumns, messageColumns } from '../schedule/messageColumns.ts';
import type { TimedMessage } from '../schedule/stepWork.ts';

export interface PlannedTraffic {
  readonly channels: readonly Channel[];
  /** With middle, low and high shares, by channel (`StepWork.slowing`). */
  readonly slowing: readonly [readonly number[], readonly number[], readonly number[]];
  /** By message: what each of its stages takes. */
  readonly stages: readonly (readonly OperationTime[])[];
  /** By message: what it keeps the busiest server for, of one node. */
  readonly serverTimes: readonly Seconds[];
  /** With middle, low or high times. */
  readonly messages: (edge: 0 | 1 | 2) => MessageColumns;
}

/** Times are made when they are first asked for. */
export function timeTraffic(
  exchange: Exchange,
  cluster: ClusterProfile,
  placement: Placement,
  { costs, analysis }: Pick<TrainingGraph, 'costs' | 'analysis'>,
): PlannedTraffic {
  const { messages } = exchange;
  const channels = channelsOf(messages);
  const stages = once(() => stageTimes(exchange, cluster, placement));
  const columns = once(() => {
    const shares = updateShares(exchange, analysis.parameters);
    const stagesOf = numberedStages(channels);
    return messageColumns(
      messages.map((message, index) => ({
        after: workOf(message.after, costs.length),
        before: workOf(message.before, costs.length),
        stepsLater: message.stepsLater ?? 0,
        priority: message.priority ?? 0,
        stages: stagesOf(message.stages),
        updateShare: shares[index] ?? 0,
      })),
    );
  });
  const serverTimes = once(() =>
    messages.map(({ everySteps = 1 }, index) => {
      let time = 0;
      for (const { serverTime } of stages()[index] ?? []) time += serverTime;
      return seconds(time / everySteps);
    }),
  );
  const isOnGpu = cluster.gpu.architecture !== 'cpu';
  const [middle, low, high] = kernelSlowdown.map((share) =>
    channels.map(({ runsKernels }) => (runsKernels && isOnGpu ? share : 0)),
  );
  return {
    channels,
    slowing: [middle ?? [], low ?? [], high ?? []],
    get stages() {
      return stages();
    },
    get serverTimes() {
      return serverTimes();
    },
    messages: (edge) => ({
      ...columns(),
      time: timesByStage(exchange, stages(), (['time', 'low', 'high'] as const)[edge], columns().time.length),
    }),
  };
}

/** In the order they are first used. */
const channelsOf = (messages: readonly Message[]): readonly Channel[] => {
  const ways = new Set(messages.map(({ stages }) => stages));
  return [...new Set([...ways].flatMap((stages) => stages.map(({ channel }) => channel)))];
};

/** Messages that travel alike share their stages, here as there. */
const numberedStages = (
  channels: readonly Channel[],
): ((stages: Message['stages']) => TimedMessage['stages']) => {
  const known = new Map<Message['stages'], TimedMessage['stages']>();
  return (stages) => {
    const same = known.get(stages);
    if (same !== undefined) return same;
    const own = stages.map(({ channel }) => ({ channel: channels.indexOf(channel), time: seconds(0) }));
    known.set(stages, own);
    return own;
  };
};

function timesByStage(
  { messages }: Exchange,
  stages: PlannedTraffic['stages'],
  edge: 'time' | 'low' | 'high',
  count: number,
): Float64Array {
  const times = new Float64Array(count);
  let at = 0;
  for (let index = 0; index < messages.length; index += 1) {
    const everySteps = messages[index]?.everySteps ?? 1;
    for (const stage of stages[index] ?? []) {
      times[at] = stage[edge] / everySteps;
      at += 1;
    }
  }
  return times;
}

/** Moments as the timeline counts work: forward, then backward, then the update. */
function workOf(moment: Moment, operators: number): number {
  switch (moment.pass) {
    case 'start':
      return -1;
    case 'forward':
      return moment.position;
    case 'backward':
      return operators + moment.position;
    case 'update':
      return 2 * operators;
  }
}

/** Buckets are mostly of one size; operations that are alike are timed once. */
function stageTimes(
  { messages, synchrony }: Exchange,
  cluster: ClusterProfile,
  placement: Placement,
): readonly (readonly OperationTime[])[] {
  const known = new Map<string, OperationTime>();
  const seen = new Map<Operation, OperationTime>();
  const timeOf = (operation: Operation): OperationTime => {
    const same = seen.get(operation);
    if (same !== undefined) return same;
    const key = JSON.stringify(operation);
    let time = known.get(key);
    if (time === undefined) {
      time = operationTime(cluster, placement, operation, synchrony === 'synchronous');
      known.set(key, time);
    }
    seen.set(operation, time);
    return time;
  };
  // Messages that travel alike share their stages, and so the times of these.
  const alike = new Map<Message['stages'], readonly OperationTime[]>();
  return messages.map(({ stages }) => {
    const shared = alike.get(stages);
    if (shared !== undefined) return shared;
    const own = stages.map(({ operation }) => timeOf(operation));
    alike.set(stages, own);
    return own;
  });
}

/** Where parameters are updated as they arrive: by message, its part of all elements; a parameter counts at its last message. */
function updateShares(
  { messages, update }: Exchange,
  parameters: readonly { readonly elements: number }[],
): Float64Array {
  const shares = new Float64Array(messages.length);
  if (update !== 'as they arrive') return shares;
  const lastOf = new Int32Array(parameters.length).fill(-1);
  for (let position = 0; position < messages.length; position += 1) {
    for (const { index } of messages[position]?.gradients ?? []) lastOf[index] = position;
  }
  let all = 0;
  for (const { elements } of parameters) all += elements;
  for (const [index, { elements }] of parameters.entries()) {
    const message = lastOf[index] ?? -1;
    if (message >= 0 && all > 0) shares[message] = (shares[message] ?? 0) + elements / all;
  }
  return shares;
}
