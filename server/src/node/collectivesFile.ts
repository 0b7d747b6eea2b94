/** The collectives that were measured last in a workspace. */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type SavedCollectives, savedCollectivesSchema } from '../benchmark/savedCollectives.ts';
import { readTextFile } from './readTextFile.ts';

const fileOf = (workspace: string): string => join(workspace, '.layercost', 'collectives.json');

/** The path of the file that was written, or why none was. */
export function keepCollectives(
  workspace: string,
  saved: SavedCollectives,
): { readonly path: string } | { readonly problem: string } {
  const path = fileOf(workspace);
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${JSON.stringify(saved, null, 1)}\n`);
    return { path };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { problem: `the collectives could not be kept in ${workspace}: ${reason}` };
  }
}

/** `undefined` where none were kept, or the file is not of this version. */
export function keptCollectives(workspace: string): SavedCollectives | undefined {
  const path = fileOf(workspace);
  const read = existsSync(path) ? readTextFile(path) : undefined;
  if (read === undefined || !('text' in read)) return undefined;
  try {
    return savedCollectivesSchema.safeParse(JSON.parse(read.text)).data;
  } catch {
    return undefined;
  }
}
