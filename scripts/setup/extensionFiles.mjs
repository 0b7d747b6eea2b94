/** The files that make the extension: `.vscodeignore` is the one list, and nothing else can get into a package. */

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { Trouble } from './command.mjs';
import { root } from './project.mjs';

/** Without these there is no extension to speak of. */
const required = [
  'package.json',
  'package.nls.json',
  'README.md',
  'LICENSE',
  'dist/client.js',
  'dist/client-web.js',
  'dist/server.js',
  'dist/engine.js',
  'dist/cli.js',
  'dist/main.js',
  'dist/runner/__main__.py',
  'dist/THIRD-PARTY-NOTICES.txt',
];

/** For building and testing only; a package that ships bundles needs none of it. */
const manifestKeysOfTheProject = ['files', 'scripts', 'devDependencies', 'overrides'];

/** @returns {(path: string) => boolean} whether a path, relative to the extension and with slashes, may ship */
export function readAllowList() {
  const lines = readFileSync(join(root, '.vscodeignore'), 'utf8')
    .split('\n')
    .map((line) => line.trim());
  const shapes = lines.filter((line) => line.startsWith('!')).map((line) => shapeOf(line.slice(1)));
  if (!lines.includes('**') || shapes.length === 0) {
    throw new Trouble('.vscodeignore must be an allow-list: a line ** and then lines that start with !');
  }
  return (path) => shapes.some((shape) => shape.test(path));
}

/** `*` stands for anything within one folder, `**` for anything. */
function shapeOf(pattern) {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/\*+/g, (stars) => (stars.length > 1 ? '.*' : '[^/]*'))}$`);
}

/**
 * Copies what ships into a folder, which then is the unpacked extension.
 *
 * @param {string} folder is emptied first
 * @returns {string} the folder
 */
export function stageExtension(folder) {
  const mayShip = readAllowList();
  const files = listFiles().filter(mayShip).sort();
  const missing = required.filter((path) => !files.includes(path));
  if (missing.length > 0) {
    throw new Trouble(`the extension is incomplete, ${missing.join(', ')} missing; run npm run build`);
  }
  rmSync(folder, { recursive: true, force: true });
  for (const path of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    if (path.endsWith('.json')) writeFileSync(join(folder, path), withoutBlanks(join(root, path)));
    else cpSync(join(root, path), join(folder, path));
  }
  // The page of the extension is for people who install it; the README is for those who clone the project.
  cpSync(join(root, 'docs/extension.md'), join(folder, 'README.md'));
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const key of manifestKeysOfTheProject) delete manifest[key];
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  return folder;
}

/** Schemas and texts are laid out for those who read the project; nobody reads them in a package. */
const withoutBlanks = (file) => JSON.stringify(JSON.parse(readFileSync(file, 'utf8')));

/** Files of the project that could ship: those at its top, and those of the folders that are no source. */
function listFiles() {
  const atTop = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isFile());
  const inside = ['dist', 'docs', 'l10n', 'media', 'syntaxes']
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) =>
      relative(root, join(entry.parentPath ?? entry.path, entry.name))
        .split(sep)
        .join('/'),
    );
  return [...atTop.map((entry) => entry.name), ...inside];
}
