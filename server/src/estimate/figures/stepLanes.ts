/**
 * One worker's step in steady state on its resources: the host's launches, the GPU's stream, the channels of messages,
 * and the next batch being read and copied. Traces and the timeline of a report are made from it.
 */

import { floatAt, intAt } from '../../model/at.ts';
import { deviceNoun } from '../../model/deviceNoun.ts';
import { type SentMessage, type StepTimeline, stepTimes } from '../../schedule/stepTimeline.ts';
import type { LaunchedWork } from '../../schedule/stepWork.ts';
import { layerOfOperators } from '../layerOf.ts';
import { workOf } from '../plan/plannedWork.ts';
import { passesOf, type StepPlan } from '../plan/stepPlan.ts';

export interface StepLane {
  /** A channel of messages by its number. */
  readonly resource: 'host' | 'GPU' | 'reading' | 'copying' | number;
  readonly title: string;
  readonly events: readonly LaneEvent[];
}

/** Times in seconds from the start of the step; a message may end after it, and the next batch may begin before. */
export interface LaneEvent {
  readonly name: string;
  readonly phase: 'forward' | 'backward' | 'update' | 'communication' | 'input';
  readonly start: number;
  readonly end: number;
  /** Of it, from its start: the GPU has nothing to run until the host has launched it. Left out, none. */
  readonly idle?: number;
  readonly facts?: Readonly<Record<string, unknown>>;
}

/**
 * An event on the stream is an operator, named by its layer, waiting for the host included; gaps are waits for messages or
 * input. Operators that take no time are left out. Of several passes whose gradients are added up, the last is shown.
 */
export function stepLanes(plan: StepPlan, timeline: StepTimeline): readonly StepLane[] {
  const { launches, kernels } = computeEvents(plan, timeline);
  const { batch } = timeline;
  const device = deviceNoun(plan.cluster.gpu);
  const messages = timeline.messages.flatMap((sent, index) => messageEvents(plan, timeline, sent, index));
  const nextBatch = (start: number, end: number): readonly LaneEvent[] => [
    { name: 'next batch', phase: 'input', start, end },
  ];
  return [
    { resource: 'host', title: 'host launches', events: launches },
    { resource: 'GPU', title: device === 'GPU' ? 'GPU stream' : device, events: kernels },
    ...(batch === undefined
      ? []
      : ([
          {
            resource: 'reading',
            title: 'reading and decoding',
            events: nextBatch(batch.readFrom, batch.readUntil),
          },
          {
            resource: 'copying',
            title: 'copies of input to GPU',
            events: nextBatch(batch.copiedFrom, batch.copiedUntil),
          },
        ] as const)),
    ...plan.traffic.channels.map(({ name }, channel) => ({
      resource: channel,
      title: name,
      events: messages.flatMap((message) => (message.channel === channel ? [message.event] : [])),
    })),
  ];
}

/** When the last pass of the step starts. */
export function startOfLastPass(plan: StepPlan, { step }: StepTimeline): number {
  return passesOf(plan.scenario) === 1 ? 0 : step - stepTimes(workOf(plan, 'middle')).step;
}

function computeEvents(
  plan: StepPlan,
  timeline: StepTimeline,
): { readonly launches: readonly LaneEvent[]; readonly kernels: readonly LaneEvent[] } {
  const { training, scenario } = plan;
  const { graph, layers } = training.analysis;
  const layerOf = layerOfOperators(training);
  const { forward, backward, update, input, slowing } = workOf(plan, 'middle');
  const launches: LaneEvent[] = [];
  const kernels: LaneEvent[] = [];
  const isHeldByInput = input !== undefined && input.ahead !== 'reading and copying';
  let launched = (isHeldByInput ? timeline.exposedInputTime : 0) + startOfLastPass(plan, timeline);
  let computed = 0;
  const passes = passesOf(scenario);
  const add = (
    index: number,
    phase: LaneEvent['phase'],
    { host, device }: { readonly host: number; readonly device: number },
    all: number,
    end: number,
  ): void => {
    const time = all / passes;
    const operator = graph.operators[index];
    const name = layers[intAt(layerOf, index)]?.name ?? operator?.name ?? '';
    const facts = { phase, operator: operator?.name, type: operator?.type };
    if (host > 0) launches.push({ name, phase, start: launched, end: launched + host, facts });
    launched += host;
    // Passes of a step may wait for the host differently.
    const start = Math.max(end - time, computed);
    // Of a piece behind a wait for a message, the host's part came before that wait.
    const isHeldUp = start - computed > 1e-9 * timeline.step;
    const waited = slowing === undefined || isHeldUp ? time - device : launched - start;
    const idle = Math.min(end - start, Math.max(0, waited));
    if (time > 0) kernels.push({ name, phase, start, end, facts, ...(idle > 0 ? { idle } : {}) });
    computed = end;
  };
  const last = graph.operators.length - 1;
  for (const [index, end] of timeline.forwardEnds.entries()) {
    add(index, 'forward', pieceAt(forward, index), floatAt(timeline.forward, index), end);
  }
  for (const [at, end] of timeline.backwardEnds.entries()) {
    add(last - at, 'backward', pieceAt(backward, at), floatAt(timeline.backward, at), end);
  }
  const facts = { optimizer: scenario.optimizer };
  if (update.host > 0) {
    launches.push({ name: 'update', phase: 'update', start: launched, end: launched + update.host, facts });
  }
  const idleShare = timeline.updateTime > 0 ? timeline.updateHostTime / timeline.updateTime : 0;
  for (const { time, end } of timeline.updates) {
    const idle = idleShare > 0 ? { idle: time * idleShare } : {};
    kernels.push({ name: 'update', phase: 'update', start: end - time, end, facts, ...idle });
  }
  return { launches, kernels };
}

const pieceAt = ({ host, device }: LaunchedWork, at: number) => ({
  host: floatAt(host, at),
  device: floatAt(device, at),
});

/** One event for each stage, on its channel. */
function messageEvents(
  { exchange, traffic }: StepPlan,
  timeline: StepTimeline,
  { exposed, slack }: SentMessage,
  index: number,
): readonly { readonly channel: number; readonly event: LaneEvent }[] {
  const message = exchange.messages[index];
  return (traffic.stages[index] ?? []).map(({ description }, stage) => {
    const { channel, start, end } = timeline.stageOf(index, stage);
    return {
      channel,
      event: {
        name: `message ${index + 1} of ${exchange.messages.length}`,
        phase: 'communication',
        start,
        end,
        facts: {
          bytes: message?.bytes,
          parameters: message?.gradients.slice(0, namedParameters).map(({ parameter }) => parameter),
          how: description,
          exposedMicroseconds: microseconds(exposed),
          slackMicroseconds: microseconds(slack),
        },
      },
    };
  });
}

/** A bucket may carry hundreds. */
const namedParameters = 8;

/** To the nanosecond: more digits would be false precision and a larger file. */
export const microseconds = (time: number): number => Math.round(time * 1e9) / 1e3;
