/**
 * `npm run package`: builds for production and writes two packages, each within a budget. The editor's is
 * `.cache/package/layercost-<version>.vsix`, holding what `.vscodeignore` lists and nothing else. The command line's is
 * `layercost-<version>.tgz` beside it, holding what `files` of the manifest lists.
 */

import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { endWith, run, Trouble } from './setup/command.mjs';
import { packCommandLine } from './setup/commandLinePackage.mjs';
import { readAllowList, stageExtension } from './setup/extensionFiles.mjs';
import { packagedExtension, root } from './setup/project.mjs';
import { readZip } from './setup/zipFile.mjs';

const budget = 1_570_000;

/** What the package format itself adds. */
const wrapping = new Set(['[Content_Types].xml', 'extension.vsixmanifest']);

await packageExtension().catch(endWith);

async function packageExtension() {
  const build = await run(process.execPath, ['esbuild.mjs', '--production'], { cwd: root });
  if (build.status !== 0) throw new Trouble(`the build failed:\n${build.output}`);

  const { folder, file } = packagedExtension();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const staged = stageExtension(join(folder, 'extension'));
  const vsce = join(root, 'node_modules/@vscode/vsce/vsce');
  // Links stay relative: the pictures are inside the package, and there is no address to rewrite them to.
  const flags = ['--no-dependencies', '--allow-missing-repository', '--no-rewrite-relative-links'];
  const pack = await run(process.execPath, [vsce, 'package', ...flags, '--out', file], { cwd: staged });
  if (pack.status !== 0) throw new Trouble(`vsce could not make the package:\n${pack.output}`);

  const files = readZip(file);
  const isShipped = shippedNames();
  const strangers = [...files.keys()].filter((name) => !wrapping.has(name) && !isShipped(name));
  if (strangers.length > 0)
    throw new Trouble(`the package holds files that must not ship: ${strangers.join(', ')}`);
  for (const [name, content] of files) console.log(`${String(content.length).padStart(9)}  ${name}`);
  const size = statSync(file).size;
  console.log(`${String(size).padStart(9)}  ${file} (budget ${budget} bytes)`);
  if (size > budget) throw new Trouble(`the package is ${size} bytes, over its budget of ${budget}`);
  await packCommandLine(folder);
}

/** vsce renames the pages that the editor shows: `readme.md`, `changelog.md`, `LICENSE.txt`. */
function shippedNames() {
  const mayShip = readAllowList();
  const renamed = ['readme.md', 'changelog.md', 'LICENSE.txt'];
  return (name) => {
    const path = name.startsWith('extension/') ? name.slice('extension/'.length) : '';
    return path !== '' && (mayShip(path) || renamed.includes(path));
  };
}
