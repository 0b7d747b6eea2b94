/** Where things lie: the project, and the folders that may be deleted at any time. */

import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** Belongs to this clone and is ignored by git: the web editor, packages, logs, what a failed test leaves. */
export const cacheFolder = join(root, '.cache');

/** Belongs to the person and is shared by clones: what takes minutes to build. */
export const sharedCacheFolder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'layercost');

export const oldestNode = 20;

/** @returns {string | undefined} what is wrong with the Node that runs this, where it is too old */
export function nodeProblem() {
  if (Number(process.versions.node.split('.')[0]) >= oldestNode) return undefined;
  return `Layercost needs Node.js ${oldestNode} or newer, and this is ${process.version} (${process.execPath}); install a newer one from https://nodejs.org or with your version manager (nvm install ${oldestNode})`;
}

/** @returns {{ name: string, version: string, publisher: string }} */
export function readManifest() {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
}

/** The package that `npm run package` writes, and the folder it lies in. */
export function packagedExtension() {
  const { name, version } = readManifest();
  const folder = join(cacheFolder, 'package');
  return { folder, file: join(folder, `${name}-${version}.vsix`) };
}
