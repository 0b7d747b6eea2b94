/**
 * Rates of kernels by kind, fitted to timings that hold several kernels each.
 *
 * Weighted non-negative least squares by coordinate descent (Franc, Hlaváč, Navara, "Sequential coordinate-wise algorithm for
 * the non-negative least squares problem", CAIP 2005). A timing counts by 1/√t, so that neither the many short nor the
 * few long ones decide alone; timings that are far off, as when other work ran, count less, by the square of how far.
 *
 * A layer that is timed alone starts Python's call, or autograd, which a step starts once: a time for each timing of a pass,
 * which no kernel has.
 */

import type { KernelRates } from '../../hardware/kernelRates.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { measuredKind } from '../../hardware/measuredKernels.ts';
import { type Seconds, seconds } from '../../model/units.ts';

/** What one timing was of. Without kernels it says what starting it takes. */
export interface KernelTiming {
  readonly kernels: readonly KernelWork[];
  readonly time: Seconds;
  /** A pass of a layer alone, or a part of a step. */
  readonly of: 'forward' | 'backward' | 'step';
}

const quantities = ['flops', 'bytes', 'launches'] as const;
/** Relative error from which a timing counts less. */
const farOff = 0.3;
const rounds = 10;
const sweeps = 400;

/** By kind; timings of no time say nothing. For a machine whose kernels no profile knows, such as a processor. */
export function fitKernels(timings: readonly KernelTiming[]): ReadonlyMap<string, KernelRates> {
  const rows = timings.filter(({ time }) => time > 0).map(rowOf);
  const columns = columnsOf(rows);
  let weights = rows.map(({ time }) => 1 / Math.sqrt(time));
  let rates = new Map<string, number>();
  for (let round = 0; round < rounds; round += 1) {
    rates = leastSquares(rows, columns, weights);
    const fitted = rates;
    weights = rows.map((row) => {
      const error = Math.abs(sumOf(row, fitted) / row.time - 1);
      return Math.min(1, farOff / error) / Math.sqrt(row.time);
    });
  }
  return ratesByKind(rows, rates);
}

interface Row {
  readonly time: number;
  /** By kind and quantity. */
  readonly amounts: ReadonlyMap<string, number>;
  readonly kinds: ReadonlySet<string>;
}

/** Launches take the host the same time whatever they launch; a time of each kind would make up for what sizes explain. */
const keyOf = (kind: string, quantity: (typeof quantities)[number]): string =>
  quantity === 'launches' ? quantity : `${kind}/${quantity}`;

function rowOf({ kernels, time, of }: KernelTiming): Row {
  const amounts = new Map(of === 'step' ? [] : [[`start of ${of}`, 1]]);
  for (const work of kernels) {
    for (const quantity of quantities) {
      const key = keyOf(measuredKind(work), quantity);
      const before = amounts.get(key);
      if (work[quantity] > 0)
        amounts.set(key, before === undefined ? work[quantity] : before + work[quantity]);
    }
  }
  return { time, amounts, kinds: new Set(kernels.map(measuredKind)) };
}

type Columns = ReadonlyMap<string, readonly (readonly [row: number, amount: number])[]>;

function columnsOf(rows: readonly Row[]): Columns {
  const columns = new Map<string, (readonly [number, number])[]>();
  for (const [index, { amounts }] of rows.entries()) {
    for (const [key, amount] of amounts) {
      const column = columns.get(key);
      if (column === undefined) columns.set(key, [[index, amount]]);
      else column.push([index, amount]);
    }
  }
  return columns;
}

function leastSquares(
  rows: readonly Row[],
  columns: Columns,
  weights: readonly number[],
): Map<string, number> {
  const rates = new Map([...columns.keys()].map((key) => [key, 0]));
  const residual = Float64Array.from(rows, ({ time }) => time);
  const squares = weights.map((weight) => weight * weight);
  for (let sweep = 0; sweep < sweeps; sweep += 1) {
    for (const [key, column] of columns) {
      const before = rates.get(key) ?? Number.NaN;
      let [along, length] = [0, 0];
      for (const [row, amount] of column) {
        const square = squares[row] ?? Number.NaN;
        along += square * amount * (residual[row] ?? Number.NaN);
        length += square * amount * amount;
      }
      const after = Math.max(0, before + along / length);
      if (after === before) continue;
      for (const [row, amount] of column)
        residual[row] = (residual[row] ?? Number.NaN) - (after - before) * amount;
      rates.set(key, after);
    }
  }
  return rates;
}

const sumOf = ({ amounts }: Row, rates: ReadonlyMap<string, number>): number => {
  let sum = 0;
  for (const [key, amount] of amounts) sum += amount * (rates.get(key) ?? Number.NaN);
  return sum;
};

function ratesByKind(
  rows: readonly Row[],
  rates: ReadonlyMap<string, number>,
): ReadonlyMap<string, KernelRates> {
  const ratios = new Map<string, Ratio[]>();
  for (const row of rows) {
    const fitted = sumOf(row, rates);
    for (const kind of row.kinds) {
      const own = ratios.get(kind) ?? [];
      if (fitted > 0) own.push({ ratio: row.time / fitted, time: row.time });
      ratios.set(kind, own);
    }
  }
  const found = new Map<string, KernelRates>();
  for (const [kind, own] of ratios) {
    // A kind that never had any of a quantity needs no time for it.
    const rateOf = (quantity: (typeof quantities)[number]): Seconds => {
      const rate = rates.get(keyOf(kind, quantity));
      return seconds(rate === undefined ? 0 : rate);
    };
    const [perFlop, perByte, perLaunch] = [rateOf('flops'), rateOf('bytes'), rateOf('launches')];
    // A kind that always ran beside a longer one was not seen.
    if (perFlop + perByte + perLaunch === 0 || own.length === 0) continue;
    const [low, high] = [quantile(own, 0.1), quantile(own, 0.9)];
    found.set(kind, {
      perFlop,
      perByte,
      perLaunch,
      low,
      high,
      measurements: own.length,
    });
  }
  return found;
}

interface Ratio {
  /** Measured over fitted. */
  readonly ratio: number;
  readonly time: number;
}

/** By time: many short timings that are far off say little of a step. */
function quantile(ratios: readonly Ratio[], share: number): number {
  const sorted = ratios.toSorted((one, other) => one.ratio - other.ratio);
  let left = share * sorted.reduce((sum, { time }) => sum + time, 0);
  for (const { ratio, time } of sorted) {
    left -= time;
    if (left <= 0) return ratio;
  }
  return sorted.at(-1)?.ratio ?? Number.NaN;
}
