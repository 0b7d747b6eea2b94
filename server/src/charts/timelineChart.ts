/** A step on its resources: one lane for each, time across. */

import type { DeviceNoun } from '../model/deviceNoun.ts';
import { formatTime } from '../model/format.ts';
import { seconds } from '../model/units.ts';
import { bottomAxis } from './axes.ts';
import { type Chart, chartOf, narrowWidth, type Sheet } from './chart.ts';
import { type MergedSegment, mergeSegments, type Segment } from './mergeSegments.ts';
import { linearScale } from './scales.ts';
import { type Box, bar, fitLabel, label, legend, stripes } from './shapes.ts';

export interface TimelineLane {
  readonly title: string;
  readonly segments: readonly TimelineSegment[];
}

/** `wait`: the GPU has nothing to do until something arrives. */
export type TimelineKind = 'launch' | 'forward' | 'backward' | 'update' | 'message' | 'input' | 'wait';

export interface TimelineSegment extends Segment {
  readonly kind: TimelineKind;
}

export interface Timeline {
  readonly lanes: readonly TimelineLane[];
  /** In seconds: the part of the step that is drawn. */
  readonly from: number;
  readonly until: number;
  /** What a piece of forward or backward is: a layer, which a click goes to, or the number of a micro-batch. */
  readonly pieces: 'layers' | 'micro-batches';
  /** What waits; left out, a GPU. */
  readonly device?: DeviceNoun;
  /** Left out, it is the sum of each kind. */
  readonly summary?: string;
  /** What is not drawn, or drawn once for many; ends with a full stop, may be ''. */
  readonly note: string;
}

const [width, laneHeight, laneGap] = [1120, 26, 10];
const [left, right] = [152, 14];
/** Of the titles of lanes beside a text, which leave more room to the step. */
const narrowLeft = 108;

export function timelineChart(timeline: Timeline): Chart {
  const { lanes, from, until, summary, note, device = 'GPU' } = timeline;
  return chartOf({
    name: 'timeline',
    title: 'Timeline of a step',
    summary:
      summary === undefined ? summaryOf(lanes, until - from, note, device) : `${summary}${noteText(note)}`,
    ...lanesOf(timeline, { width, left, key: left }, waitPattern),
    narrow: lanesOf(timeline, { width: narrowWidth, left: narrowLeft, key: 12 }, `${waitPattern}-narrow`),
    table: {
      columns: ['lane', 'kind', 'time', 'share'],
      rows: lanes.flatMap(({ title, segments }) => {
        const shown = segments.flatMap((segment) => clipped(segment, from, until));
        const row = (name: string, time: number): readonly (readonly string[])[] =>
          time === 0 ? [] : [[title, name, formatTime(seconds(time)), share(time / (until - from))]];
        return [
          ...titlesOf(device).flatMap(([kind, name]) => row(name, timeWith(shown, kind))),
          ...row(`in these, ${device} waits for launches`, idleOf(shown)),
        ];
      }),
    },
  });
}

/** A pattern inside a drawing that is not shown paints nothing: each drawing has its own. */
const waitPattern = 'timeline-wait';

function lanesOf(
  { lanes, from, until, pieces, device = 'GPU' }: Timeline,
  { width, left, key: keyLeft }: { readonly width: number; readonly left: number; readonly key: number },
  pattern: string,
): Sheet {
  const across = { left, right: width - right };
  const scale = linearScale([from, until], [across.left, across.right]);
  const pixel = (until - from) / (across.right - across.left);
  const drawn = lanes.map(({ title, segments }) => ({
    title,
    segments: mergeSegments(
      segments.flatMap((segment) => clipped(segment, from, until)),
      pixel,
      widestRun * pixel,
    ),
  }));
  const kinds = titlesOf(device).filter(([kind]) =>
    lanes.some(({ segments }) => segments.some((each) => each.kind === kind)),
  );
  const isIdle = drawn.some(({ segments }) => segments.some(showsIdle));
  const key = legend(isIdle ? [...kinds, idleKey(device)] : kinds, keyLeft, 4, width);
  const top = 16 + key.height;
  const plot: Box = { ...across, top, bottom: top + lanes.length * (laneHeight + laneGap) };
  return {
    width,
    height: plot.bottom + 28,
    body: [
      stripes(pattern, 'wait-ground'),
      ...key.body,
      ...bottomAxis(scale, plot, (time) => formatTime(seconds(time))),
      ...drawn.flatMap(({ title, segments }, index) => {
        const y = top + index * (laneHeight + laneGap) + laneGap / 2;
        return [
          label(left - 10, y + 17, fitLabel(title, left - 12), 'end'),
          ...segments.flatMap((segment) =>
            segmentBar(segment, { isOfLayers: pieces === 'layers', device }, y, scale.at),
          ),
        ];
      }),
    ],
  };
}

/** In pixels: what thin pieces are joined to. */
const widestRun = 6;

const titlesOf = (device: DeviceNoun): readonly (readonly [TimelineKind, string])[] => [
  ['launch', 'launches'],
  ['forward', 'forward'],
  ['backward', 'backward'],
  ['update', 'update'],
  ['message', 'messages'],
  ['input', 'input'],
  ['wait', `${device} waits (exposed)`],
];

function segmentBar(
  segment: MergedSegment,
  { isOfLayers, device }: { readonly isOfLayers: boolean; readonly device: DeviceNoun },
  y: number,
  at: (time: number) => number,
): readonly string[] {
  const { name, lastName, kind, start, end, idle, count } = segment;
  const box: Box = { left: at(start), right: at(end), top: y, bottom: y + laneHeight };
  const isPass = kind === 'forward' || kind === 'backward';
  const one = isPass && !isOfLayers ? `micro-batch ${name}` : name;
  const what = count === 1 ? one : `${count} pieces, ${one} to ${lastName}`;
  const idleShare = showsIdle(segment) ? idle / (end - start) : 0;
  const text = idleShare > mostBehindText ? '' : fitLabel(count === 1 ? name : '', box.right - box.left - 8);
  const isLayer = isOfLayers && (isPass || kind === 'launch');
  return [
    bar(box, kind, {
      note: `${what}: ${kind === 'wait' ? `the ${device} waits` : kind}, ${formatTime(seconds(end - start))}${idleShare === 0 ? '' : `, of which the ${device} waits ${formatTime(seconds(idle))} for launches`}`,
      ...(isLayer ? { layer: name } : {}),
    }),
    ...(idleShare === 0 ? [] : [bar({ ...box, bottom: y + laneHeight * idleShare }, 'idle')]),
    ...(text === '' || kind === 'wait' ? [] : [label(box.left + 4, y + 17, text, 'inside')]),
  ];
}

/** A bar is paler from its top by the share that the GPU waits for launches: thousands of thin gaps would not be seen. */
const idleKey = (device: DeviceNoun) => ['idle-key', `pale: ${device} waits for launches`] as const;

/** From a pixel of a lane's height. */
const showsIdle = ({ idle, start, end }: MergedSegment): boolean => idle * laneHeight >= end - start;

/** Of a bar's height: text behind the pale part would not be read. */
const mostBehindText = 0.25;

function clipped(segment: TimelineSegment, from: number, until: number): readonly TimelineSegment[] {
  const [start, end] = [Math.max(segment.start, from), Math.min(segment.end, until)];
  if (end <= start) return [];
  const { idle } = segment;
  const shown = (end - start) / (segment.end - segment.start);
  return [{ ...segment, start, end, ...(idle === undefined ? {} : { idle: idle * shown }) }];
}

/** How long a lane has pieces of a kind: those that run at once are counted once. Segments in the order of their start. */
function timeWith(segments: readonly TimelineSegment[], kind: TimelineKind): number {
  let [total, until] = [0, Number.NEGATIVE_INFINITY];
  for (const { kind: own, start, end } of segments) {
    if (own !== kind) continue;
    total += Math.max(0, end - Math.max(start, until));
    until = Math.max(until, end);
  }
  return total;
}

const idleOf = (segments: readonly TimelineSegment[]): number =>
  segments.reduce((total, { idle = 0 }) => total + idle, 0);

const share = (part: number): string => `${(part * 100).toFixed(part < 0.1 ? 1 : 0)} %`;

function summaryOf(lanes: readonly TimelineLane[], step: number, note: string, device: DeviceNoun): string {
  const titles = titlesOf(device);
  const busy = titles.flatMap(([kind, title]) => {
    const time = lanes.reduce((total, { segments }) => total + timeWith(segments, kind), 0);
    return time === 0 || kind === 'launch' || kind === 'input'
      ? []
      : [`${title} ${formatTime(seconds(time))}`];
  });
  const idle = lanes.reduce((total, { segments }) => total + idleOf(segments), 0);
  const waits =
    idle / step < leastIdle
      ? ''
      : ` In these the ${device} waits ${formatTime(seconds(idle))} for the host to launch kernels.`;
  return `Of ${formatTime(seconds(step))}: ${busy.join(', ')}.${waits}${noteText(note)}`;
}

/** Of the step: less is not worth a sentence. */
const leastIdle = 0.01;

const noteText = (note: string): string => (note === '' ? '' : ` ${note}`);
