/**
 * The timeline of the step as a trace that chrome://tracing and Perfetto open.
 *
 * Source of the format: "Trace Event Format" (Google), complete events ("ph": "X") and counters ("ph": "C") with
 * microseconds.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { type MemoryMoment, memoryKinds, thinned } from '../../charts/memoryChart.ts';
import type { TimelineKind } from '../../charts/timelineChart.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import type { LayerMeasurements } from '../../model/measurement.ts';
import type { Scenario } from '../../model/scenario.ts';
import { type DrawnStep, drawnStep } from '../figures/drawnStep.ts';
import { memoryOverStep } from '../figures/memoryOverStep.ts';
import { laneOf } from '../figures/pipelineFigures.ts';
import { type LaneEvent, microseconds, type StepLane, stepLanes } from '../figures/stepLanes.ts';

interface TraceEvent {
  readonly name: string;
  readonly ph: 'X' | 'M' | 'C';
  readonly pid: number;
  readonly tid: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly cat?: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

const tracks = { host: 1, GPU: 2, reading: 3, copying: 4 } as const;
const firstChannelTrack = 10;

const trackOf = ({ resource }: StepLane): number =>
  typeof resource === 'number' ? firstChannelTrack + resource : tracks[resource];

/** The lanes of `stepLanes.ts` as tracks, and memory by kind as a counter; of a pipeline its ranks as tracks. */
export function renderTrace(
  training: TrainingGraph,
  scenario: Scenario,
  cluster: ClusterProfile,
  measurements?: LayerMeasurements,
): string {
  const drawn = drawnStep(training, scenario, cluster, measurements);
  const { lanes, moments } =
    drawn === undefined
      ? { lanes: [], moments: [] }
      : drawn.kind === 'pipeline'
        ? ofRanks(drawn)
        : ofWorker(drawn);
  const events: readonly TraceEvent[] = [
    metadata('process_name', 0, `one of ${scenario.gpus} × ${cluster.gpu.title}`),
    ...lanes.flatMap(({ tid, title }) => track(tid, title)),
    ...lanes.flatMap(({ tid, events: own }) => own.map((event) => complete(event, tid))),
    ...moments.map(counter),
  ];
  return `${JSON.stringify({ traceEvents: fromZero(events), displayTimeUnit: 'ms' })}\n`;
}

interface TraceLanes {
  readonly lanes: readonly (Pick<StepLane, 'title' | 'events'> & { readonly tid: number })[];
  readonly moments: readonly MemoryMoment[];
}

function ofWorker({ plan, timeline }: Extract<DrawnStep, { kind: 'worker' }>): TraceLanes {
  return {
    lanes: stepLanes(plan, timeline).map((lane) => ({ ...lane, tid: trackOf(lane) })),
    moments: thinned(memoryOverStep(plan, timeline), timeline.step / mostCounts),
  };
}

/** A track for each rank: its passes, what is exchanged after them, and the update. */
function ofRanks({ step }: Extract<DrawnStep, { kind: 'pipeline' }>): TraceLanes {
  return {
    lanes: step.plan.ranks.map((_, rank) => {
      const { title, segments } = laneOf(step, rank);
      const events = segments.flatMap(({ kind, ...segment }): readonly LaneEvent[] => {
        const phase = phases[kind];
        return phase === undefined ? [] : [{ ...segment, phase }];
      });
      return { tid: firstChannelTrack + rank, title, events };
    }),
    moments: [],
  };
}

/** A wait is a gap of its track. */
const phases: Readonly<Partial<Record<TimelineKind, LaneEvent['phase']>>> = {
  forward: 'forward',
  backward: 'backward',
  update: 'update',
  message: 'communication',
};

/** Of a step; more counts would only make the file larger. */
const mostCounts = 2000;

/** The next batch may have been begun before the step: a trace has no times below 0. */
function fromZero(events: readonly TraceEvent[]): readonly TraceEvent[] {
  let earliest = 0;
  for (const { ts = 0 } of events) earliest = Math.min(earliest, ts);
  if (earliest === 0) return events;
  return events.map((event) => (event.ts === undefined ? event : { ...event, ts: event.ts - earliest }));
}

const track = (tid: number, name: string): readonly TraceEvent[] => [
  metadata('thread_name', tid, name),
  { name: 'thread_sort_index', ph: 'M', pid: 0, tid, args: { sort_index: tid } },
];

function complete({ name, phase, start, end, facts }: LaneEvent, tid: number): TraceEvent {
  const times = { ts: microseconds(start), dur: microseconds(end - start) };
  return {
    name,
    ph: 'X',
    pid: 0,
    tid,
    ...times,
    cat: phase,
    ...(facts === undefined ? {} : { args: facts }),
  };
}

/** Bytes by kind from this moment on; viewers stack them. */
const counter = (moment: MemoryMoment): TraceEvent => ({
  name: 'GPU memory',
  ph: 'C',
  pid: 0,
  tid: 0,
  ts: microseconds(moment.time),
  args: Object.fromEntries(memoryKinds.map(([kind, title]) => [title, Math.round(moment[kind])])),
});

function metadata(name: string, tid: number, value: string): TraceEvent {
  return { name, ph: 'M', pid: 0, tid, args: { name: value } };
}
