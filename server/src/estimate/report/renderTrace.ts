/**
 * The timeline of the step as a trace that chrome://tracing and Perfetto open.
 *
 * Source of the format: "Trace Event Format" (Google), complete events ("ph": "X") with microseconds.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { floatAt, intAt } from '../../model/at.ts';
import type { LayerMeasurements } from '../../model/measurement.ts';
import type { Scenario } from '../../model/scenario.ts';
import {
  type SentMessage,
  type SentStage,
  type StepTimeline,
  stepTimes,
} from '../../schedule/stepTimeline.ts';
import { layerOfOperators } from '../layerCosts.ts';
import { passesOf, planStep, type StepPlan, timelineOf, workOf } from '../plan/stepPlan.ts';

interface TraceEvent {
  readonly name: string;
  readonly ph: 'X' | 'M';
  readonly pid: number;
  readonly tid: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly cat?: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

const hostTrack = 1;
const computeTrack = 2;
const readTrack = 3;
const copyTrack = 4;
const firstChannelTrack = 10;

/**
 * One worker's step in steady state on its resources: the host's launches, the GPU's stream, the channels of messages,
 * and the next batch being read and copied. An event on the stream is an operator, named by its layer, waiting for the
 * host included; gaps are waits for messages or input. A message that the next step waits for may end after this one.
 * Of several passes whose gradients are added up, the last is drawn.
 */
export function renderTrace(
  training: TrainingGraph,
  scenario: Scenario,
  cluster: ClusterProfile,
  measurements?: LayerMeasurements,
): string {
  const plan = planStep(training, scenario, cluster, measurements);
  const timeline = timelineOf(plan, 'middle');
  const events: TraceEvent[] = [
    metadata('process_name', 0, `one of ${scenario.gpus} × ${cluster.gpu.title}`),
    ...track(hostTrack, 'host launches'),
    ...track(computeTrack, 'GPU stream'),
    ...(timeline.batch === undefined
      ? []
      : [...track(readTrack, 'reading and decoding'), ...track(copyTrack, 'copies of input to GPU')]),
    ...plan.traffic.channels.flatMap(({ name }, channel) => track(firstChannelTrack + channel, name)),
    ...computeEvents(plan, timeline),
    ...timeline.messages.flatMap((sent, index) => messageEvents(plan, timeline, sent, index)),
    ...inputEvents(timeline),
  ];
  return `${JSON.stringify({ traceEvents: fromZero(events), displayTimeUnit: 'ms' })}\n`;
}

/** The next batch may have been begun before the step: a trace has no times below 0. */
function fromZero(events: readonly TraceEvent[]): readonly TraceEvent[] {
  let earliest = 0;
  for (const { ts = 0 } of events) earliest = Math.min(earliest, ts);
  if (earliest === 0) return events;
  return events.map((event) => (event.ts === undefined ? event : { ...event, ts: event.ts - earliest }));
}

/** Launches and kernels of forward and backward, and the update; operators that take no time are left out. */
function computeEvents(plan: StepPlan, timeline: StepTimeline): readonly TraceEvent[] {
  const { training, scenario } = plan;
  const { graph, layers } = training.analysis;
  const layerOf = layerOfOperators(training);
  const { forward, backward, update, input } = workOf(plan, 'middle');
  const events: TraceEvent[] = [];
  const isHeldByInput = input !== undefined && input.ahead !== 'reading and copying';
  let launched = (isHeldByInput ? timeline.exposedInputTime : 0) + earlierPasses(plan, timeline);
  const passes = passesOf(scenario);
  const operatorEvents = (index: number, phase: string, host: number, all: number, end: number): void => {
    const time = all / passes;
    const operator = graph.operators[index];
    const name = layers[intAt(layerOf, index)]?.name ?? operator?.name ?? '';
    const args = { phase, operator: operator?.name, type: operator?.type };
    if (host > 0) events.push({ ...complete(name, hostTrack, launched, host), cat: phase, args });
    launched += host;
    if (time > 0) events.push({ ...complete(name, computeTrack, end - time, time), cat: phase, args });
  };
  const last = graph.operators.length - 1;
  for (const [index, end] of timeline.forwardEnds.entries()) {
    operatorEvents(index, 'forward', floatAt(forward.host, index), floatAt(timeline.forward, index), end);
  }
  for (const [at, end] of timeline.backwardEnds.entries()) {
    operatorEvents(last - at, 'backward', floatAt(backward.host, at), floatAt(timeline.backward, at), end);
  }
  const args = { optimizer: scenario.optimizer };
  if (update.host > 0) {
    events.push({ ...complete('update', hostTrack, launched, update.host), cat: 'update', args });
  }
  for (const { time, end } of timeline.updates) {
    events.push({ ...complete('update', computeTrack, end - time, time), cat: 'update', args });
  }
  return events;
}

/** When the last pass of the step starts. */
function earlierPasses(plan: StepPlan, { step }: StepTimeline): number {
  return passesOf(plan.scenario) === 1 ? 0 : step - stepTimes(workOf(plan, 'middle')).step;
}

/** One event for each stage, on the track of its channel. */
function messageEvents(
  { exchange, traffic }: StepPlan,
  timeline: StepTimeline,
  { exposed, slack }: SentMessage,
  index: number,
): readonly TraceEvent[] {
  const message = exchange.messages[index];
  const name = `message ${index + 1} of ${exchange.messages.length}`;
  return (traffic.stages[index] ?? []).map(({ description }, stage) => ({
    ...stageEvent(name, timeline.stageOf(index, stage)),
    cat: 'communication',
    args: {
      bytes: message?.bytes,
      parameters: message?.gradients.slice(0, namedParameters).map(({ parameter }) => parameter),
      how: description,
      exposedMicroseconds: micro(exposed),
      slackMicroseconds: micro(slack),
    },
  }));
}

const stageEvent = (name: string, { channel, start, end }: SentStage): TraceEvent =>
  complete(name, firstChannelTrack + channel, start, end - start);

/** A bucket may carry hundreds. */
const namedParameters = 8;

/** The batch that comes while the step runs. */
function inputEvents({ batch }: StepTimeline): readonly TraceEvent[] {
  if (batch === undefined) return [];
  const { readFrom, readUntil, copiedFrom, copiedUntil } = batch;
  return [
    { ...complete('next batch', readTrack, readFrom, readUntil - readFrom), cat: 'input' },
    { ...complete('next batch', copyTrack, copiedFrom, copiedUntil - copiedFrom), cat: 'input' },
  ];
}

const track = (tid: number, name: string): readonly TraceEvent[] => [
  metadata('thread_name', tid, name),
  { name: 'thread_sort_index', ph: 'M', pid: 0, tid, args: { sort_index: tid } },
];

function complete(name: string, tid: number, start: number, duration: number): TraceEvent {
  return { name, ph: 'X', pid: 0, tid, ts: micro(start), dur: micro(duration) };
}

function metadata(name: string, tid: number, value: string): TraceEvent {
  return { name, ph: 'M', pid: 0, tid, args: { name: value } };
}

/** Microseconds, to the nanosecond: more digits would be false precision and a larger file. */
const micro = (time: number): number => Math.round(time * 1e9) / 1e3;
