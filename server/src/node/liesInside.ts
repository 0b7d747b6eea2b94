/** Whether a file really lies in a folder: symbolic links are followed, and another drive is outside. */

import { realpathSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';

/** `false` also where one of the two does not exist. */
export function liesInside(folder: string, path: string): boolean {
  try {
    const way = relative(realpathSync(folder), realpathSync(path));
    return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
  } catch {
    return false;
  }
}
