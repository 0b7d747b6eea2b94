/** `layercost sweep`: one row for each combination of the listed options, to choose from. */

import type { ModelEstimate } from '../estimate/estimateModel.ts';
import { type Column, layoutColumns } from '../estimate/report/columns.ts';
import { type CsvColumn, csvOf } from '../estimate/report/csv.ts';
import { atLeast, atMost, formatBytes, formatPercent, formatRate, formatTime } from '../model/format.ts';
import { gpuMemory } from '../model/gpuMemory.ts';
import type { Issue } from '../model/issue.ts';
import type { Fit } from '../model/stepCost.ts';
import { type Bytes, bytes, type Seconds } from '../model/units.ts';
import { costModelFile, failureStatus, printIssues, withOptionEffects } from './costFile.ts';
import type { ListedCase } from './listedOptions.ts';
import { openedCases } from './openedCases.ts';
import type { SweepArguments } from './sweepArguments.ts';
import { printOrWrite } from './writeOutput.ts';

/** What one combination comes to; null where it cannot be costed. */
interface SweepRow {
  readonly values: ListedCase['values'];
  readonly step: Seconds | null;
  readonly throughput: number | null;
  readonly tokens: number | null;
  readonly exposed: Seconds | null;
  readonly mfu: number | null;
  readonly memory: Bytes | null;
  readonly capacity: Bytes | null;
  readonly fits: Fit | null;
  readonly exact: boolean;
}

export async function runSweepCommand(given: SweepArguments): Promise<number> {
  const issues: Issue[][] = [];
  const rows: SweepRow[] = [];
  let status = 0;
  const open = openedCases(given.file);
  for (const each of given.cases) {
    const file = await open(each.scenario);
    if (file === undefined) return 1;
    const estimate = withOptionEffects(costModelFile(file, each.scenario.request), file);
    issues.push([...estimate.issues]);
    if (estimate.cost === undefined) status = failureStatus(file, each.scenario.request);
    rows.push(rowOf(each, estimate));
  }
  printIssues(given.file, issuesOfRows(given, issues));
  if (rows.every(({ step }) => step === null)) return status;
  return printOrWrite(given.output, render(given, rows)) ? status : 1;
}

/** What is said of any row, once. That an option has no effect is said where no row with its value shows one. */
function issuesOfRows({ cases }: SweepArguments, issues: readonly (readonly Issue[])[]): readonly Issue[] {
  const keyOf = ({ code, message }: Issue): string => `${code} ${message}`;
  const keys = issues.map((each) => new Set(each.map(keyOf)));
  const isSaidOfAll = (issue: Issue, values: ListedCase['values']): boolean => {
    const option = optionOf(issue);
    return keys.every((said, row) => said.has(keyOf(issue)) || cases[row]?.values[option] !== values[option]);
  };
  const shown = new Map<string, Issue>();
  for (const [row, { values }] of cases.entries()) {
    for (const issue of issues[row] ?? []) {
      if (issue.code === 'scenario/no-effect' && !isSaidOfAll(issue, values)) continue;
      shown.set(keyOf(issue), issue);
    }
  }
  return [...shown.values()];
}

/** The option of the command line that an issue is about, as lists are named. */
const optionOf = ({ scenarioKey, scenarioPart }: Issue): string =>
  scenarioKey === 'dimensions'
    ? `dim-${scenarioPart}`
    : (scenarioKey ?? '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function rowOf({ values }: ListedCase, { cost }: ModelEstimate): SweepRow {
  const totals = cost?.totals;
  const memory = cost === undefined ? undefined : gpuMemory(cost);
  const perSample = totals?.tokensPerSample;
  const throughput = totals?.throughput ?? null;
  return {
    values,
    step: totals?.time.step ?? null,
    throughput,
    tokens: throughput === null || perSample === undefined ? null : throughput * perSample,
    exposed: totals?.time.exposedCommunication ?? null,
    mfu: totals?.mfu ?? null,
    memory: memory?.needed ?? null,
    capacity: memory?.capacity ?? null,
    fits: memory?.fits ?? null,
    exact: totals?.time.exact === true && totals.exact,
  };
}

function render({ format, swept }: SweepArguments, rows: readonly SweepRow[]): string {
  if (format === 'csv') return csvOf([...swept.map(valueColumn), ...csvColumns], rows);
  if (format === 'json') {
    return `${JSON.stringify(
      rows.map(({ values, ...numbers }) => ({ ...plain(values), ...numbers })),
      null,
      2,
    )}\n`;
  }
  const hasTokens = rows.some(({ tokens }) => tokens !== null);
  const columns = tableColumns.filter(({ title }) => title !== 'tokens' || hasTokens);
  const own = swept.map((title) => ({
    title,
    align: 'right' as const,
    cell: (row: SweepRow) => row.values[title] ?? '',
  }));
  const all = [...own, ...columns];
  return `${layoutColumns(
    all,
    rows.map((row) => all.map(({ cell }) => cell(row))),
  ).join('\n')}\n`;
}

/** Numbers as numbers. */
const plain = (values: SweepRow['values']): Readonly<Record<string, string | number>> =>
  Object.fromEntries(
    Object.entries(values).map(([name, text]) => [name, /^\d+$/.test(text) ? Number(text) : text]),
  );

const valueColumn = (option: string): CsvColumn<SweepRow> => [
  option.replaceAll('-', '_'),
  ({ values }) => values[option] ?? null,
];

const fitTexts: Readonly<Record<Fit, string>> = { yes: 'fits', may: 'may not fit', no: 'out of memory' };

const tableColumns: readonly (Column & { readonly cell: (row: SweepRow) => string })[] = [
  {
    title: 'step',
    align: 'right',
    cell: ({ step, exact }) => atLeast(formatTime(step), exact),
  },
  {
    title: 'throughput',
    align: 'right',
    cell: ({ throughput, exact }) => atMost(formatRate(throughput), exact),
  },
  { title: 'tokens', align: 'right', cell: ({ tokens }) => formatRate(tokens, 'tokens') },
  { title: 'exposed', align: 'right', cell: ({ exposed }) => formatTime(exposed) },
  { title: 'MFU', align: 'right', cell: ({ mfu }) => formatPercent(mfu) },
  {
    title: 'memory',
    align: 'right',
    cell: ({ memory, exact }) => (memory === null ? '?' : atLeast(formatBytes(bytes(memory)), exact)),
  },
  { title: 'of', align: 'right', cell: ({ capacity }) => (capacity === null ? '?' : formatBytes(capacity)) },
  { title: '', align: 'left', cell: ({ fits }) => (fits === null ? '?' : fitTexts[fits]) },
];

/** In base units. Where `exact` is false, times and memory are lower bounds. */
const csvColumns: readonly CsvColumn<SweepRow>[] = [
  ['step_s', ({ step }) => step],
  ['throughput_per_s', ({ throughput }) => throughput],
  ['tokens_per_s', ({ tokens }) => tokens],
  ['exposed_communication_s', ({ exposed }) => exposed],
  ['mfu', ({ mfu }) => mfu],
  ['memory_bytes', ({ memory }) => memory],
  ['capacity_bytes', ({ capacity }) => capacity],
  ['fits', ({ fits }) => fits],
  ['exact', ({ exact }) => String(exact)],
];
