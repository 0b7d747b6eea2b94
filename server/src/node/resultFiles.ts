/** Kept benchmark results as files in `.layercost/benchmarks/` of the workspace: one JSON file per run. */

import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { arch, cpus, hostname, platform } from 'node:os';
import { basename, dirname, join, parse, relative, resolve, sep } from 'node:path';
import type { Machine } from '../benchmark/machine.ts';
import { type SavedResult, savedResultSchema } from '../benchmark/savedResult.ts';
import { liesInside } from './liesInside.ts';
import { readTextFile } from './readTextFile.ts';

export interface ResultFile {
  /** Name of the file without its ending: what a person gives to compare or remove it. */
  readonly id: string;
  readonly path: string;
  readonly result: SavedResult;
}

export interface ResultFiles {
  /** The newest first. */
  readonly results: readonly ResultFile[];
  /** Files that are no results of this version, each with the reason. */
  readonly unreadable: readonly { readonly path: string; readonly reason: string }[];
}

/** The nearest folder above that has `.layercost` or `.git`; else the folder itself. */
export function workspaceOf(folder: string): string {
  const start = resolve(folder);
  for (let each = start; ; each = dirname(each)) {
    if (markers.some((name) => existsSync(join(each, name)))) return each;
    if (each === parse(each).root) return start;
  }
}
const markers = ['.layercost', '.git'] as const;

/** Of a model file as results name it: from the workspace, with forward slashes. */
export const fileInWorkspace = (workspace: string, path: string): string =>
  relative(workspace, resolve(path)).split(sep).join('/');

/** What results are compared with to say on which machine they were measured. */
export const thisMachine = (): Machine => ({
  name: hostname(),
  platform: `${platform()}-${arch()}`,
  processor: cpus()[0]?.model.trim() ?? 'unknown',
  cores: cpus().length,
});

/** Writes a new file and gives its path; throws what the file system throws. */
export function writeResult(workspace: string, result: SavedResult): string {
  const folder = resultFolder(workspace);
  // A link in a workspace of somebody else could lead anywhere.
  const leadsOut = [dirname(folder), folder].find((each) => existsSync(each) && !liesInside(workspace, each));
  if (leadsOut !== undefined) throw new Error(`${leadsOut} is a link out of the workspace; remove it`);
  mkdirSync(folder, { recursive: true });
  const moment = result.measuredAt
    .replace(/\.\d+Z$/, '')
    .replace(/[-:]/g, '')
    .replace('T', '-');
  const name = basename(result.file)
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60);
  for (let count = 1; ; count += 1) {
    const path = join(folder, `${name || 'model'}-${moment}${count === 1 ? '' : `-${count}`}${ending}`);
    try {
      writeFileSync(path, `${JSON.stringify(result, null, 1)}\n`, { flag: 'wx' });
      return path;
    } catch (error) {
      const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
      if (!exists || count === 100) throw error;
    }
  }
}

export function readResults(workspace: string): ResultFiles {
  const folder = resultFolder(workspace);
  const results: ResultFile[] = [];
  const unreadable: { path: string; reason: string }[] = [];
  for (const name of namesIn(folder)) {
    if (!name.endsWith(ending)) continue;
    const path = join(folder, name);
    const read = readTextFile(path);
    const result = 'text' in read ? parseResult(read.text) : read.issue.message;
    if (typeof result === 'string') unreadable.push({ path, reason: result });
    else results.push({ id: name.slice(0, -ending.length), path, result });
  }
  results.sort((one, other) =>
    one.result.measuredAt === other.result.measuredAt
      ? other.id.localeCompare(one.id)
      : other.result.measuredAt.localeCompare(one.result.measuredAt),
  );
  return { results, unreadable };
}

export const removeResult = ({ path }: Pick<ResultFile, 'path'>): void => rmSync(path);

function parseResult(text: string): SavedResult | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not JSON';
  }
  const { data, error } = savedResultSchema.safeParse(value);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  return `it is no benchmark result of this version (${issue?.path.join('.') || 'document'}: ${issue?.message})`;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

export const resultFolder = (workspace: string): string => join(workspace, '.layercost', 'benchmarks');
const ending = '.json';
