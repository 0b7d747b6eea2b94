/** `layercost scale`: step time, throughput, efficiency, memory and what limits them, by number of GPUs. */

import { type Column, layoutColumns } from '../estimate/report/columns.ts';
import { type ScalingPoint, scalingCurve } from '../estimate/scalingCurve.ts';
import {
  atLeast,
  atMost,
  formatBytes,
  formatDuration,
  formatPercent,
  formatPrice,
  formatRate,
  formatTime,
  significant,
} from '../model/format.ts';
import type { Issue } from '../model/issue.ts';
import type { ScenarioRequest } from '../model/scenario.ts';
import type { StepCost, StepLimit } from '../model/stepCost.ts';
import type { Arguments } from './arguments.ts';
import { costModelFile, failureStatus, type ModelFile, openModelFile, printIssues } from './costFile.ts';
import { printData } from './streams.ts';

/** Points that cannot be costed are left out after saying why; the others are printed all the same. */
export async function runScaleCommand(given: Extract<Arguments, { command: 'scale' }>): Promise<number> {
  const file = await openModelFile(given.file, given.scenario);
  if (file === undefined) return 1;
  const costs: StepCost[] = [];
  let status = 0;
  const seen = new Set<string>();
  for (const gpus of given.gpus) {
    const { cost, costed, issues } = costModelFile(file, { ...given.scenario.request, gpus });
    printIssues(
      given.file,
      issues.filter((issue) => isNew(issue, seen)),
    );
    if (cost === undefined || !costed) status = failureStatus(file, { ...given.scenario.request, gpus });
    else costs.push(cost);
  }
  if (costs.length === 0) return status;
  const alone = oneGpuOf(file, given.scenario.request, costs);
  const curve = scalingCurve(costs, alone);
  printData(
    given.format === 'json' ? `${JSON.stringify(curve, null, 2)}\n` : table(curve, alone !== undefined),
  );
  return status;
}

/** Where the batch over all GPUs is what is kept: one GPU that takes it whole. */
function oneGpuOf(
  file: ModelFile,
  request: ScenarioRequest,
  [first]: readonly StepCost[],
): StepCost | undefined {
  if (first?.scenario.globalBatch === undefined) return undefined;
  const { nodes: _, ...asked } = request;
  return first.scenario.gpus === 1 ? first : costModelFile(file, { ...asked, gpus: 1 }).cost;
}

/** The same model gives the same issues at every point of the curve: each is printed once. */
function isNew(issue: Issue, seen: Set<string>): boolean {
  const key = `${issue.code} ${issue.message}`;
  if (seen.has(key)) return false;
  seen.add(key);
  return true;
}

function table(curve: readonly ScalingPoint[], isStrong: boolean): string {
  const hasRun = curve.some(({ runTime }) => runTime !== null);
  const hasPrice = curve.some(({ runPrice }) => runPrice !== null);
  const right = (title: string): Column => ({ title, align: 'right' });
  const columns: readonly Column[] = [
    right('GPUs'),
    right('nodes'),
    ...(isStrong ? [right('batch per GPU')] : []),
    right('step'),
    right('communication'),
    right('exposed'),
    right('throughput'),
    ...(isStrong ? [right('speed-up')] : []),
    right('efficiency'),
    right('memory'),
    ...(hasRun ? [right('run')] : []),
    ...(hasPrice ? [right('price')] : []),
    { title: 'limit', align: 'left' },
  ];
  const rows = curve.map((point) => [
    String(point.gpus),
    String(point.nodes),
    ...(isStrong ? [String(point.batchPerGpu)] : []),
    atLeast(formatTime(point.step), point.exact),
    formatTime(point.communication),
    formatTime(point.exposedCommunication),
    atMost(formatRate(point.throughput), point.exact),
    ...(isStrong ? [point.speedup === null ? '?' : `${significant(point.speedup)} ×`] : []),
    formatPercent(point.scalingEfficiency),
    atLeast(formatBytes(point.memory), point.memoryExact),
    ...(hasRun
      ? [point.runTime === null ? '?' : atLeast(formatDuration(point.runTime), point.runExact)]
      : []),
    ...(hasPrice
      ? [point.runPrice === null ? '?' : atLeast(formatPrice(point.runPrice), point.runExact)]
      : []),
    point.fits === 'no' ? 'out of memory' : point.exact ? limitText(point.limit) : '?',
  ]);
  return `${layoutColumns(columns, rows).join('\n')}\n`;
}

const limitText = ({ kind, share }: StepLimit): string =>
  kind === 'compute' ? kind : `${limitNames[kind]}, ${formatPercent(share)} of the step`;

const limitNames: Readonly<Record<Exclude<StepLimit['kind'], 'compute'>, string>> = {
  host: 'host launches',
  input: 'input',
  latency: 'start-up of messages',
  communication: 'bandwidth of messages',
  server: 'parameter servers',
  imbalance: 'slowest worker',
};
