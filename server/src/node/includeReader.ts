/** Reads the files that a layer spec includes from the disk. */

import { readFileSync, realpathSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type { ReadInclude } from '../lowering/layer-spec/blockTable.ts';

/** Blocks are text that people wrote. */
const mostBytes = 2 ** 20;

/**
 * Reads files in `folder` and below it. What a symbolic link leads out of the folder to, what is no plain file or too
 * large counts as not there.
 */
export function includeReader(folder: string): ReadInclude {
  return (path) => {
    try {
      const root = realpathSync(folder);
      const real = realpathSync(join(root, path));
      const inside = relative(root, real);
      if (inside.startsWith('..') || inside.startsWith(sep)) return undefined;
      const { size } = statSync(real);
      return statSync(real).isFile() && size <= mostBytes ? readFileSync(real, 'utf8') : undefined;
    } catch {
      return undefined;
    }
  };
}
