/**
 * The timeline of the step as a trace that chrome://tracing and Perfetto open.
 *
 * Source of the format: "Trace Event Format" (Google), complete events ("ph": "X") with microseconds.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import type { LayerMeasurements } from '../../model/measurement.ts';
import type { Scenario } from '../../model/scenario.ts';
import { layerOfOperators } from '../layerCosts.ts';
import { planStep, timelineOf } from '../stepPlan.ts';

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

const computeTrack = 1;
const networkTrack = 2;

/**
 * One GPU's step: forward, backward and update on the compute stream, gradient messages on the network. An event
 * is an operator, named by its layer, waiting for the host included; operators that take no time are left out.
 */
export function renderTrace(
  training: TrainingGraph,
  scenario: Scenario,
  cluster: ClusterProfile,
  measurements?: LayerMeasurements,
): string {
  const plan = planStep(training, scenario, cluster, measurements);
  const timeline = timelineOf(plan, 0);
  const { graph, layers } = training.analysis;
  const layerOf = layerOfOperators(training);
  const events: TraceEvent[] = [
    metadata('process_name', 0, `one of ${scenario.gpus} × ${cluster.gpu.title}`),
    metadata('thread_name', computeTrack, 'compute stream'),
    metadata('thread_name', networkTrack, 'network'),
  ];
  let now = 0;
  const compute = (index: number, duration: number, phase: string): void => {
    const operator = graph.operators[index];
    const layer = layers[layerOf[index] ?? -1];
    if (duration > 0 && operator !== undefined) {
      events.push({
        ...complete(layer?.name ?? operator.name, computeTrack, now, duration),
        cat: phase,
        args: { phase, operator: operator.name, type: operator.type },
      });
    }
    now += duration;
  };
  for (const [index, duration] of timeline.forward.entries()) compute(index, duration, 'forward');
  const last = graph.operators.length - 1;
  for (const [position, duration] of timeline.backward.entries())
    compute(last - position, duration, 'backward');
  for (const [index, sent] of timeline.messages.entries()) {
    events.push({
      ...complete(
        `message ${index + 1} of ${timeline.messages.length}`,
        networkTrack,
        sent.start,
        sent.end - sent.start,
      ),
      cat: 'communication',
      args: {
        bytes: plan.exchange.messages[index]?.bytes,
        how: plan.traffic.stages[index]?.map(({ description }) => description).join(', then '),
        exposedMicroseconds: micro(sent.exposed),
      },
    });
  }
  if (timeline.updateTime > 0) {
    const update = complete('update', computeTrack, timeline.step - timeline.updateTime, timeline.updateTime);
    events.push({ ...update, cat: 'update', args: { optimizer: scenario.optimizer } });
  }
  return `${JSON.stringify({ traceEvents: events, displayTimeUnit: 'ms' })}\n`;
}

function complete(name: string, tid: number, start: number, duration: number): TraceEvent {
  return { name, ph: 'X', pid: 0, tid, ts: micro(start), dur: micro(duration) };
}

function metadata(name: string, tid: number, value: string): TraceEvent {
  return { name, ph: 'M', pid: 0, tid, args: { name: value } };
}

/** Microseconds, to the nanosecond: more digits would be false precision and a larger file. */
const micro = (time: number): number => Math.round(time * 1e9) / 1e3;
