/** npm packages that only some commands need, kept out of the project's dependencies. */

import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { explainNpmFailure, npm, Trouble } from './command.mjs';

/**
 * Installs packages into a folder of their own, complete or not at all. A folder that is there is taken as it
 * is: its name should carry the version.
 *
 * @param {string} folder
 * @param {Record<string, string>} packages exact versions by name
 * @param {{ again: string, finish?: (folder: string) => Promise<void> }} options `again` is the command to repeat
 *   after a failure; `finish` completes the folder before it gets its name
 * @returns {Promise<string>} the folder
 */
export async function ensurePackages(folder, packages, options) {
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  try {
    writeFileSync(
      `${unfinished}/package.json`,
      `${JSON.stringify({ private: true, dependencies: packages }, undefined, 2)}\n`,
    );
    // Without scripts: they would fetch browsers and editors that are not wanted.
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
    const { status, output } = await npm(['install', ...flags], { cwd: unfinished });
    if (status !== 0) throw new Trouble(explainNpmFailure(output, options.again));
    await options.finish?.(unfinished);
    if (!existsSync(folder)) renameSync(unfinished, folder);
    return folder;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
