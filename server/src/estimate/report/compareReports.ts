/** Two reports side by side: their totals, and the layers whose times differ most. */

import {
  atLeast,
  atMost,
  formatBytes,
  formatFlops,
  formatPercent,
  formatRate,
  formatShortCount,
  formatTime,
} from '../../model/format.ts';
import { bytes, flops, seconds } from '../../model/units.ts';
import { sharedName } from './foldLayers.ts';
import { costsSomething, layerTime } from './layerCells.ts';
import type { LayerReport, Report } from './report.ts';
import { hasAllWeights, memoryOfReport } from './reportText.ts';

export interface ComparedQuantity {
  readonly name: string;
  readonly left: number | null;
  readonly right: number | null;
  /** Right ÷ left; null where one is unknown or a bound, and where left is 0. */
  readonly ratio: number | null;
  /** As people read them: with unit, `≥` or `≤` for a bound, `?` for what is unknown. */
  readonly text: { readonly left: string; readonly right: string };
}

/** A layer that differs: seconds of forward, backward, and the communication for which the GPU waits. */
export interface ComparedLayer {
  readonly name: string;
  readonly type: string;
  /** null where that side has no such layer. */
  readonly left: number | null;
  readonly right: number | null;
  /** What it takes more on the right. */
  readonly more: number;
  /** What it has more on the right: elements that are trained, and bytes kept for backward, null where those are unknown. */
  readonly parameters: number;
  readonly saved: number | null;
}

/** The totals of both, in the order of the table. */
export const compareTotals = (left: Report, right: Report): readonly ComparedQuantity[] =>
  quantities
    .filter(({ isRow = () => true }) => isRow(left) || isRow(right))
    .map((quantity) => {
      const { name, of, format, bound, textOf, isExact = ({ totals }) => totals.exact } = quantity;
      const written = (report: Report): string => {
        if (textOf !== undefined) return textOf(report);
        const value = of(report);
        if (value === null) return '?';
        if (bound === undefined) return format(value);
        return (bound === 'at most' ? atMost : atLeast)(format(value), isExact(report));
      };
      const [one, other] = [of(left), of(right)];
      // The ratio of two lower bounds says nothing.
      const hasRatio = one !== null && other !== null && one !== 0 && isExact(left) && isExact(right);
      return {
        name,
        left: one,
        right: other,
        ratio: hasRatio ? other / one : null,
        text: { left: written(left), right: written(right) },
      };
    });

/**
 * Layers that differ, compared by name, those whose names differ in numbers alone as one, with the largest difference of time
 * first. Layers of one side alone are compared with nothing where most layers are of both, as in two revisions of a model;
 * of two models they are counted only. Layers whose time is unknown are left out.
 */
export function compareLayers(
  left: Report,
  right: Report,
): {
  readonly layers: readonly ComparedLayer[];
  readonly onlyIn: { readonly left: number; readonly right: number };
} {
  const ofLeft = layersByName(left);
  const ofRight = layersByName(right);
  const names = new Set([...ofLeft.keys(), ...ofRight.keys()]);
  const pairs = [...names].map((name): LayerPair => ({ one: ofLeft.get(name), other: ofRight.get(name) }));
  const onlyIn = {
    left: pairs.filter(({ other }) => other === undefined).length,
    right: pairs.filter(({ one }) => one === undefined).length,
  };
  const alone = onlyIn.left + onlyIn.right;
  const isOfOneModel = alone <= pairs.length - alone;
  const compared = pairs.filter((pair) => isOfOneModel || sidesOf(pair) === 'both');
  return {
    layers: [...groupsOf(compared).values()]
      .flatMap(sumOfPairs)
      .toSorted((one, other) => Math.abs(other.more) - Math.abs(one.more)),
    onlyIn,
  };
}

interface LayerPair {
  readonly one: LayerReport | undefined;
  readonly other: LayerReport | undefined;
}

const sidesOf = ({ one, other }: LayerPair): 'left' | 'right' | 'both' =>
  other === undefined ? 'left' : one === undefined ? 'right' : 'both';

function groupsOf(pairs: readonly LayerPair[]): ReadonlyMap<string, readonly LayerPair[]> {
  const groups = new Map<string, LayerPair[]>();
  for (const pair of pairs) {
    const key = keyOf(pair);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [pair]);
    else group.push(pair);
  }
  return groups;
}

const keyOf = (pair: LayerPair): string => {
  const layer = pair.other ?? pair.one;
  return JSON.stringify([layer?.name.replace(/\d+/g, '*'), layer?.type, sidesOf(pair)]);
};

/** One row, or none where they are alike in both. */
function sumOfPairs(pairs: readonly LayerPair[]): readonly ComparedLayer[] {
  const [first] = pairs;
  const layer = first?.other ?? first?.one;
  if (first === undefined || layer === undefined) return [];
  const sum = (of: (layer: LayerReport) => number | null, side: 'one' | 'other'): number | null =>
    pairs.reduce<number | null>((total, pair) => {
      const each = pair[side];
      const value = each === undefined ? 0 : of(each);
      return total === null || value === null ? null : total + value;
    }, 0);
  const [left, right] = [sum(timeWithWaiting, 'one'), sum(timeWithWaiting, 'other')];
  if (left === null || right === null) return [];
  const [before, after] = [sum(savedOf, 'one'), sum(savedOf, 'other')];
  const saved = before === null || after === null ? null : after - before;
  const parameters = pairs.reduce(
    (total, { one, other }) => total + (other?.parameters ?? 0) - (one?.parameters ?? 0),
    0,
  );
  const sides = sidesOf(first);
  if (sides === 'both' && isRounding(left, right) && parameters === 0 && saved === 0) return [];
  const changed = sides === 'both' && first.one?.type !== layer.type ? `${first.one?.type} → ` : '';
  return [
    {
      name: sharedName(pairs.flatMap(({ one, other }) => (other ?? one)?.name ?? [])),
      type: `${changed}${layer.type}${pairs.length === 1 ? '' : ` × ${pairs.length}`}`,
      left: sides === 'right' ? null : left,
      right: sides === 'left' ? null : right,
      more: right - left,
      parameters,
      saved,
    },
  ];
}

const savedOf = ({ memory }: LayerReport): number | null => memory.activations;

const layersByName = (report: Report): ReadonlyMap<string, LayerReport> =>
  new Map(report.layers.filter(costsSomething).map((layer) => [layer.name, layer]));

/** Forward and backward, and the communication of the layer for which the GPU waits. */
function timeWithWaiting(layer: LayerReport): number | null {
  const time = layerTime(layer);
  const exposed = layer.time.exposedCommunication;
  return time === null || exposed === null ? null : time + exposed;
}

/** Sums of the same times in another order. */
const isRounding = (before: number, after: number): boolean =>
  Math.abs(after - before) <= 1e-9 * Math.max(before, after);

interface Quantity {
  readonly name: string;
  readonly of: (report: Report) => number | null;
  readonly format: (value: number) => string;
  /** What an unknown part makes of it: more work or input adds to it, or takes from it; left out, nothing. */
  readonly bound?: 'at least' | 'at most';
  /** Where its text says more than the number. */
  readonly textOf?: (report: Report) => string;
  /** Whether it is none in a report; where every total is exact if left out. */
  readonly isExact?: (report: Report) => boolean;
  /** Whether a report has anything of it; left out, every one has. */
  readonly isRow?: (report: Report) => boolean;
}

/** Absent where there are none. */
const frozenOf = ({ model: { frozenParameters = 0 } }: Report): number => frozenParameters;

/** Unknown input makes the step a bound too. */
const isStepExact = ({ totals }: Report): boolean => totals.time.exact;

const timeOf = (value: number): string => formatTime(seconds(value));
const sizeOf = (value: number): string => formatBytes(bytes(value));
const workOf = (value: number): string => formatFlops(flops(value));

const quantities: readonly Quantity[] = [
  {
    name: 'parameters',
    of: ({ model }) => model.parameters,
    format: formatShortCount,
    bound: 'at least',
    isExact: hasAllWeights,
  },
  {
    name: 'frozen parameters',
    of: frozenOf,
    format: formatShortCount,
    bound: 'at least',
    isExact: hasAllWeights,
    isRow: (report) => frozenOf(report) > 0,
  },
  { name: 'forward FLOPs', of: ({ totals }) => totals.flops.forward, format: workOf, bound: 'at least' },
  { name: 'backward FLOPs', of: ({ totals }) => totals.flops.backward, format: workOf, bound: 'at least' },
  {
    name: 'step',
    of: ({ totals }) => totals.time.step,
    format: timeOf,
    bound: 'at least',
    isExact: isStepExact,
  },
  { name: 'forward', of: ({ totals }) => totals.time.forward, format: timeOf, bound: 'at least' },
  { name: 'backward', of: ({ totals }) => totals.time.backward, format: timeOf, bound: 'at least' },
  {
    name: 'update',
    of: ({ totals }) => totals.time.update,
    format: timeOf,
    bound: 'at least',
    isExact: hasAllWeights,
  },
  {
    name: 'communication',
    of: ({ totals }) => totals.time.communication,
    format: timeOf,
    bound: 'at least',
    isExact: hasAllWeights,
  },
  { name: 'exposed', of: ({ totals }) => totals.time.exposedCommunication, format: timeOf },
  {
    name: 'memory',
    of: ({ totals }) => totals.memory.needed,
    format: sizeOf,
    bound: 'at least',
    textOf: memoryOfReport,
  },
  { name: 'activations', of: ({ totals }) => totals.memory.activations, format: sizeOf, bound: 'at least' },
  {
    name: 'throughput',
    of: ({ totals }) => totals.throughput,
    format: (value) => formatRate(value),
    bound: 'at most',
    isExact: isStepExact,
  },
  { name: 'weak efficiency', of: ({ totals }) => totals.scalingEfficiency, format: formatPercent },
  { name: 'MFU', of: ({ totals }) => totals.mfu, format: formatPercent },
];
