/** The messages of an exchange with their times, as the timeline takes them. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { kernelSlowdown } from '../../communication/kernelSlowdown.ts';
import type { Operation } from '../../communication/operation.ts';
import { type OperationTime, operationTime } from '../../communication/operationTime.ts';
import type { Placement } from '../../communication/placement.ts';
import type { Channel, Exchange, Message, SyncPoint } from '../../frameworks/exchange.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { floatAt, intAt } from '../../model/at.ts';
import { type Bound, type Estimate, estimateOf } from '../../model/estimate.ts';
import { lazy } from '../../model/lazy.ts';
import { memoize } from '../../model/memoize.ts';
import { sumOf } from '../../model/sumOf.ts';
import { type Seconds, seconds } from '../../model/units.ts';
import { type MessageColumns, messageColumns } from '../../schedule/messageColumns.ts';
import type { TimedMessage } from '../../schedule/timedMessage.ts';

export interface PlannedTraffic {
  readonly channels: readonly Channel[];
  /** With middle, low and high shares, by channel (`StepWork.slowing`). */
  readonly slowing: Estimate<readonly number[]>;
  /** Distinct routes, in the order of first use. */
  readonly routes: readonly Route[];
  /** By message: what each of its stages takes. */
  readonly stages: readonly (readonly OperationTime[])[];
  /** By message: what it keeps the busiest server for, of one node. */
  readonly serverTimes: readonly Seconds[];
  /** With middle, low or high times. */
  readonly messages: (bound: Bound) => MessageColumns;
}

/** Messages that go through the same stages, in the same times. */
export interface Route {
  readonly stages: Message['stages'];
  readonly times: readonly OperationTime[];
  /** How many messages take it, and how many of these carry gradients or parameters. */
  readonly messages: number;
  readonly withGradients: number;
  /** Messages per step: below one where a message is sent once in several steps. */
  readonly perStep: number;
}

/** Times are made when they are first asked for. */
export function timeTraffic(
  exchange: Exchange,
  cluster: ClusterProfile,
  placement: Placement,
  { costs, analysis }: Pick<TrainingGraph, 'costs' | 'analysis'>,
): PlannedTraffic {
  const { messages } = exchange;
  const routes = lazy(() => routesOf(exchange, cluster, placement));
  const channels = channelsOf(messages);
  const columns = lazy(() => {
    const shares = updateShares(exchange, analysis.parameters);
    return messageColumns(timedMessages(messages, channels, shares, costs.length));
  });
  const stages = lazy(() => byMessage(messages, routes(), ({ times }) => times));
  const serverTimes = lazy(() =>
    byMessage(messages, routes(), ({ times }, { everySteps = 1 }) => {
      let time = 0;
      for (const { serverTime } of times) time += serverTime;
      return seconds(time / everySteps);
    }),
  );
  const isOnGpu = cluster.gpu.architecture !== 'cpu';
  return {
    channels,
    slowing: estimateOf((bound) =>
      channels.map(({ runsKernels }) => (runsKernels && isOnGpu ? kernelSlowdown[bound] : 0)),
    ),
    get routes() {
      return [...routes().values()];
    },
    get stages() {
      return stages();
    },
    get serverTimes() {
      return serverTimes();
    },
    messages: memoize((bound) => ({
      ...columns(),
      time: timesByStage(messages, routes(), bound, columns().time.length),
    })),
  };
}

/** A value of each message, by its route. It is found once for equal neighbours, as the parts of a message are. */
function byMessage<Value>(
  messages: readonly Message[],
  routes: ReadonlyMap<Message['stages'], Route>,
  valueBy: (route: Route, message: Message) => Value,
): readonly Value[] {
  const values: Value[] = [];
  let before: Message | undefined;
  let same: Value | undefined;
  for (const message of messages) {
    if (message !== before || same === undefined) {
      const route = routes.get(message.stages);
      if (route === undefined) throw new Error('a message without a route');
      same = valueBy(route, message);
      before = message;
    }
    values.push(same);
  }
  return values;
}

/** In the order they are first used. */
const channelsOf = (messages: readonly Message[]): readonly Channel[] => {
  const routes = new Set(messages.map(({ stages }) => stages));
  return [...new Set([...routes].flatMap((stages) => stages.map(({ channel }) => channel)))];
};

/** As the timeline takes them, without times; those that are the same there are the same here. */
function timedMessages(
  messages: readonly Message[],
  channels: readonly Channel[],
  shares: UpdateShares,
  operators: number,
): readonly TimedMessage[] {
  const stagesOf = memoize((stages: Message['stages']): TimedMessage['stages'] =>
    stages.map(({ channel }) => ({ channel: channels.indexOf(channel), time: seconds(0) })),
  );
  const timed: TimedMessage[] = [];
  let before: Message | undefined;
  let last: TimedMessage | undefined;
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined) break;
    const updateShare = floatAt(shares.elements, index);
    if (last === undefined || message !== before || last.updateShare !== updateShare) {
      const { stepsLater = 0, priority = 0 } = message;
      last = {
        after: workOf(message.after, operators),
        before: workOf(message.before, operators),
        stepsLater,
        priority,
        stages: stagesOf(message.stages),
        updateShare,
        launchShare: floatAt(shares.parameters, index),
      };
      before = message;
    }
    timed.push(last);
  }
  return timed;
}

function timesByStage(
  messages: readonly Message[],
  routes: ReadonlyMap<Message['stages'], Route>,
  bound: Bound,
  count: number,
): Float64Array {
  const times = new Float64Array(count);
  const timesOf = memoize((stages: Message['stages']) =>
    Float64Array.from(routes.get(stages)?.times ?? [], (stage) =>
      bound === 'middle' ? stage.time : stage[bound],
    ),
  );
  let own = new Float64Array(0);
  let before: Message['stages'] | undefined;
  let at = 0;
  for (const { stages, everySteps = 1 } of messages) {
    if (stages !== before) own = timesOf(stages);
    before = stages;
    for (let stage = 0; stage < own.length; stage += 1) {
      times[at] = floatAt(own, stage) / everySteps;
      at += 1;
    }
  }
  return times;
}

/** Points as the timeline counts work: forward, then backward, then the update. */
function workOf(point: SyncPoint, operators: number): number {
  switch (point.pass) {
    case 'start':
      return -1;
    case 'forward':
      return point.position;
    case 'backward':
      return operators + point.position;
    case 'update':
      return 2 * operators;
  }
}

/** By stages, in the order they are first used. Buckets are mostly of one size; operations that are alike are timed once. */
function routesOf(
  { messages, synchrony }: Exchange,
  cluster: ClusterProfile,
  placement: Placement,
): ReadonlyMap<Message['stages'], Route> {
  const timeOf = timesOfOperations(cluster, synchrony === 'synchronous');
  const routes = new Map<Message['stages'], CountedRoute>();
  let route: CountedRoute | undefined;
  for (const { stages, gradients, everySteps = 1 } of messages) {
    if (route?.stages !== stages) {
      route = routes.get(stages);
      if (route === undefined) {
        const times = stages.map(({ operation, group }) => timeOf(operation, group ?? placement));
        route = { stages, times, messages: 0, withGradients: 0, perStep: 0 };
        routes.set(stages, route);
      }
    }
    route.messages += 1;
    route.withGradients += gradients.length > 0 ? 1 : 0;
    route.perStep += 1 / everySteps;
  }
  return routes;
}

type CountedRoute = { -readonly [Key in keyof Route]: Route[Key] };

/** The same operation, and one written alike, is timed once. */
function timesOfOperations(
  cluster: ClusterProfile,
  sharesServers: boolean,
): (operation: Operation, group: Placement) => OperationTime {
  const known = new Map<string, OperationTime>();
  const timesIn = memoize((group: Placement) =>
    memoize((operation: Operation): OperationTime => {
      const key = JSON.stringify([group, operation]);
      const time = known.get(key) ?? operationTime(cluster, group, operation, sharesServers);
      known.set(key, time);
      return time;
    }),
  );
  return (operation, group) => timesIn(group)(operation);
}

/** By message, its part of all elements, which the GPU updates, and of all parameters, each of which the host launches. */
interface UpdateShares {
  readonly elements: Float64Array;
  readonly parameters: Float64Array;
}

/** Where parameters are updated as they arrive; one counts at its last message. */
function updateShares(
  { messages, update }: Exchange,
  parameters: readonly { readonly elements: number }[],
): UpdateShares {
  const shares = {
    elements: new Float64Array(messages.length),
    parameters: new Float64Array(messages.length),
  };
  if (update !== 'as they arrive') return shares;
  const lastOf = new Int32Array(parameters.length).fill(-1);
  const updated = Float64Array.from(parameters, ({ elements }) => elements);
  for (let position = 0; position < messages.length; position += 1) {
    for (const { index, table } of messages[position]?.gradients ?? []) {
      lastOf[index] = position;
      // Of a table the rows that arrive.
      if (table !== undefined) updated[index] = table.lookups * table.width;
    }
  }
  const all = sumOf(updated);
  for (const [index, elements] of updated.entries()) {
    const message = intAt(lastOf, index);
    if (message < 0 || all === 0) continue;
    shares.elements[message] = floatAt(shares.elements, message) + elements / all;
    shares.parameters[message] = floatAt(shares.parameters, message) + 1 / parameters.length;
  }
  return shares;
}
