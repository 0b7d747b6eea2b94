/** `layercost collectives`: times the collectives of torch.distributed over the GPUs of this machine, by size. */

import { busBandwidth, type MeasuredCollectives, runCollectives } from '../benchmark/runCollectives.ts';
import type { RunnerOutcome } from '../benchmark/runnerOptions.ts';
import { savedCollectives } from '../benchmark/savedCollectives.ts';
import { layoutColumns } from '../estimate/report/columns.ts';
import { formatBytes, formatTime, significant } from '../model/format.ts';
import { bytes } from '../model/units.ts';
import { keepCollectives } from '../node/collectivesFile.ts';
import { thisMachine, workspaceOf } from '../node/resultFiles.ts';
import type { CollectivesArguments } from './benchmarkArguments.ts';
import { runWithProgress } from './runWithProgress.ts';
import { printData, printMessage } from './streams.ts';

const budgetSeconds = 60;

export async function runCollectivesCommand(given: CollectivesArguments): Promise<number> {
  const { measurements, failure } = await measureCollectives(workspaceOf('.'), given, budgetSeconds);
  if (measurements === undefined) return 1;
  printData(given.format === 'json' ? json(measurements) : table(measurements, given.ranks));
  return failure === undefined ? 0 : 1;
}

/** Times collectives over `ranks` GPUs and keeps them in the workspace. What went wrong is printed. */
export async function measureCollectives(
  workspace: string,
  given: Omit<CollectivesArguments, 'command' | 'format'>,
  seconds: number,
): Promise<RunnerOutcome<MeasuredCollectives>> {
  const outcome = await runWithProgress(given, (options) =>
    runCollectives({ ...options, ranks: given.ranks, budgetSeconds: seconds }),
  );
  const { measurements } = outcome;
  if (measurements === undefined) return outcome;
  const saved = savedCollectives(measurements, measurements.reached ?? thisMachine(), new Date());
  const kept = keepCollectives(workspace, saved);
  printMessage(
    'path' in kept
      ? `kept ${kept.path}: layercost calibrate takes the link from it`
      : `layercost: ${kept.problem}`,
  );
  return outcome;
}

function table({ device, rows, notes }: MeasuredCollectives, ranks: number): string {
  const lines = layoutColumns(
    [
      { title: 'collective', align: 'left' },
      { title: 'size', align: 'right' },
      { title: 'time', align: 'right' },
      { title: 'quartiles', align: 'right' },
      { title: 'bus bandwidth', align: 'right' },
    ],
    rows.map((row) => [
      row.operation,
      formatBytes(bytes(row.bytes)),
      formatTime(row.median),
      `${formatTime(row.low)} to ${formatTime(row.high)}`,
      `${significant(busBandwidth(row) / 1e9)} GB/s`,
    ]),
  );
  return [
    `measured on ${ranks} × ${device.name}, torch ${device.torch}`,
    '',
    ...lines,
    ...notes.map((note) => `note: ${note}`),
    '',
  ].join('\n');
}

const json = ({ device, rows, notes }: MeasuredCollectives): string =>
  `${JSON.stringify({ device, collectives: rows.map((row) => ({ ...row, busBandwidth: busBandwidth(row) })), notes }, null, 2)}\n`;
