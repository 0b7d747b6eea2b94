/** A Python that has certain modules, for tests against reference implementations; they say so where none is there. */

import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The first of LAYERCOST_PYTHON, the virtual environment of the samples and `python3` that imports all of them. */
export function pythonWith(...modules: readonly string[]): string | undefined {
  const candidates = [
    process.env.LAYERCOST_PYTHON,
    join(homedir(), '.cache/layercost-venv/bin/python'),
    'python3',
    '/usr/bin/python3',
  ];
  return candidates.find(
    (candidate) =>
      candidate !== undefined &&
      spawnSync(candidate, ['-c', `import ${modules.join(', ')}`], { stdio: 'ignore' }).status === 0,
  );
}
