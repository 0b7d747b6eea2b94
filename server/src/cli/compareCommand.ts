/** `layercost compare`: two models, two scenarios, or two revisions of a model, side by side. */

import { basename, dirname, join } from 'node:path';
import { compareLayers } from '../estimate/report/compareReports.ts';
import { comparisonPage } from '../estimate/report/comparisonPage.ts';
import { makeReport } from '../estimate/report/makeReport.ts';
import { comparisonTable } from '../estimate/report/renderComparison.ts';
import type { Report } from '../estimate/report/report.ts';
import { type SideNames, sideNames } from '../estimate/report/sideNames.ts';
import type { Issue } from '../model/issue.ts';
import type { ComparedFile, ComparisonArguments } from './comparisonArguments.ts';
import {
  costModelFile,
  failureStatus,
  openModelFile,
  printIssues,
  splitModelName,
  statusOf,
  withOptionEffects,
} from './costFile.ts';
import { openRevision } from './gitRevision.ts';
import { printMessage } from './streams.ts';
import { printOrWrite } from './writeOutput.ts';

type Given = ComparisonArguments;

export async function runCompareCommand(given: Given): Promise<number> {
  const { base, left } = given;
  if (base === undefined) return compareSides(given, left);
  const { path } = splitModelName(left.file);
  const opened = openRevision(dirname(path), base);
  if (opened.kind === 'failed') {
    printMessage(`layercost: --base ${base}: ${opened.message}`);
    return 2;
  }
  const { revision } = opened;
  try {
    const file = join(revision.folder, basename(path)) + left.file.slice(path.length);
    return await compareSides(given, { ...left, file }, { left: base, right: 'now' });
  } finally {
    revision.close();
  }
}

/** `revisions` are what the sides are called where they are one file at two times. */
async function compareSides(given: Given, before: ComparedFile, revisions?: SideNames): Promise<number> {
  const one = await costSide(before);
  const other = await costSide(given.right);
  if (typeof one !== 'number') printIssues(before.file, withoutDimensionsOf(one, other));
  if (typeof other !== 'number') printIssues(given.right.file, withoutDimensionsOf(other, one));
  if (typeof one === 'number') return one;
  if (typeof other === 'number') return other;
  const [left, right] = [one.report, other.report];
  const names = revisions ?? sideNames(left, right, { left: before.file, right: given.right.file });
  if (!printOrWrite(given.output, render[given.format](left, right, names))) return 1;
  return one.status === 0 ? other.status : one.status;
}

const render: Readonly<Record<Given['format'], (left: Report, right: Report, names: SideNames) => string>> = {
  table: comparisonTable,
  json: (left, right) =>
    `${JSON.stringify({ left, right, layers: compareLayers(left, right).layers }, null, 2)}\n`,
  html: comparisonPage,
};

interface Side {
  readonly report: Report;
  readonly status: 0 | 1;
  readonly issues: readonly Issue[];
  readonly dimensions: readonly string[];
}

/** Both sides are given a dimension that one of them has: that the other lacks it is no mistake. */
function withoutDimensionsOf(side: Side, other: Side | number): readonly Issue[] {
  const others = typeof other === 'number' ? [] : other.dimensions;
  const names = others.filter((name) => !side.dimensions.includes(name));
  return side.issues.filter(
    ({ scenarioKey, severity, message }) =>
      scenarioKey !== 'dimensions' ||
      severity === 'error' ||
      !names.some((name) => message.includes(`\`${name}\``)),
  );
}

/** The report of one side, or the exit status where it has none. */
async function costSide({ file, scenario }: ComparedFile): Promise<Side | 1 | 2> {
  const opened = await openModelFile(file, scenario);
  if (opened === undefined) return 1;
  const estimate = withOptionEffects(costModelFile(opened, scenario.request), opened);
  const { cost, costed, training, issues } = estimate;
  if (cost === undefined || training === undefined || !costed) {
    printIssues(file, issues);
    return failureStatus(opened, scenario.request);
  }
  const { symbols } = training.analysis;
  const dims = opened.opened.selectedModel?.dims ?? [];
  return {
    report: makeReport(opened.opened, training.analysis, cost, issues),
    status: statusOf(cost.totals, issues),
    issues,
    dimensions: [...symbols.map(({ name }) => name), ...dims.map(({ name }) => name.text)],
  };
}
