/**
 * `npm run check`: types, format and lint of the files that differ from HEAD, and those tests of their folders that
 * import them. The loop while working; `npm test` runs all.
 */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './setup/project.mjs';

const git = (...words) =>
  spawnSync('git', words, { cwd: root, encoding: 'utf8' }).stdout.split('\n').filter(Boolean);

const changed = [
  ...git('diff', 'HEAD', '--name-only', '--diff-filter=d'),
  ...git('ls-files', '--others', '--exclude-standard'),
];
const folders = new Set(
  changed.flatMap((file) => {
    const [, room] = /^(?:server\/src|test)\/([^/]+)\//.exec(file) ?? [];
    return room === undefined ? [] : [`test/${room}/`];
  }),
);

const steps = [
  ['types', 'typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.json'],
  ['lint', '@biomejs/biome/bin/biome', 'check', '--no-errors-on-unmatched', ...changed],
  ['tests', 'vitest/vitest.mjs', 'run', '--changed', '--passWithNoTests', ...folders],
];
for (const [name, program, ...words] of steps) {
  if (name === 'lint' && changed.length === 0) continue;
  if (name === 'tests' && folders.size === 0) continue;
  const started = performance.now();
  const { status } = spawnSync(process.execPath, [join(root, 'node_modules', program), ...words], {
    cwd: root,
    stdio: 'inherit',
  });
  console.log(
    `${name}: ${status === 0 ? 'passed' : 'failed'}, ${Math.round((performance.now() - started) / 100) / 10} s`,
  );
  if (status !== 0) process.exit(1);
}
