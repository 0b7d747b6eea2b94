/** Writes what `--output` names, and says in words why it cannot be written. */

import { writeFileSync } from 'node:fs';
import { printData, printMessage } from './streams.ts';

/** `flag` is that of `writeFileSync`: `wx` keeps a file that exists. False after printing why nothing was written. */
export function writeOutput(path: string, content: string | Uint8Array, flag: 'w' | 'wx'): boolean {
  try {
    writeFileSync(path, content, { flag });
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const reason = reasons[code] ?? (error instanceof Error ? error.message : String(error));
    printMessage(`layercost: cannot write ${path}: ${reason}`);
    return false;
  }
}

/** To the file that `--output` names, with a message, or to standard output. False where nothing was written. */
export function printOrWrite(path: string | undefined, text: string): boolean {
  if (path === undefined) {
    printData(text);
    return true;
  }
  if (!writeOutput(path, text, 'w')) return false;
  printMessage(`wrote ${path}`);
  return true;
}

const reasons: Readonly<Record<string, string>> = {
  EEXIST: 'it exists; --force replaces it',
  ENOENT: 'the folder does not exist; create it first',
  ENOTDIR: 'a part of the path is not a folder; check the path',
  EISDIR: 'it is a folder; give a file',
  EACCES: 'permission is denied; check the access rights of its folder',
  EPERM: 'permission is denied; check the access rights of its folder',
  EROFS: 'the disk is read-only; choose another path',
  ENOSPC: 'the disk is full',
  ENAMETOOLONG: 'its name is too long',
};
