/**
 * The hint at the end of a layer's line:
 *
 *     - fc: Linear(d, 4*d)          38.7 GFLOP · 0.21 ms · grad 9.00 MiB, 0.04 ms exposed
 *
 * FLOPs and time are of forward and backward together. A line without cost has no such hint. Where GPUs share a copy of the
 * model they are of one GPU, with its part and the collective that takes longest: `13.1 ms /tp8 · AR 0.21 ms ×2`.
 * A second kind, which can be switched on by itself, shows the shape that the layer gives: `[8, 1024, 3072]`.
 * A line's hints have at most 60 characters and end where a small window does: more would be cut off or lie under the
 * minimap, so what matters less is left to the hover.
 * A line that several models of a text share says what it costs in each:
 *
 *     - body: layer(d) * depth      small 268 MFLOP · 40.1 µs | large 25.8 GFLOP · 0.31 ms
 */

import { printDimension } from '../model/dimension.ts';
import { atLeast, formatBytes, formatFlops, formatTime } from '../model/format.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import { memoize } from '../model/memoize.ts';
import { add, type Seconds } from '../model/units.ts';
import { hoverLine } from './hover.ts';
import { collectivesOfLine, dividedBy, shortNames } from './layoutOfLine.ts';
import { isOfScenario, lineCost, measuredText, measuredTime, predictedOfDevice } from './lineCost.ts';
import { holdsLine, type LayerRow, type ModelView, viewsOf } from './modelView.ts';
import { endOfLine, type Position } from './textLines.ts';
import { unknownSince } from './whyUnknown.ts';

export interface InlayHint {
  readonly position: Position;
  readonly text: string;
}

export interface HintKinds {
  readonly cost: boolean;
  readonly shape: boolean;
}

/** Where hints end. */
export interface HintRoom {
  /** Characters of all hints of a line, where the editor cuts them off. */
  readonly longest: number;
  /** Column after which a person sees nothing; 0: any is seen. A line that is longer by itself is scrolled: it has no limit. */
  readonly lastColumn: number;
}

/** Hints of the lines from `first` to `last`, both included. */
export function inlayHints(
  view: ModelView,
  first: number,
  last: number,
  kinds: HintKinds = { cost: true, shape: false },
  room: HintRoom = { longest: Number.POSITIVE_INFINITY, lastColumn: 0 },
): readonly InlayHint[] {
  const print = makePrint();
  const roomOfLine = (line: number): number => charactersAfter(endOfLine(view.text, line).character, room);
  const said = viewsOf(view).flatMap((each) => {
    const unknownText = unknownTexts(each);
    return each.rows
      .filter((row) => row.line >= first && row.line <= last)
      .map((row): SaidOfLine => {
        const most = roomOfLine(row.line);
        const shape = kinds.shape ? shapeText(row, Math.min(most, longestHint)) : '';
        const rest = Math.min(shape === '' ? most : most - shape.length - 1, longestHint);
        const texts = [
          ...(kinds.shape ? [shape] : []),
          ...(kinds.cost ? [hintText(row, each, unknownText, print, rest)] : []),
        ];
        return { line: row.line, model: each.part?.name ?? '', isOwn: holdsLine(each, row.line), texts };
      });
  });
  const lines = view.others === undefined ? said : mergeModels(said, roomOfLine);
  return lines.flatMap(({ line, texts }) => {
    const position = endOfLine(view.text, line);
    return texts.flatMap((text) => (text === '' ? [] : [{ position, text }]));
  });
}

/** An editor draws a gap between a line and its hint. */
function charactersAfter(end: number, { longest, lastColumn }: HintRoom): number {
  return lastColumn === 0 || end >= lastColumn ? longest : Math.min(longest, lastColumn - end - 1);
}

interface SaidOfLine {
  readonly line: number;
  readonly model: string;
  /** Whether the line is that model's alone, so that it need not be named. */
  readonly isOwn: boolean;
  /** One per kind of hint; '' where there is nothing to say. */
  readonly texts: readonly string[];
}

/** One per line: what is the same in all models is said once, else each says its own. */
function mergeModels(
  said: readonly SaidOfLine[],
  roomOfLine: (line: number) => number,
): readonly SaidOfLine[] {
  const byLine = new Map<number, SaidOfLine[]>();
  for (const each of said) byLine.set(each.line, [...(byLine.get(each.line) ?? []), each]);
  return [...byLine.values()]
    .flatMap((models) => {
      const [one] = models;
      return one === undefined
        ? []
        : [
            {
              ...one,
              texts: one.texts.map((_, kind) =>
                textOf(models, kind, Math.min(roomOfLine(one.line), longestHint)),
              ),
            },
          ];
    })
    .sort((left, right) => left.line - right.line);
}

function textOf(models: readonly SaidOfLine[], kind: number, most: number): string {
  const texts = models.map(({ model, texts: own }) => ({ model, text: own[kind] ?? '' }));
  const [first] = texts;
  const isClear = models.length > 1 || models.every(({ isOwn }) => isOwn);
  if (first === undefined || texts.every(({ text }) => text === '')) return '';
  if (isClear && texts.every(({ text }) => text === first.text)) return first.text;
  const byWidth = [Number.POSITIVE_INFINITY, 2, 1].map((parts) =>
    texts.map(({ model, text }) => `${model} ${text === '' ? 'free' : firstParts(text, parts)}`),
  );
  for (let count = Math.min(texts.length, mostModels); count > 0; count -= 1) {
    const rest = texts.length - count;
    for (const named of byWidth) {
      const shown = [...named.slice(0, count), ...(rest > 0 ? [`${rest} more`] : [])].join(' | ');
      if (shown.length <= most) return shown;
    }
  }
  return cutHint(byWidth.at(-1)?.[0] ?? '', most);
}

/** The first numbers of a hint. */
const firstParts = (text: string, most: number): string => text.split(' · ').slice(0, most).join(' · ');

/** In characters. */
export const longestHint = 60;

const cutHint = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, Math.max(most, shortestHint) - 1).trimEnd()}…`;

/** What is cut shorter says nothing. */
const shortestHint = 8;

/** What VS Code shows of a line's hints where nothing else is chosen: `editor.inlayHints.maximumLength`, and before it existed. */
export const usualLength = 43;

/** More than this is a table, which the pointer shows. */
const mostModels = 3;

/** What the pointer shows on the hints of a line, as Markdown; asked for when it is there. */
export function hintTooltip(view: ModelView, line: number): string | undefined {
  const text = hoverLine(view, line);
  return text === '' ? undefined : text;
}

/** `[8, 1024, 768]`: the output of the line's last layer, where it is known. */
function shapeText(row: LayerRow, most: number): string {
  const shape = row.layers.at(-1)?.output.shape;
  return shape === undefined || shape === null
    ? ''
    : cutHint(`[${shape.map(printDimension).join(', ')}]`, most);
}

/** `cost unknown since fc1, line 12` for what follows from it; each origin is looked up once. */
function unknownTexts(view: ModelView): (row: LayerRow, most: number) => string {
  const places = new Map<string, LayerRow | undefined>();
  return ({ layers, lines }, most) => {
    const layer = layers.find(({ unknown }) => unknown !== undefined);
    if (layer?.unknownSince === undefined) return 'cost unknown';
    const since = places.has(layer.unknownSince) ? places.get(layer.unknownSince) : unknownSince(view, layer);
    places.set(layer.unknownSince, since);
    const isElsewhere = since !== undefined && !lines.includes(since.line);
    if (!isElsewhere) return 'cost unknown';
    const text = `cost unknown since ${since.name}, line ${since.line + 1}`;
    const shorter = `cost unknown since line ${since.line + 1}`;
    return [text, shorter].find(({ length }) => length <= most) ?? 'cost unknown';
  };
}

/** Lines that repeat say the same numbers: each is printed once. */
const makePrint = () => ({
  flops: memoize(formatFlops),
  time: memoize(formatTime),
  bytes: memoize(formatBytes),
});

function hintText(
  row: LayerRow,
  view: ModelView,
  unknownText: (row: LayerRow, most: number) => string,
  print: ReturnType<typeof makePrint>,
  most: number,
): string {
  const cost = lineCost(row);
  if (cost.unknown) return unknownText(row, most);
  const flops = add(cost.flops.forward, cost.flops.backward);
  const time = add(cost.time.forward, cost.time.backward);
  const { measurements } = view;
  const measured = measuredTime(row, measurements);
  const { communication, exposed } = cost.time;
  const step = view.estimate.cost;
  const degree = step === undefined ? 1 : dividedBy(row, step);
  const share = degree === 1 ? '' : ` /tp${degree}`;
  const isExposed = exposed !== null && exposed >= worthSaying;
  const parts: readonly Part[] = [
    ...(flops > 0 ? [{ text: atLeast(print.flops(flops), cost.exact), rank: 3 }] : []),
    ...(time > 0 ? [{ text: `${atLeast(print.time(time), cost.exact)}${share}`, rank: 0 }] : []),
    ...(measured === undefined || measurements === undefined
      ? []
      : measuredParts(row, view, measured, measurements)),
    ...(communication > 0 && cost.gradient > 0
      ? [
          {
            text: `grad ${print.bytes(cost.gradient)}${isExposed ? `, ${print.time(exposed)} exposed` : ''}`,
            ...(isExposed ? { short: `${print.time(exposed)} exposed` } : {}),
            rank: !isExposed ? 6 : exposed >= time / 20 ? 2 : 4,
          },
        ]
      : []),
    ...exchangeParts(row, view, print),
  ];
  if (parts.length === 0) return cost.exact ? '' : unknownText(row, most);
  // Without it the sum of many layers reads as the time of one: FLOPs leave before it does, and a sign is left where there is room for it.
  if (cost.layers === 1) return fitParts(parts, most);
  const text = fitParts([...parts, { text: `sum of ${cost.layers}`, rank: 2.5 }], most);
  if (text.includes('sum of')) return text;
  const signed = [`Σ${cost.layers} `, 'Σ'].map((sign) => `${sign}${fitParts(parts, most - sign.length)}`);
  return signed.find(({ length }) => length <= most) ?? text;
}

/** `AR 0.84 ms ×4`: what GPUs that share a copy exchange in the layers of a line, of the kind that takes longest. */
function exchangeParts(row: LayerRow, view: ModelView, print: ReturnType<typeof makePrint>): readonly Part[] {
  const { cost } = view.estimate;
  const [longest] = cost === undefined ? [] : collectivesOfLine(row, cost);
  if (longest === undefined) return [];
  const { kind, count, time } = longest;
  // Layouts are not costed with measured times: both never stand in one hint.
  return [{ text: `${shortNames[kind] ?? kind} ${print.time(time)} ×${count}`, rank: 1 }];
}

/** What is predicted for the device that ran stands apart only where the time before it is of another one. */
function measuredParts(
  row: LayerRow,
  view: ModelView,
  measured: Seconds,
  measurements: LayerMeasurements,
): readonly Part[] {
  const predicted = isOfScenario(view) ? undefined : predictedOfDevice(row, view);
  const sum = predicted && add(predicted.forward, predicted.backward);
  return [{ text: measuredText(measured, measurements, sum), rank: 1 }];
}

/** A number of a hint; of those that do not fit, the one of the highest rank goes first. */
interface Part {
  readonly text: string;
  /** What is said where all of it does not fit. */
  readonly short?: string;
  readonly rank: number;
}

/** The part that matters most is there even where it does not fit: half a number would be another one. */
function fitParts(parts: readonly Part[], most: number): string {
  const text = parts.map((part) => part.text).join(' · ');
  if (parts.length === 1) return cutHint(text, longestHint);
  if (text.length <= most) return text;
  const last = Math.max(...parts.map(({ rank }) => rank));
  if (last < 5 && parts.some(({ short }) => short !== undefined))
    return fitParts(
      parts.map(({ text: long, short = long, rank }) => ({ text: short, rank })),
      most,
    );
  return fitParts(
    parts.filter(({ rank }) => rank !== last),
    most,
  );
}

/** Exposed time below this is rounding of the timeline, not something to act on. */
const worthSaying = 1e-6;
