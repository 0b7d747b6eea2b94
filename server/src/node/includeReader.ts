/** Reads the files that a layer spec includes from the disk. */

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { longestInclude } from '../formats/layer-spec/includePath.ts';
import type { ReadInclude } from '../lowering/layer-spec/blockTable.ts';
import { liesInside } from './liesInside.ts';

/**
 * Reads files in `folder` and below it. A file that a symbolic link leads out of the folder to, that is no plain file
 * or that is too long counts as absent.
 */
export function includeReader(folder: string): ReadInclude {
  return (path) => {
    const file = join(folder, path);
    if (!liesInside(folder, file)) return undefined;
    try {
      const status = statSync(file);
      return status.isFile() && status.size <= longestInclude ? readFileSync(file, 'utf8') : undefined;
    } catch {
      return undefined;
    }
  };
}
