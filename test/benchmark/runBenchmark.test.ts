/** Bad companions: every way a runner can misbehave ends in one clear message and no process left behind. */

import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findPythons } from '../../server/src/benchmark/findPythons.ts';
import {
  type BenchmarkOptions,
  type BenchmarkOutcome,
  runBenchmark,
} from '../../server/src/benchmark/runBenchmark.ts';
import { smallPlan } from './smallPlan.ts';

const runnerFolder = join(import.meta.dirname, '../../server/src/benchmark/runner');
const fake = join(import.meta.dirname, 'fakes/badRunner.mjs');

function run(behaviour: string, options: Partial<BenchmarkOptions> = {}): Promise<BenchmarkOutcome> {
  return runBenchmark(smallPlan({ model: behaviour }), {
    python: process.execPath,
    runner: fake,
    ...options,
  });
}

describe('a runner that behaves', () => {
  it('gives times per layer, the step, and what was not measured and why', async () => {
    const messages: string[] = [];
    const { measurements } = await run('good', { onProgress: ({ message }) => messages.push(message) });
    expect(measurements?.origin).toMatch(/^Fake CPU, torch 9\.9, \d{4}-\d\d-\d\d$/);
    expect(measurements?.device.kind).toBe('cpu');
    expect([...(measurements?.layers ?? [])]).toEqual([
      [
        'fc',
        {
          forward: 0.1,
          forwardQuartiles: { low: 0.05, high: 0.2 },
          backward: 0.15,
          backwardQuartiles: { low: 0.075, high: 0.3 },
        },
      ],
    ]);
    expect(measurements?.step).toBe(0.5);
    expect(measurements?.wholeStep).toMatchObject({ forward: 0.2, backward: 0.25, update: 0.05, repeats: 5 });
    expect([...(measurements?.notMeasured ?? [])]).toEqual([['act', 'the runner does not know it']]);
    expect(measurements?.notes).toEqual(['No GPU: this is a fake']);
    expect(messages).toEqual(['Fake CPU: step 1 of 1']);
  });
});

describe('a runner that misbehaves', () => {
  it.each([
    ['garbage', 'protocol', /sent "Welcome to the cluster!"/],
    ['schema', 'protocol', /not an event of the protocol/],
    ['flood', 'protocol', /"x{80}…"/],
    ['newer', 'protocol', /speaks protocol 7, this version of Layercost speaks 1: update Layercost/],
    [
      'dies',
      'crash',
      /exit status 3 during layer fc .* last line: Traceback: segmentation of the imagination/,
    ],
    ['killed', 'crash', /SIGKILL.* memory ran out: lower the batch/],
    ['silent', 'crash', /exit status 0 during start-up before it was done/],
    ['lacks', 'torch-missing', /has no torch .*`.* -m pip install torch`/],
    ['gpuless', 'no-gpu', /sees no GPU .*benchmark on the CPU/],
    ['memory', 'out-of-memory', /Memory ran out at batch 4 .*lower the batch/],
    ['nothing', 'nothing-measured', /Nothing could be measured: MatMul failed: not implemented/],
  ])('%s: %s', async (behaviour, kind, message) => {
    const { failure } = await run(behaviour);
    expect(failure?.kind).toBe(kind);
    expect(failure?.message).toMatch(message);
    expect(failure?.message).not.toMatch(/\.$/);
  });

  it.each([
    [['no-such-launcher', 'x'], /There is no program no-such-launcher.*correct the launcher/],
    [
      [process.execPath, '-e', 'console.error("Permission denied"); process.exit(255)', '--'],
      /ended with exit status 255 before python3 said anything: check that it starts python3.*last line: Permission denied/,
    ],
  ])('behind the launcher %j', async (launcher, message) => {
    const { failure } = await runBenchmark(smallPlan({}), { runner: runnerFolder, launcher });
    expect(failure?.kind).toBe('no-launcher');
    expect(failure?.message).toMatch(message);
  });

  it('that hangs is stopped although it ignores SIGTERM', async () => {
    const { failure } = await run('hangs', { silenceSeconds: 0.5 });
    expect(failure?.kind).toBe('hang');
    expect(failure?.message).toContain('it sent nothing for 0.5 s during layer fc');
  });

  it('that leaves a process behind, which holds its pipes, keeps nothing of ours alive', async () => {
    const pipes = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
    const before = pipes();
    const { failure } = await run('orphans');
    expect(failure?.kind).toBe('crash');
    await expect.poll(pipes).toBe(before);
  });

  it('that never ends is stopped although it keeps reporting', async () => {
    const { failure } = await run('busy', { totalSeconds: 0.5 });
    expect(failure?.kind).toBe('timeout');
    expect(failure?.message).toContain('stopped after 0.5 s, during step 1 of 9');
  });
});

describe('what arrived before a run went wrong', () => {
  it.each<[string, Partial<BenchmarkOptions>]>([
    ['garbage', {}],
    ['schema', {}],
    ['flood', {}],
    ['newer', {}],
    ['dies', {}],
    ['killed', {}],
    ['memory', {}],
    // Long enough that a busy machine has started the runner.
    ['hangs', { silenceSeconds: 2 }],
    ['busy', { totalSeconds: 3 }],
  ])('is kept where the runner then is one of %s', async (behaviour, options) => {
    const { failure, measurements } = await run(`halfway ${behaviour}`, options);
    expect(failure).toBeDefined();
    expect([...(measurements?.layers.keys() ?? [])]).toEqual(['fc']);
    expect(measurements?.device.name).toBe('Fake CPU');
  });

  it('is kept by a cancel', async () => {
    const cancel = new AbortController();
    const outcome = await run('halfway busy', {
      signal: cancel.signal,
      onProgress: () => cancel.abort(),
    });
    expect(outcome.failure?.kind).toBe('cancelled');
    expect(outcome.measurements?.layers.get('fc')?.forward).toBe(0.1);
  });

  it('is nothing where nothing was measured', async () => {
    expect(await run('memory')).not.toHaveProperty('measurements');
  });
});

describe('an interpreter that cannot be started', () => {
  it.each([
    ['/nowhere/python3', /There is no Python at \/nowhere\/python3: install Python 3\.9/],
    [fake, /is not an executable file/],
  ])('%s', async (python, message) => {
    const { failure } = await run('good', { python });
    expect(failure?.kind).toBe('no-interpreter');
    expect(failure?.message).toMatch(message);
  });

  it('names the Pythons that are there', async () => {
    const found = [
      { path: '/opt/python3', version: '3.12.1', hasTorch: true },
      { path: '/usr/bin/python3', version: '3.14.0', hasTorch: false },
      { path: '/usr/bin/python3.9', version: '3.9.0', hasTorch: true },
      { path: '/usr/bin/python3.8', version: '3.8.20', hasTorch: true },
      { path: '/usr/bin/python2', version: '2.7.18', hasTorch: true },
    ];
    const { failure } = await run('good', { python: '/nowhere/python3', findPythons: async () => found });
    expect(failure?.message).toMatch(
      /\. Found: \/opt\/python3 \(3\.12\.1, with torch\), \/usr\/bin\/python3 \(3\.14\.0, without torch\), \/usr\/bin\/python3\.9 \(3\.9\.0, with torch\), \/usr\/bin\/python3\.8 \(3\.8\.20, older than 3\.9\), \/usr\/bin\/python2 \(2\.7\.18, older than 3\.9\)$/,
    );
    const none = await run('silent', { findPythons: async () => [] });
    expect(none.failure?.message).toMatch(/No Python was found in the folders of PATH$/);
  });
});

it('finds Pythons in folders, each once, those with torch first', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'layercost-pythons-'));
  const write = (name: string, script: string): void =>
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  write('python3.6', 'echo 3.6.8 0');
  write('python3.12', 'echo 3.12.1 1');
  write('python2', 'exit 1');
  write('python3-config', 'echo 3.12.1 1');
  symlinkSync(join(folder, 'python3.12'), join(folder, 'python3'));
  const found = await findPythons([folder, join(folder, 'absent'), folder]);
  expect(found.map(({ version, hasTorch }) => `${version} ${hasTorch}`)).toEqual([
    '3.12.1 true',
    '3.6.8 false',
  ]);
  rmSync(folder, { recursive: true });
});

describe('cancelling', () => {
  it('ends the runner and the processes it started', async () => {
    const cancel = new AbortController();
    let log = '';
    const outcome = await run('children', {
      signal: cancel.signal,
      onLog: (text) => {
        log += text;
      },
      onProgress: () => cancel.abort(),
    });
    expect(outcome.failure?.kind).toBe('cancelled');
    const child = Number(/child (\d+)/.exec(log)?.[1]);
    expect(child).toBeGreaterThan(0);
    await expect.poll(() => isAlive(child)).toBe(false);
  });

  it('before the start starts nothing', async () => {
    const { failure } = await run('good', { signal: AbortSignal.abort(), python: '/nowhere/python3' });
    expect(failure?.kind).toBe('cancelled');
  });
});

/** Signal 0 asks without sending. A zombie answers too, where nobody collects orphans: it counts as dead. */
function isAlive(id: number): boolean {
  try {
    process.kill(id, 0);
  } catch {
    return false;
  }
  const status = `/proc/${id}/status`;
  return !(existsSync(status) && /^State:\s+Z/m.test(readFileSync(status, 'utf8')));
}
