/** What ships: the one list of files that make the extension. Nothing else can get into a package. */

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { Trouble } from './command.mjs';
import { root } from './project.mjs';

/** Folders that are searched, and the shapes a shipped path has. */
const searched = ['dist', 'syntaxes', 'media'];
const shipped = [
  /^package\.json$/,
  /^package\.nls(\.[a-z-]+)?\.json$/,
  /^(README|CHANGELOG)\.md$/,
  /^LICENSE$/,
  /^THIRD-PARTY-NOTICES(\.md|\.txt)?$/,
  /^dist\/package\.json$/,
  /^dist\/(client|client-web|server|server-worker|cli|webview)\.js$/,
  /^dist\/[a-z-]+\.(css|LEGAL\.txt|js\.LEGAL\.txt)$/,
  /^dist\/runner\/([a-z_]+\/)*[a-z_]+\.py$/,
  /^syntaxes\/[\w.-]+\.json$/,
  /^media\/(?!screenshots\/)([\w-]+\/)*[\w.-]+\.(png|svg|md)$/,
];

/** Without these there is no extension to speak of. */
const required = [
  'package.json',
  'package.nls.json',
  'README.md',
  'LICENSE',
  'dist/client.js',
  'dist/client-web.js',
  'dist/server.js',
  'dist/server-worker.js',
  'dist/cli.js',
];

/** For building and testing only; a package that ships bundles needs none of it. */
const manifestKeysOfTheProject = ['private', 'scripts', 'dependencies', 'devDependencies', 'overrides'];

/** @returns {boolean} whether a path, relative to the extension and with slashes, may ship */
export function mayShip(path) {
  return shipped.some((shape) => shape.test(path)) || readmeImages().includes(path);
}

/** @returns {string[]} the paths that ship, relative to the project and sorted */
export function listExtensionFiles() {
  const atTop = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
  const inside = searched.flatMap((folder) => listFiles(join(root, folder)));
  return [...atTop, ...inside].filter(mayShip).sort();
}

/**
 * Copies what ships into a folder, which then is the unpacked extension.
 *
 * @param {string} folder is emptied first
 * @returns {string} the folder
 */
export function stageExtension(folder) {
  const files = listExtensionFiles();
  const missing = required.filter((path) => !files.includes(path));
  if (missing.length > 0) {
    throw new Trouble(`the extension is incomplete, ${missing.join(', ')} missing; run npm run build`);
  }
  rmSync(folder, { recursive: true, force: true });
  for (const path of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(root, path), join(folder, path));
  }
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const key of manifestKeysOfTheProject) delete manifest[key];
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  return folder;
}

/** Pictures that the README shows ship with it, so that the page of the extension shows them too. */
function readmeImages() {
  const readme = join(root, 'README.md');
  if (!existsSync(readme)) return [];
  const links = readFileSync(readme, 'utf8').matchAll(/!\[[^\]]*\]\((media\/[\w./-]+\.png)\)/g);
  return [...links].map((link) => link[1]);
}

function listFiles(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      relative(root, join(entry.parentPath ?? entry.path, entry.name))
        .split(sep)
        .join('/'),
    );
}
