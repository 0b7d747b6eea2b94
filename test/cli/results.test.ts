/** `layercost results` as a shell sees it, over results that are written as a benchmark writes them. */

import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { planBenchmark } from '../../server/src/benchmark/planBenchmark.ts';
import { readArguments } from '../../server/src/cli/arguments.ts';
import { costModelFile, openModelFile } from '../../server/src/cli/costFile.ts';
import { runResultsCommand } from '../../server/src/cli/resultsCommand.ts';
import { printData, printMessage } from '../../server/src/cli/streams.ts';
import { keepResult } from '../../server/src/node/keepResult.ts';
import { readResults } from '../../server/src/node/resultFiles.ts';
import { measurements } from '../benchmark/measurements.ts';

vi.mock('../../server/src/cli/streams.ts', () => ({ printData: vi.fn(), printMessage: vi.fn() }));

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'layercost-results-')));
const model = join(folder, 'net.layers.yaml');
const spec = `inputs:
  x: float32[batch, 64]
layers:
  - fc: Linear(64, 32)
  - act: ReLU()
`;

async function run(...words: string[]): Promise<{ status: number; out: string; err: string }> {
  const read = readArguments(['results', ...words]);
  if (read.kind === 'wrong') return { status: 2, out: '', err: read.message };
  let out = '';
  let err = '';
  vi.mocked(printData).mockImplementation((text) => {
    out += text;
  });
  vi.mocked(printMessage).mockImplementation((line) => {
    err += `${line}\n`;
  });
  if (read.arguments.command !== 'results') throw new Error('another command');
  return { status: await runResultsCommand(read.arguments), out, err };
}

async function measure(batch: number): Promise<string> {
  const request = { batch };
  const file = await openModelFile(model, {
    request,
    clusterFile: undefined,
    frameworkFile: undefined,
    layerTrace: undefined,
  });
  const { training, scenario } = file === undefined ? {} : costModelFile(file, request);
  if (training === undefined || scenario === undefined) throw new Error('not costed');
  const plan = planBenchmark(training, scenario);
  const kept = keepResult({ path: model, plan, scenario, outcome: { measurements } });
  if (kept === undefined || !('path' in kept)) throw new Error('not kept');
  const id = readResults(folder).results.find(({ path }) => path === kept.path)?.id;
  if (id === undefined) throw new Error('not read');
  return id;
}

let small = '';
let large = '';
beforeAll(async () => {
  mkdirSync(join(folder, '.git'));
  writeFileSync(model, spec);
  small = await measure(4);
  large = await measure(8);
});
afterAll(() => rmSync(folder, { recursive: true }));

const states = (out: string): readonly string[] =>
  out.split('\n').flatMap((line) => /\b(current|stale: .*)$/.exec(line)?.[1] ?? []);

it('says of each result whether it is of the model as it is now, in the scenario', async () => {
  const { status, out } = await run(model, '--batch', '8');
  expect(status).toBe(0);
  expect(out).toContain('Fake CPU');
  expect(new Set(states(out))).toEqual(new Set(['current', 'stale: measured with batch 4, not 8']));
  writeFileSync(model, `# a note\n${spec}`);
  expect(states((await run(model, '--batch', '8')).out)).toContain('current');
  writeFileSync(model, spec.replace('64, 32', '64, 48'));
  const edited = (await run(model, '--batch', '8')).out;
  expect(states(edited)).toContain('stale: the model computes something else now');
  expect(states(edited)).not.toContain('current');
  writeFileSync(model, spec);
});

it('lists results as data', async () => {
  const { out } = await run(model, '--batch', '4', '--format', 'json');
  expect(JSON.parse(out)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ id: small, stale: null, layersMeasured: 1, endedEarly: null }),
      expect.objectContaining({ id: large, stale: 'measured with batch 8, not 4' }),
    ]),
  );
});

it('compares two', async () => {
  const { status, out } = await run(model, '--compare', `${small},${large}`);
  expect(status).toBe(0);
  expect(out).toMatch(/^A +\S+ +Fake CPU, fp32, batch 4, torch 9\.9, on /m);
  expect(out).toMatch(/^fc +Linear +100 ms +100 ms +1\.00 +150 ms +150 ms +1\.00$/m);
  expect(out).toMatch(/^step {2}A 500 ms, B 500 ms, B ÷ A 1\.00$/m);
});

it('names a result that is not there, and the one that was meant', async () => {
  const { status, err } = await run(model, '--remove', `${small}x`);
  expect(status).toBe(2);
  expect(err).toContain(`there is no result ${small}x`);
  expect(err).toContain(`did you mean \`${small}\``);
});

it('names files that are no results', async () => {
  const path = join(folder, '.layercost/benchmarks/other.json');
  writeFileSync(path, readFileSync(model));
  expect((await run(model)).err).toContain(`${path} is left out: it is not JSON`);
  rmSync(path);
});

it('removes what is named', async () => {
  expect(await run(model, '--remove', small, '--remove', large)).toMatchObject({ status: 0 });
  expect(readResults(folder).results).toEqual([]);
  expect((await run(model)).out).toContain('No benchmark results are kept');
});
