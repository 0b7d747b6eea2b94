/** `layercost scale`: step time, throughput and efficiency by number of GPUs. */

import { type Column, layoutColumns } from '../estimate/report/columns.ts';
import { atLeast, atMost, formatPercent, formatRate, formatTime } from '../model/format.ts';
import type { Issue } from '../model/issue.ts';
import type { StepCost } from '../model/stepCost.ts';
import type { Arguments } from './arguments.ts';
import { costModelFile, failureStatus, openModelFile, printIssues } from './costFile.ts';
import { printData } from './streams.ts';

export async function runScaleCommand(given: Extract<Arguments, { command: 'scale' }>): Promise<number> {
  const file = await openModelFile(given.file, given.scenario);
  if (file === undefined) return 1;
  const costs: StepCost[] = [];
  const seen = new Set<string>();
  for (const gpus of given.gpus) {
    const { cost, costed, issues } = costModelFile(file, { ...given.scenario.request, gpus });
    printIssues(
      given.file,
      issues.filter((issue) => isNew(issue, seen)),
    );
    if (cost === undefined || !costed) return failureStatus(file, given.scenario.request);
    costs.push(cost);
  }
  printData(given.format === 'json' ? `${JSON.stringify(costs.map(point), null, 2)}\n` : table(costs));
  return 0;
}

/** The same model gives the same issues at every point of the curve: each is printed once. */
function isNew(issue: Issue, seen: Set<string>): boolean {
  const key = `${issue.code} ${issue.message}`;
  if (seen.has(key)) return false;
  seen.add(key);
  return true;
}

const columns: readonly Column[] = [
  { title: 'GPUs', align: 'right' },
  { title: 'nodes', align: 'right' },
  { title: 'step', align: 'right' },
  { title: 'communication', align: 'right' },
  { title: 'exposed', align: 'right' },
  { title: 'throughput', align: 'right' },
  { title: 'efficiency', align: 'right' },
];

function table(costs: readonly StepCost[]): string {
  const rows = costs.map(({ scenario, totals }) => [
    String(scenario.gpus),
    String(scenario.nodes),
    atLeast(formatTime(totals.time.step), totals.exact),
    formatTime(totals.time.communication),
    formatTime(totals.time.exposedCommunication),
    atMost(formatRate(totals.throughput), totals.exact),
    formatPercent(totals.scalingEfficiency),
  ]);
  return `${layoutColumns(columns, rows).join('\n')}\n`;
}

const point = ({ scenario, totals }: StepCost) => ({
  gpus: scenario.gpus,
  nodes: scenario.nodes,
  step: totals.time.step,
  communication: totals.time.communication,
  exposedCommunication: totals.time.exposedCommunication,
  throughput: totals.throughput,
  scalingEfficiency: totals.scalingEfficiency,
  exact: totals.exact,
});
