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
import { hasAllWeights, memoryOfReport } from './summary.ts';

export interface ComparedQuantity {
  readonly name: string;
  readonly left: number | null;
  readonly right: number | null;
  /** Right ÷ left; null where one is unknown or a bound, and where left is 0. */
  readonly ratio: number | null;
  /** As people read them: with unit, `≥` or `≤` for a bound, `?` for what is unknown. */
  readonly text: { readonly left: string; readonly right: string };
}

/** Seconds of a layer in both: forward, backward, and the communication for which the GPU waits. */
export interface ComparedLayer {
  readonly name: string;
  readonly type: string;
  readonly left: number;
  readonly right: number;
  /** What it takes more on the right. */
  readonly more: number;
}

/** The totals of both, in the order of the table. */
export const compareTotals = (left: Report, right: Report): readonly ComparedQuantity[] =>
  quantities.map(({ name, of, format, bound, textOf, isExact = ({ totals }) => totals.exact }) => {
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
 * Layers that both models have by name, those whose names differ in numbers alone as one, with the largest difference
 * first. Those that are of one model alone are not compared, but counted, and those whose time is unknown are left out.
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
  const groups = new Map<string, LayerPair[]>();
  for (const [name, one] of ofLeft) {
    const other = ofRight.get(name);
    if (other === undefined) continue;
    const key = JSON.stringify([name.replace(/\d+/g, '*'), other.type]);
    groups.set(key, [...(groups.get(key) ?? []), { one, other }]);
  }
  const missing = (here: ReadonlyMap<string, unknown>, there: ReadonlyMap<string, unknown>): number =>
    [...here.keys()].filter((name) => !there.has(name)).length;
  return {
    layers: [...groups.values()]
      .flatMap(sumOfPairs)
      .toSorted((one, other) => Math.abs(other.more) - Math.abs(one.more)),
    onlyIn: { left: missing(ofLeft, ofRight), right: missing(ofRight, ofLeft) },
  };
}

interface LayerPair {
  readonly one: LayerReport;
  readonly other: LayerReport;
}

/** One row, or none where they take as long in both. */
function sumOfPairs(pairs: readonly LayerPair[]): readonly ComparedLayer[] {
  let [left, right] = [0, 0];
  for (const { one, other } of pairs) {
    const [before, after] = [timeWithWaiting(one), timeWithWaiting(other)];
    if (before === null || after === null) return [];
    left += before;
    right += after;
  }
  const [first] = pairs;
  if (first === undefined || isRounding(left, right)) return [];
  const { type } = first.other;
  return [
    {
      name: sharedName(pairs.map(({ other }) => other.name)),
      type: pairs.length === 1 ? type : `${type} × ${pairs.length}`,
      left,
      right,
      more: right - left,
    },
  ];
}

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
}

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
