/** `layercost compare`: two models, or two scenarios, side by side. */

import { type Column, layoutColumns } from '../estimate/report/columns.ts';
import { describeScenario } from '../estimate/report/describeScenario.ts';
import { makeReport } from '../estimate/report/makeReport.ts';
import type { Report } from '../estimate/report/report.ts';
import { describeModel } from '../estimate/report/summary.ts';
import {
  atLeast,
  atMost,
  formatBytes,
  formatFlops,
  formatPercent,
  formatRate,
  formatShortCount,
  formatTime,
  significant,
} from '../model/format.ts';
import { bytes, flops, seconds } from '../model/units.ts';
import type { Arguments } from './arguments.ts';
import type { ComparedFile } from './comparisonArguments.ts';
import { costModelFile, failureStatus, openModelFile, printIssues } from './costFile.ts';
import { printData } from './streams.ts';

export async function runCompareCommand(given: Extract<Arguments, { command: 'compare' }>): Promise<number> {
  const left = await reportOf(given.left);
  const right = await reportOf(given.right);
  if (typeof left === 'number') return left;
  if (typeof right === 'number') return right;
  printData(given.format === 'json' ? `${JSON.stringify({ left, right }, null, 2)}\n` : table(left, right));
  return 0;
}

/** The report of one side, or the exit status where it has none. */
async function reportOf({ file, scenario }: ComparedFile): Promise<Report | 1 | 2> {
  const opened = await openModelFile(file, scenario);
  if (opened === undefined) return 1;
  const { cost, costed, training, issues } = costModelFile(opened, scenario.request);
  if (cost === undefined || training === undefined || !costed) {
    printIssues(file, issues);
    return failureStatus(opened, scenario.request);
  }
  printIssues(file, issues);
  return makeReport(opened.opened, training.analysis, cost, issues);
}

interface Quantity {
  readonly name: string;
  readonly of: (report: Report) => number | null;
  readonly format: (value: number) => string;
  /** What an unknown part makes of it: more work or input adds to it, or takes from it; left out, nothing. */
  readonly bound?: 'at least' | 'at most';
  /** Of the step: unknown input makes it a bound too. */
  readonly isOfStep?: true;
}

const timeOf = (value: number): string => formatTime(seconds(value));
const sizeOf = (value: number): string => formatBytes(bytes(value));
const workOf = (value: number): string => formatFlops(flops(value));

const quantities: readonly Quantity[] = [
  { name: 'parameters', of: ({ model }) => model.parameters, format: formatShortCount },
  { name: 'forward FLOPs', of: ({ totals }) => totals.flops.forward, format: workOf, bound: 'at least' },
  { name: 'backward FLOPs', of: ({ totals }) => totals.flops.backward, format: workOf, bound: 'at least' },
  {
    name: 'step',
    of: ({ totals }) => totals.time.step,
    format: timeOf,
    bound: 'at least',
    isOfStep: true,
  },
  { name: 'forward', of: ({ totals }) => totals.time.forward, format: timeOf, bound: 'at least' },
  { name: 'backward', of: ({ totals }) => totals.time.backward, format: timeOf, bound: 'at least' },
  { name: 'update', of: ({ totals }) => totals.time.update, format: timeOf },
  { name: 'communication', of: ({ totals }) => totals.time.communication, format: timeOf },
  { name: 'exposed', of: ({ totals }) => totals.time.exposedCommunication, format: timeOf },
  { name: 'memory', of: ({ totals }) => totals.memory.peak, format: sizeOf, bound: 'at least' },
  { name: 'activations', of: ({ totals }) => totals.memory.activations, format: sizeOf, bound: 'at least' },
  {
    name: 'throughput',
    of: ({ totals }) => totals.throughput,
    format: (value) => formatRate(value),
    bound: 'at most',
    isOfStep: true,
  },
  { name: 'efficiency', of: ({ totals }) => totals.scalingEfficiency, format: formatPercent },
  { name: 'MFU', of: ({ totals }) => totals.mfu, format: formatPercent },
];

const columns: readonly Column[] = [
  { title: '', align: 'left' },
  { title: 'left', align: 'right' },
  { title: 'right', align: 'right' },
  { title: 'right / left', align: 'right' },
];

function table(left: Report, right: Report): string {
  const rows = quantities.map(({ name, of, format, bound, isOfStep }) => {
    const isExact = ({ totals }: Report): boolean => (isOfStep ? totals.time.exact : totals.exact);
    const cell = (report: Report): string => {
      const value = of(report);
      if (value === null) return '?';
      if (bound === undefined) return format(value);
      return (bound === 'at most' ? atMost : atLeast)(format(value), isExact(report));
    };
    return [name, cell(left), cell(right), ratio(of(left), of(right), isExact(left) && isExact(right))];
  });
  const side = (name: string, report: Report): string =>
    `${name.padEnd(6)} ${describeModel(report)}\n       ${describeScenario(report)}`;
  return `${side('left', left)}\n${side('right', right)}\n\n${layoutColumns(columns, rows).join('\n')}\n`;
}

/** The ratio of two lower bounds says nothing. */
function ratio(left: number | null, right: number | null, exact: boolean): string {
  if (left === null || right === null || left === 0 || !exact) return '';
  return `${significant(right / left)}×`;
}
