/** Lines of the source whose faults are a sample of all: what a folder of hours says in minutes. */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Instrumenter } from '@stryker-mutator/instrumenter';

const silent = { debug: () => {}, info: () => {}, isDebugEnabled: () => false };

/**
 * Patterns of random lines of `paths` with about `count` faults, each line `FILE:L:0-L:N`; all lines where there are fewer.
 * The same seed gives the same lines of the same source.
 */
export async function sampleLines(paths, count, seed, excludedMutations) {
  const options = { plugins: null, excludedMutations, ignorers: [] };
  const faults = new Map();
  for (const name of paths.flatMap(filesBelow).sort()) {
    const files = [{ name, mutate: true, content: readFileSync(name, 'utf8') }];
    const { mutants } = await new Instrumenter(silent).instrument(files, options);
    for (const { location, status } of mutants) {
      if (location.start.line !== location.end.line || status === 'Ignored') continue;
      const line = location.start.line + 1;
      const pattern = `${name}:${line}:0-${line}:100000`;
      faults.set(pattern, (faults.get(pattern) ?? 0) + 1);
    }
  }
  const chosen = [];
  let found = 0;
  for (const pattern of shuffled([...faults.keys()], seed)) {
    if (found >= count) break;
    chosen.push(pattern);
    found += faults.get(pattern);
  }
  const all = [...faults.values()].reduce((sum, each) => sum + each, 0);
  console.log(`${found} of ${all} faults of single lines, on ${chosen.length} of ${faults.size} lines`);
  return chosen;
}

/** TypeScript files of a folder, or a file itself. */
export const filesBelow = (path) =>
  statSync(path).isDirectory()
    ? readdirSync(path).flatMap((name) => filesBelow(join(path, name)))
    : path.endsWith('.ts')
      ? [path]
      : [];

/** Fisher and Yates, by a linear congruential generator (Numerical Recipes). */
function shuffled(items, seed) {
  let state = seed >>> 0;
  const below = (limit) => {
    state = (Math.imul(1_664_525, state) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const mixed = [...items];
  for (let index = mixed.length - 1; index > 0; index -= 1) {
    const other = below(index + 1);
    [mixed[index], mixed[other]] = [mixed[other], mixed[index]];
  }
  return mixed;
}
