/** Where the archive of a target lies unless a person says otherwise: in `.layercost/exports/` of the folder. */

import { join } from 'node:path';

/** `train.py:Net` → `.layercost/exports/train.Net.pt2`. */
export function archivePath(folder: string, target: string): string {
  const words = target
    .replace(/\.py(?=:)/, '')
    .split(/[^\w-]+/)
    .filter((word) => word !== '');
  const name = words.join('.').slice(-longestName);
  return join(folder, '.layercost', 'exports', `${name === '' ? 'model' : name}.pt2`);
}

const longestName = 120;
