/** `layercost check` in a scratch repository: a change that breaks a budget, and one that breaks nothing. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { readCheckFile } from '../../server/src/check/readCheckFile.ts';
import { readArguments } from '../../server/src/cli/arguments.ts';
import { runCheckCommand } from '../../server/src/cli/checkCommand.ts';
import { printData, printMessage } from '../../server/src/cli/streams.ts';

vi.mock('../../server/src/cli/streams.ts', () => ({ printData: vi.fn(), printMessage: vi.fn() }));

const folder = mkdtempSync(join(tmpdir(), 'layercost-check-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const git = (...words: readonly string[]): string =>
  execFileSync('git', ['-C', folder, ...words], { encoding: 'utf8' });

const checks = join(folder, 'cost/layercost.yaml');
const spec = join(folder, 'cost/models/net.layers.yaml');

const netOf = (width: number): string =>
  `inputs:\n  x: float32[batch, 64]\nlayers:\n  - a: Linear(64, ${width})\n  - b: Linear(10)\n`;

mkdirSync(join(folder, 'cost/models'), { recursive: true });
writeFileSync(spec, netOf(128));
writeFileSync(
  checks,
  `checks:
  net:
    model: models/net.layers.yaml
    scenario: { cluster: dgx-a100, gpus: 8, dim: { batch: 32 } }
    budgets:
      parameters: 20 k, +10 %
      memory: 40 GiB
`,
);
git('init', '--quiet');
git('config', 'user.name', 'someone');
git('config', 'user.email', 'someone@example.org');
git('add', '.');
git('commit', '--quiet', '--message', 'before');

async function run(...words: readonly string[]): Promise<{ status: number; out: string; err: string }> {
  const result = readArguments(['check', ...words]);
  if (result.kind === 'wrong' || result.arguments.command !== 'check')
    throw new Error(JSON.stringify(result));
  let out = '';
  let err = '';
  vi.mocked(printData).mockImplementation((text) => {
    out += text;
  });
  vi.mocked(printMessage).mockImplementation((line) => {
    err += `${line}\n`;
  });
  return { status: await runCheckCommand(result.arguments), out, err };
}

test('what nobody changed is kept, and a comment has nothing to say', async () => {
  expect(await run(checks, '--base', 'HEAD', '--format', 'markdown')).toEqual({
    status: 0,
    out: '',
    err: '',
  });
});

test('a change beyond its budget ends with status 3, and names the place from the root of the repository', async () => {
  writeFileSync(spec, netOf(160));
  const { status, out } = await run(checks, '--base', 'HEAD', '--format', 'github');
  // 64 · 160 + 160 + 10 · 161 parameters after, 64 · 128 + 128 + 10 · 129 before.
  expect(out.split('\n')[0]).toBe(
    '::error file=cost/layercost.yaml,line=6,title=net%3A budget/parameters::parameters: 12.0 k, over the limit of 10.6 k (+10 %25 on 9.61 k)',
  );
  expect(status).toBe(3);
  // The work tree of the base is gone.
  expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
});

test('a wider model within its budget is a change that is told', async () => {
  writeFileSync(spec, netOf(132));
  const { status, out } = await run(checks, '--base', 'HEAD', '--format', 'json');
  expect(status).toBe(0);
  const [{ result, changes }] = JSON.parse(out).checks;
  expect(result).toBe('kept');
  expect(changes).toContainEqual({ quantity: 'parameters', before: 9610, after: 9910, better: false });
});

test('a model that is not there fails its check with the reason', async () => {
  writeFileSync(spec, '');
  const { status, out } = await run(checks);
  expect(status).toBe(1);
  expect(out).toMatch(/net +failed +models\/net\.layers\.yaml: /);
});

test('a scenario that is wrong is told at its check', async () => {
  const wrong = join(folder, 'cost/wrong.yaml');
  writeFileSync(wrong, 'checks: { a: { model: models/net.layers.yaml, scenario: { gpu: 8 } } }\n');
  const { status, out } = await run(wrong);
  expect(status).toBe(1);
  expect(out).toContain('there is no option --gpu here; did you mean `--gpus`?');
});

test.each([
  [['--base', 'nowhere'], /the repository has no revision nowhere; fetch it first/],
  [['--baseline', join(folder, 'cost/models/net.layers.yaml')], /is not a baseline/],
])('%s is refused with status 2', async (words, message) => {
  const { status, err } = await run(checks, ...words);
  expect(status).toBe(2);
  expect(err).toMatch(message);
});

test('a baseline is written and read', async () => {
  writeFileSync(spec, netOf(128));
  const baseline = join(folder, 'baseline.json');
  expect((await run(checks, '--write-baseline', baseline)).status).toBe(0);
  expect(JSON.parse(readFileSync(baseline, 'utf8')).version).toBe(1);
  expect((await run(checks, '--baseline', baseline)).status).toBe(0);
});

test('shows what to write where there is no file yet', async () => {
  const { status, err } = await run(join(folder, 'none.yaml'));
  expect(status).toBe(2);
  expect(err).toMatch(/there is no .*none\.yaml; write one, such as\n\nchecks:\n/);
  const example = err.slice(err.indexOf('checks:'), err.indexOf('\n\n(docs'));
  expect(readCheckFile(example).issues).toEqual([]);
});
