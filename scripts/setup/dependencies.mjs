/** The project's own npm packages, present and as the lock file has them. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { explainNpmFailure, npm, Trouble } from './command.mjs';
import { root } from './project.mjs';

/**
 * Installs what `package-lock.json` lists, where that is not what `node_modules` holds already.
 *
 * @param {string} again the command to repeat after a failure, for the message
 */
export async function ensureDependencies(again) {
  const reason = staleness();
  if (!reason) return;
  console.log(`Installing npm packages (${reason}) …`);
  // No install script is needed here, and the ones that come along would download for other platforms.
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  const { status, output } = await npm(['ci', ...flags], { cwd: root });
  if (status !== 0) throw new Trouble(explainNpmFailure(output, again));
}

/** @returns {string | undefined} why an installation is needed, if one is */
function staleness() {
  const wanted = readPackages(join(root, 'package-lock.json'));
  const present = readPackages(join(root, 'node_modules/.package-lock.json'));
  if (!present) return 'none are installed yet';
  for (const [path, { version, optional }] of Object.entries(wanted ?? {})) {
    if (path === '' || (optional && !present[path])) continue;
    if (present[path]?.version !== version)
      return `${path.replace(/^node_modules\//, '')} should be ${version}`;
  }
  return undefined;
}

function readPackages(path) {
  if (!existsSync(path)) return undefined;
  return JSON.parse(readFileSync(path, 'utf8')).packages;
}
