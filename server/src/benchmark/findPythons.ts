/** The Pythons of this machine, looked for only after the chosen one could not be used. */

import { execFile } from 'node:child_process';
import { readdirSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface FoundPython {
  readonly path: string;
  /** Such as "3.11.2". */
  readonly version: string;
  readonly hasTorch: boolean;
}

/** Interpreters in the folders of `PATH`, those with torch first. Those that do not answer are left out. */
export async function findPythons(
  folders = (process.env.PATH ?? '').split(delimiter),
): Promise<readonly FoundPython[]> {
  const paths = new Map<string, string>();
  for (const folder of folders) {
    for (const name of namesIn(folder).filter((each) => interpreter.test(each))) {
      const path = join(folder, name);
      const real = realPath(path);
      if (real !== undefined && !paths.has(real)) paths.set(real, path);
    }
  }
  const found = await Promise.all([...paths.values()].slice(0, mostPythons).map(ask));
  return found
    .filter((each) => each !== undefined)
    .sort((left, right) => Number(right.hasTorch) - Number(left.hasTorch));
}

const interpreter = /^python(\d+(\.\d+)?)?(\.exe)?$/;
/** A folder of old installations is no reason to start them all. */
const mostPythons = 8;
const patience = 5_000;

/** Python 2 understands it too. Looking for torch does not import it, which would take seconds. */
const question = `
import sys
try:
    from importlib.util import find_spec
    torch = find_spec("torch") is not None
except ImportError:
    torch = False
print("%d.%d.%d %d" % (sys.version_info[:3] + (torch,)))
`;

function ask(path: string): Promise<FoundPython | undefined> {
  return new Promise((resolve) => {
    execFile(path, ['-c', question], { timeout: patience, windowsHide: true }, (_, answer) => {
      const [, version, torch] = /^(\d+\.\d+\.\d+) ([01])\s*$/.exec(answer) ?? [];
      resolve(version === undefined ? undefined : { path, version, hasTorch: torch === '1' });
    });
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return folder === '' ? [] : readdirSync(folder);
  } catch {
    return [];
  }
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
