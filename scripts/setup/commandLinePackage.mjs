/** The npm package of the command line: packed from what is built, and tried as a stranger would use it. */

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { npm, run, Trouble } from './command.mjs';
import { readManifest, root } from './project.mjs';

const budget = 1_195_000;

/**
 * Packs the bundles that are built, installs them into an empty folder and asks for a report there.
 *
 * @param {string} folder gets the tarball
 * @returns {Promise<string>} its path
 */
export async function packCommandLine(folder) {
  const staged = stageCommandLine(join(folder, 'command-line'));
  const pack = await npm(['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], {
    cwd: staged,
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

/** What the registry and the program need of the manifest; the rest is about the editor and this repository. */
const shared = [
  'name',
  'version',
  'description',
  'license',
  'keywords',
  'repository',
  'bugs',
  'bin',
  'files',
];

/**
 * The manifest of the command line, without what editors read: texts by name, settings, commands.
 *
 * @param {Record<string, unknown>} manifest
 * @param {Record<string, string>} texts those that `%name%` stands for
 * @returns {Record<string, unknown>}
 */
export function commandLineManifest(manifest, texts) {
  const own = Object.fromEntries(
    shared.flatMap((key) => (manifest[key] === undefined ? [] : [[key, manifest[key]]])),
  );
  const description = String(own.description).replace(/^%(.*)%$/, (_, name) => texts[name]);
  return { ...own, description, engines: { node: manifest.engines.node } };
}

/** @returns {string} the folder, with what the manifest lists */
function stageCommandLine(folder) {
  const read = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));
  const manifest = commandLineManifest(readManifest(), read('package.nls.json'));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const name of ['README.md', 'LICENSE', ...manifest.files]) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  return folder;
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
    const { bin, description, ...others } = JSON.parse(
      readFileSync(join(folder, 'node_modules/layercost/package.json'), 'utf8'),
    );
    if (/%/.test(description) || 'contributes' in others || 'main' in others)
      throw new Trouble('the npm package has the manifest of the editor');
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
