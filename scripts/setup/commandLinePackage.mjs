/** The npm package of the command line: packed from what is built, and tried as a stranger would use it. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npm, run, Trouble } from './command.mjs';
import { readManifest, root } from './project.mjs';

const budget = 1_150_000;

/**
 * Packs the bundles that are built, installs them into an empty folder and asks for a report there.
 *
 * @param {string} folder gets the tarball
 * @returns {Promise<string>} its path
 */
export async function packCommandLine(folder) {
  // The bundles are built already, so that the package need not build them again.
  const pack = await npm(['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], {
    cwd: root,
  });
  if (pack.status !== 0) throw new Trouble(`npm could not pack the command line:\n${pack.output}`);
  const { name, version } = readManifest();
  const file = join(folder, `${name}-${version}.tgz`);
  const size = statSync(file).size;
  console.log(`${String(size).padStart(9)}  ${file} (budget ${budget} bytes)`);
  if (size > budget) throw new Trouble(`the npm package is ${size} bytes, over its budget of ${budget}`);
  await tryPackage(file);
  return file;
}

/** Nothing but the tarball: no network, no file of this project, a model that is written there. */
async function tryPackage(file) {
  const folder = mkdtempSync(join(tmpdir(), 'layercost-npm-'));
  try {
    mkdirSync(join(folder, 'models'));
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
    writeFileSync(
      join(folder, 'models/net.layers.yaml'),
      'name: net\ninputs:\n  image: float32[8, 3, 224, 224]\nlayers:\n  - conv: Conv2d(3, 64, 7, stride=2)\n',
    );
    const install = await npm(['install', '--offline', '--no-audit', '--no-fund', file], { cwd: folder });
    if (install.status !== 0) throw new Trouble(`the npm package cannot be installed:\n${install.output}`);
    const report = await npm(
      ['exec', '--no', '--', 'layercost', 'report', 'models/net.layers.yaml', '--format', 'json'],
      { cwd: folder },
    );
    if (report.status !== 0) throw new Trouble(`the installed command line fails:\n${report.output}`);
    for (const part of ['lsp', 'mcp']) await tryServer(folder, part);
    const { bin } = JSON.parse(readFileSync(join(folder, 'node_modules/layercost/package.json'), 'utf8'));
    console.log(
      `installed in an empty folder: ${Object.keys(bin).join(', ')} reports, and serves lsp and mcp`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A server that is told nothing ends when its input does; one that lacks its bundle fails at once. */
async function tryServer(folder, part) {
  const command = join(folder, 'node_modules/layercost/dist/cli.js');
  const started = await run(process.execPath, [command, part, '--stdio'], { cwd: folder, timeout: 20_000 });
  if (/Cannot find module|ENOENT/.test(started.output)) {
    throw new Trouble(`the npm package lacks what \`layercost ${part}\` needs:\n${started.output}`);
  }
}
