/** One figure of memory decides whether a step fits, is shown by every command and by the lens, and has the same mark. */

import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test, vi } from 'vitest';
import { type Arguments, readArguments } from '../../server/src/cli/arguments.ts';
import { costModelFile, type ModelFile, openModelFile } from '../../server/src/cli/costFile.ts';
import { printData } from '../../server/src/cli/streams.ts';
import type { SweepArguments } from '../../server/src/cli/sweepArguments.ts';
import { runSweepCommand } from '../../server/src/cli/sweepCommand.ts';
import { glanceAt, limitSentence } from '../../server/src/estimate/report/glance.ts';
import { makeReport } from '../../server/src/estimate/report/makeReport.ts';
import { comparisonTable } from '../../server/src/estimate/report/renderComparison.ts';
import { renderTable } from '../../server/src/estimate/report/renderTable.ts';
import { renderScalingTable } from '../../server/src/estimate/scaling/renderScaling.ts';
import { scaleInSteps } from '../../server/src/estimate/scaling/scaleJob.ts';
import { codeLenses } from '../../server/src/language/codeLenses.ts';
import { viewLayerSpec } from '../../server/src/language/viewLayerSpec.ts';
import { formatBytes } from '../../server/src/model/format.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { finish } from '../../server/src/model/steps.ts';
import { bytes } from '../../server/src/model/units.ts';

vi.mock('../../server/src/cli/streams.ts', () => ({ printData: vi.fn(), printMessage: vi.fn() }));

const samples = resolve(import.meta.dirname, '../../samples');
const specs = readdirSync(samples)
  .filter((name) => name.endsWith('.layers.yaml'))
  .concat('more/llama-3-8b.layers.yaml');

const options = ['--cluster', 'rtx-3090', '--precision', 'bf16', '--gpus', '1'];

test.each(specs)('%s: every surface shows the memory that decides', async (name) => {
  const path = resolve(samples, name);
  const file = await openModelFile(path, read('report', path, ...options).scenario);
  if (file === undefined) throw new Error('cannot be opened');
  const { request } = read('report', path, ...options).scenario;
  const largest = costModelFile(file, { ...request, batch: 1 }).cost?.totals.memory.largestBatch ?? 0;
  // One that hangs on the places of tensors, and one that does not fit.
  const batches = [Math.max(largest, 1), 2 * largest + 2];
  const swept = JSON.parse(
    await out(read('sweep', path, ...options, '--batch', batches.join(','), '--format', 'json')),
  );
  for (const [index, batch] of batches.entries()) {
    judge(file, path, { ...request, batch }, swept[index]);
  }
});

function judge(file: ModelFile, path: string, request: ScenarioRequest, swept: unknown): void {
  const of = `batch ${request.batch}`;
  const estimate = costModelFile(file, request);
  const { cost } = estimate;
  const { analysis } = file.opened;
  if (cost === undefined || analysis === undefined) throw new Error('cannot be costed');
  const report = makeReport(file.opened, analysis, cost, []);
  const { needed, fits, capacity, peak, context } = JSON.parse(JSON.stringify(report)).totals.memory;
  expect(needed, of).toBeGreaterThanOrEqual(peak + context);
  expect(needed > capacity && fits === 'yes', of).toBe(false);
  expect(needed <= capacity && fits === 'no', of).toBe(false);
  expect(cost.fits, of).toBe(fits);

  const mark = { yes: undefined, may: 'may not fit', no: 'out of memory' }[cost.fits];
  const size = `${report.totals.exact ? '' : '≥ '}${formatBytes(bytes(needed))}`;
  const shown = mark === undefined ? size : `${mark}: ${size}`;
  const ofGpu = `of ${formatBytes(bytes(capacity))}`;
  expect(row(renderTable(report, undefined, true), 'memory'), of).toMatch(startsWith(`${shown} +${ofGpu}, `));
  expect(row(comparisonTable(report, report), 'memory'), of).toMatch(startsWith(`${shown} +${shown} `));
  const tile = glanceAt(report).find(({ name }) => name === 'peak memory');
  expect([tile?.mark?.text, tile?.value, tile?.detail.replace(/^.* % /, '')], of).toEqual([
    mark,
    size,
    ofGpu,
  ]);
  expect(limitSentence(report).startsWith('The step does not fit into memory; '), of).toBe(fits === 'no');
  const [lens] = codeLenses(viewLayerSpec(readFileSync(path, 'utf8'), estimate));
  expect(lens?.title, of).toContain(` · ${shown} ${ofGpu}`);
  expect(swept, of).toMatchObject({ memory: needed, capacity, fits });
  const scaling = finish(scaleInSteps('', [1], () => estimate));
  expect(scaling.points, of).toMatchObject([{ memory: needed, fits }]);
  expect(renderScalingTable(scaling), of).toContain(` ${shown}  `);
}

const row = (text: string, name: string): string =>
  text
    .split('\n')
    .find((line) => line.startsWith(name))
    ?.slice(name.length)
    .trimStart() ?? '';

const startsWith = (pattern: string): RegExp => new RegExp(`^${pattern.replaceAll('.', '\\.')}`);

function read<Command extends Arguments['command']>(
  command: Command,
  ...words: readonly string[]
): Extract<Arguments, { command: Command }> {
  const given = readArguments([command, ...words]);
  const isIt = (each: Arguments): each is Extract<Arguments, { command: Command }> =>
    each.command === command;
  if (given.kind === 'wrong' || !isIt(given.arguments)) throw new Error(`${command} is refused`);
  return given.arguments;
}

async function out(given: SweepArguments): Promise<string> {
  let text = '';
  vi.mocked(printData).mockImplementation((part) => {
    text += part;
  });
  await runSweepCommand(given);
  return text;
}
