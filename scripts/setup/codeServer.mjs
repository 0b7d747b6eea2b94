/**
 * code-server, which is VS Code's desktop extension host behind a web page: the editor tests need it, nothing
 * else does. Built once per machine from the npm package, without its own post-install, which stops at a
 * download.
 */

import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findOnPath, npm, npmCommand, run, Trouble } from './command.mjs';
import { ensurePackages } from './packagesOnDemand.mjs';
import { sharedCacheFolder } from './project.mjs';

/** The newest one that accepts Node 20. */
const version = '4.100.3';

/** What the extension host loads; the other native modules are for other platforms or sign-in. */
const nativeModules = ['@vscode/spdlog', 'native-watchdog', 'node-pty'];

/**
 * Builds code-server where it is missing (one to three minutes) and returns the script to start with Node.
 *
 * @param {string} ripgrep path of `rg`
 * @param {string} again the command to repeat after a failure
 */
export async function ensureCodeServer(ripgrep, again) {
  const folder = join(sharedCacheFolder, `code-server-${version}-node${process.versions.modules}`);
  if (!existsSync(folder)) {
    mkdirSync(dirname(folder), { recursive: true });
    console.log(`  building code-server ${version}, once for this machine (one to three minutes) …`);
  }
  await ensurePackages(
    folder,
    { 'code-server': version },
    { again, finish: (at) => finish(at, ripgrep, again) },
  );
  return join(folder, 'node_modules/code-server/out/node/entry.js');
}

async function finish(folder, ripgrep, again) {
  const editor = join(folder, 'node_modules/code-server/lib/vscode');
  const flags = ['--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, output } = await npm(['install', ...flags], { cwd: editor });
  if (status !== 0) {
    throw new Trouble(`code-server's editor could not be installed (${again}):\n${output.slice(-2000)}`);
  }
  for (const name of nativeModules) await buildNativeModule(join(editor, 'node_modules', name), name);
  mkdirSync(join(editor, 'node_modules/@vscode/ripgrep/bin'), { recursive: true });
  symlinkSync(ripgrep, join(editor, 'node_modules/@vscode/ripgrep/bin/rg'));
  // The editor looks for some modules in an archive that this package replaces by the folder itself.
  symlinkSync('node_modules', join(editor, 'node_modules.asar'));
  // Hashes passwords; the tests start without one, so nothing calls it and it need not be compiled.
  const argon2 = join(folder, 'node_modules/argon2');
  rmSync(argon2, { recursive: true, force: true });
  mkdirSync(argon2);
  writeFileSync(join(argon2, 'package.json'), '{ "name": "argon2", "version": "0.0.0" }\n');
  writeFileSync(join(argon2, 'index.js'), 'module.exports = {};\n');
}

async function buildNativeModule(folder, name) {
  const headers = localHeaders();
  const { status, output } = await run(process.execPath, [nodeGyp(), 'rebuild'], {
    cwd: folder,
    env: headers ? { npm_config_nodedir: headers } : {},
  });
  if (status !== 0) {
    throw new Trouble(`code-server's native module ${name} could not be built:\n${output.slice(-2000)}`);
  }
}

/** Node's headers, where they lie beside the Node that runs this; otherwise node-gyp fetches them. */
function localHeaders() {
  const prefix = join(dirname(process.execPath), '..');
  return existsSync(join(prefix, 'include/node/node.h')) ? prefix : undefined;
}

function nodeGyp() {
  const script = npmCommand().before[0] ?? findOnPath('npm') ?? '';
  const beside = join(dirname(script), '../node_modules/node-gyp/bin/node-gyp.js');
  if (existsSync(beside)) return beside;
  throw new Trouble(`npm's node-gyp is not beside ${script}; run this through npm (npm test)`);
}
