/**
 * How numbers look, decided once: three significant digits, capacities and sizes in binary units, bandwidths
 * and rates in decimal ones, times in the unit that needs no leading zeros.
 *
 * Every function takes a quantity in its base unit and gives text with its unit after one space. What is
 * unknown (`null`) is printed as `?`; a quantity that is only a lower bound gets `≥` in front, by `atLeast`.
 */

import type { Range } from './estimate.ts';
import type { Bytes, BytesPerSecond, Flops, FlopsPerSecond, Joules, Seconds } from './units.ts';

/** What stands for a value that is not known. */
const unknownText = '?';

/** `0 B`, `512 B`, `1.50 KiB`, `9.01 MiB`, `80.0 GiB`. */
export const formatBytes = (size: Bytes | null): string => withUnit(size, binaryUnits);

/** `340 GB/s`: 10^9 bytes per second, never binary. */
export const formatBandwidth = (rate: BytesPerSecond | null): string => withUnit(rate, bandwidthUnits);

/** `38.7 GFLOP`, 2 per multiply-add. */
export const formatFlops = (count: Flops | null): string => withUnit(count, flopUnits);

/** `312 TFLOP/s`. */
export const formatFlopRate = (rate: FlopsPerSecond | null): string => withUnit(rate, flopRateUnits);

/** Element-wise work: `12.6 Mop`. */
export const formatOperations = (count: number | null): string => withUnit(count, operationUnits);

/** `12.3 µs`, `1.50 ms`, `2.40 s`, `3.20 min`, `5.00 h`. */
export const formatTime = (time: Seconds | null): string => withUnit(time, timeUnits);

/** Samples (or whatever is named) per second: `1,234 samples/s`, `12.3 samples/s`. */
export const formatRate = (perSecond: number | null, what = 'samples'): string =>
  perSecond === null
    ? unknownText
    : `${perSecond >= 1000 ? formatCount(Math.round(perSecond)) : significant(perSecond)} ${what}/s`;

/** A share of 1 as a percentage: `12 %`, `2.1 %`, `0.3 %`, `< 0.1 %`. Two significant digits suffice for a share. */
export function formatPercent(share: number | null): string {
  if (share === null) return unknownText;
  const percent = share * 100;
  if (percent > 0 && percent < 0.05) return '< 0.1 %';
  // What rounds to 10.0 has two digits before the point.
  return `${Math.abs(percent) >= 9.95 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)} %`;
}

/** A count in full, thousands separated by commas: `25,557,032`. */
export function formatCount(count: number): string {
  const digits = String(Math.abs(Math.trunc(count)));
  const grouped = digits.replace(/\B(?=(\d{3})+$)/g, ',');
  return count < 0 ? `-${grouped}` : grouped;
}

/** Three significant digits, never with an exponent: `1,590`, `473`, `0.0123`. */
export const formatDigits = (number: number): string =>
  number.toLocaleString('en-US', { maximumSignificantDigits: 3 });

/** A count to three significant digits with a decimal prefix: `25.6 M`, `117 k`, `950`. */
export const formatShortCount = (count: number | null): string => withUnit(count, countUnits);

/** Half the width of a range relative to its middle: `± 9 %`. */
export function formatSpread({ low, high }: Range): string {
  const middle = (low + high) / 2;
  return `± ${middle === 0 ? '0' : (((high - low) / 2 / middle) * 100).toFixed(0)} %`;
}

/** Marks a total that holds an unknown part: `≥ 8.18 GFLOP`. One that is unknown itself bounds nothing. */
export const atLeast = (text: string, exact: boolean): string => marked('≥', text, exact);

/** What falls as an unknown part grows, such as a rate, is an upper bound. */
export const atMost = (text: string, exact: boolean): string => marked('≤', text, exact);

const marked = (sign: string, text: string, exact: boolean): string =>
  exact || text === unknownText ? text : `${sign} ${text}`;

/** Three significant digits without exponent: `8.18`, `81.8`, `818`. */
export function significant(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? '∞' : value < 0 ? '-∞' : unknownText;
  if (value === 0) return '0';
  const text = value.toPrecision(3);
  // Nearly every number is shown in a unit of its size, and is written already.
  if (value >= 1 && text.length <= 4) return text;
  const rounded = Number(text);
  const digitsBeforePoint = Math.floor(Math.log10(Math.abs(rounded))) + 1;
  return rounded.toFixed(Math.max(0, Math.min(20, 3 - digitsBeforePoint)));
}

interface Unit {
  readonly size: number;
  readonly name: string;
  /** Quantities that come in whole numbers of this unit are printed without decimals. */
  readonly whole?: true;
}

const binaryUnits: readonly Unit[] = [
  { size: 1, name: 'B', whole: true },
  { size: 2 ** 10, name: 'KiB' },
  { size: 2 ** 20, name: 'MiB' },
  { size: 2 ** 30, name: 'GiB' },
  { size: 2 ** 40, name: 'TiB' },
  { size: 2 ** 50, name: 'PiB' },
  { size: 2 ** 60, name: 'EiB' },
];

const bandwidthUnits: readonly Unit[] = [
  { size: 1e6, name: 'MB/s' },
  { size: 1e9, name: 'GB/s' },
];

const timeUnits: readonly Unit[] = [
  { size: 1e-9, name: 'ns' },
  { size: 1e-6, name: 'µs' },
  { size: 1e-3, name: 'ms' },
  { size: 1, name: 's' },
  { size: 60, name: 'min' },
  { size: 3600, name: 'h' },
];

const countUnits: readonly Unit[] = [
  { size: 1, name: '', whole: true },
  { size: 1e3, name: 'k' },
  { size: 1e6, name: 'M' },
  { size: 1e9, name: 'G' },
  { size: 1e12, name: 'T' },
  { size: 1e15, name: 'P' },
];

function decimalUnits(base: string): readonly Unit[] {
  return [
    { size: 1, name: base, whole: true },
    { size: 1e3, name: `k${base}` },
    { size: 1e6, name: `M${base}` },
    { size: 1e9, name: `G${base}` },
    { size: 1e12, name: `T${base}` },
    { size: 1e15, name: `P${base}` },
    { size: 1e18, name: `E${base}` },
    { size: 1e21, name: `Z${base}` },
    { size: 1e24, name: `Y${base}` },
  ];
}

const flopUnits = decimalUnits('FLOP');
const flopRateUnits = decimalUnits('FLOP/s');
const operationUnits = decimalUnits('op');

/** Picks the largest unit that the value, once rounded, reaches: 999.9 µs becomes 1.00 ms, not 1000 µs. */
function withUnit(value: number | null, units: readonly Unit[]): string {
  if (value === null) return unknownText;
  let chosen = units[0];
  if (chosen === undefined) return significant(value);
  if (value === 0) return `0 ${zeroUnit(units)}`.trimEnd();
  for (let index = units.length - 1; index > 0; index -= 1) {
    const candidate = units[index] ?? chosen;
    const size = Math.abs(value / candidate.size);
    // Only just below 1 does rounding decide.
    if (size >= 1 || (size > 0.99 && Number(size.toPrecision(3)) >= 1)) {
      chosen = candidate;
      break;
    }
  }
  const scaled = value / chosen.size;
  const text = chosen.whole && Number.isInteger(scaled) ? String(scaled) : significant(scaled);
  return `${text} ${chosen.name}`.trimEnd();
}

/** Nothing at all is shown in the base unit: `0 B`, `0 FLOP`, `0 s`. */
const zeroUnit = (units: readonly Unit[]): string =>
  (units.find((candidate) => candidate.size === 1) ?? units[units.length - 1])?.name ?? '';

/** Minutes, hours and days, where seconds are no longer read: `13.3 hours`. */
export function formatDuration(time: Seconds): string {
  if (time < 120) return formatTime(time);
  const [size, unit] =
    time < 2 * 3600 ? [60, 'minutes'] : time < 2 * 86400 ? [3600, 'hours'] : ([86400, 'days'] as const);
  return `${(time / size).toFixed(1)} ${unit}`;
}

/** Of a run: `8.31 kWh`, `1.20 MWh`. */
export function formatEnergy(energy: Joules): string {
  const kilowattHours = energy / 3.6e6;
  const [amount, unit] =
    kilowattHours < 1000
      ? [kilowattHours, 'kWh']
      : kilowattHours < 1e6
        ? [kilowattHours / 1e3, 'MWh']
        : [kilowattHours / 1e6, 'GWh'];
  return `${significant(amount)} ${unit}`;
}

/** US dollars: `$53.87`, `$12,400`. */
export const formatPrice = (dollars: number): string =>
  `$${dollars < 100 ? dollars.toFixed(2) : formatCount(Math.round(dollars))}`;
