/** What each message of a step costs, and what of that falls to the layers whose gradients or parameters it carries. */

import type { Parameter } from '../analysis/modelAnalysis.ts';
import type { Message } from '../frameworks/exchange.ts';
import { intAt } from '../model/at.ts';
import { formatTime } from '../model/format.ts';
import type { Layer } from '../model/graph.ts';
import { memoize } from '../model/memoize.ts';
import type { MessageCost } from '../model/stepCost.ts';
import { type Bytes, bytes, seconds, sum } from '../model/units.ts';
import type { StepTimeline } from '../schedule/stepTimeline.ts';
import type { LayerCommunication } from './layerCosts.ts';
import { layerOfOperators, layerOfParameters } from './layerOf.ts';
import { queueOfMessages } from './plan/plannedTimes.ts';
import { exchangesPerStep, type StepPlan } from './plan/stepPlan.ts';

/** Messages with equal contents or routes share their descriptions: a gradient may be sent in many parts. */
export function messageCosts(plan: StepPlan, timeline: StepTimeline): readonly MessageCost[] {
  const { training, traffic, exchange } = plan;
  const layerOf = layerOfOperators(training);
  const ownerOf = layerOfParameters(training);
  const last = training.costs.length - 1;
  const { parameters, frozen } = training.analysis;
  // What is gathered is the same list in each message of a unit.
  const layersOf = memoize((gradients: Message['gradients']) =>
    memoize((weights: NonNullable<Message['frozen']>): MessageCost['layers'] => {
      const shares = new Map<number, Bytes>();
      const add = (parameter: Parameter | undefined, size: Bytes): void => {
        const layer = parameter && ownerOf(parameter);
        if (layer !== undefined) shares.set(layer, bytes((shares.get(layer) ?? 0) + size));
      };
      for (const { index, bytes: size } of gradients) add(parameters[index], size);
      for (const { index, bytes: size } of weights) add(frozen[index], size);
      return Array.from(shares, ([index, size]) => ({ index, bytes: size }));
    }),
  );
  const routeOf = memoize((stages: StepPlan['traffic']['stages'][number]) => ({
    time: sum(stages.map(({ time }) => time)),
    description: describeRoute(stages),
  }));
  const queue = queueOfMessages(plan, 'middle');
  return exchange.messages.map((message, position) => {
    const route = routeOf(traffic.stages[position] ?? noStages);
    const { description } = route;
    // What is sent every some steps makes so much less of each.
    // What the update gives is sent once, whatever passes exchange.
    const often = message.after.pass === 'update' ? 1 : exchangesPerStep(plan);
    const time = seconds((route.time * often) / (message.everySteps ?? 1) + queue(position));
    const sent = timeline.messages[position];
    return {
      bytes: message.bytes,
      time,
      exposed: sent?.exposed ?? seconds(0),
      slack: sent?.slack ?? seconds(0),
      layers: layersOf(message.gradients)(message.frozen ?? noFrozen),
      readyAfter: intAt(layerOf, message.after.pass === 'backward' ? last - message.after.position : 0),
      isAllReduce: isAllReduce(message.stages),
      description,
    };
  });
}

/** Where the host computes, copies to and from a GPU take no time and are not worth a word. */
function describeRoute(stages: StepPlan['traffic']['stages'][number]): string {
  const lasting = stages.filter(({ time }) => time > 0);
  return (lasting.length > 0 ? lasting : stages).map(({ description }) => description).join(', then ');
}

const isAllReduce = (stages: Message['stages']): boolean =>
  stages.every(({ operation }) => operation.kind === 'collective' && operation.collective === 'all-reduce');

const noStages: readonly never[] = [];
const noFrozen: readonly never[] = [];

/** A message's time and its exposed part belong to its layers by their share of its bytes. */
export function communicationByLayer(
  layers: readonly Layer[],
  messages: readonly MessageCost[],
): readonly LayerCommunication[] {
  const silent: LayerCommunication = {
    time: 0,
    exposed: 0,
    slack: Number.POSITIVE_INFINITY,
    note: undefined,
  };
  const result = layers.map(() => silent);
  const ofAll = memoize((description: string): string => ` of ${messages.length}, ${description}`);
  let position = 0;
  for (const message of messages) {
    position += 1;
    let whole = 0;
    for (const share of message.layers) whole += share.bytes;
    const spare = message.slack > 0 ? `, ${formatTime(message.slack)} to spare` : '';
    const place = `message ${position}${ofAll(message.description)}${spare}`;
    for (const share of message.layers) {
      const before = result[share.index];
      if (before === undefined || whole === 0) continue;
      result[share.index] = {
        time: before.time + message.time * (share.bytes / whole),
        exposed: before.exposed + message.exposed * (share.bytes / whole),
        slack: Math.min(before.slack, message.slack),
        note: before.note === undefined ? place : `${before.note}; ${place}`,
      };
    }
  }
  return result;
}
