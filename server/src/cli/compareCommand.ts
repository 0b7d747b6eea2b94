/** `layercost compare`: two models, or two scenarios, side by side. */

import { type Column, layoutColumns } from '../estimate/report/columns.ts';
import { describeScenario } from '../estimate/report/describeScenario.ts';
import { makeReport } from '../estimate/report/makeReport.ts';
import type { Report } from '../estimate/report/report.ts';
import { describeModel, hasAllWeights } from '../estimate/report/summary.ts';
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
import {
  costModelFile,
  failureStatus,
  openModelFile,
  printIssues,
  statusOf,
  withOptionEffects,
} from './costFile.ts';
import { printData } from './streams.ts';

export async function runCompareCommand(given: Extract<Arguments, { command: 'compare' }>): Promise<number> {
  const one = await costSide(given.left);
  const other = await costSide(given.right);
  if (typeof one === 'number') return one;
  if (typeof other === 'number') return other;
  const [left, right] = [one.report, other.report];
  printData(given.format === 'json' ? `${JSON.stringify({ left, right }, null, 2)}\n` : table(left, right));
  return one.status === 0 ? other.status : one.status;
}

/** The report of one side, or the exit status where it has none. */
async function costSide({
  file,
  scenario,
}: ComparedFile): Promise<{ readonly report: Report; readonly status: 0 | 1 } | 1 | 2> {
  const opened = await openModelFile(file, scenario);
  if (opened === undefined) return 1;
  const estimate = withOptionEffects(costModelFile(opened, scenario.request), opened);
  const { cost, costed, training, issues } = estimate;
  if (cost === undefined || training === undefined || !costed) {
    printIssues(file, issues);
    return failureStatus(opened, scenario.request);
  }
  printIssues(file, issues);
  return {
    report: makeReport(opened.opened, training.analysis, cost, issues),
    status: statusOf(cost.totals, issues),
  };
}

interface Quantity {
  readonly name: string;
  readonly of: (report: Report) => number | null;
  readonly format: (value: number) => string;
  /** What an unknown part makes of it: more work or input adds to it, or takes from it; left out, nothing. */
  readonly bound?: 'at least' | 'at most';
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
  { name: 'memory', of: ({ totals }) => totals.memory.peak, format: sizeOf, bound: 'at least' },
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

const columns: readonly Column[] = [
  { title: '', align: 'left' },
  { title: 'left', align: 'right' },
  { title: 'right', align: 'right' },
  { title: 'right / left', align: 'right' },
];

function table(left: Report, right: Report): string {
  const rows = quantities.map(({ name, of, format, bound, isExact = ({ totals }) => totals.exact }) => {
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
