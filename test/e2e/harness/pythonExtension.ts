/**
 * Stands in for the Python extension, which cannot be fetched where the tests run: the same identifier, the part of its
 * API that is used, and its command. Source: @vscode/python-extension 1.0.5, `main.d.ts`.
 */

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const vsce = resolve(import.meta.dirname, '../../../node_modules/@vscode/vsce/vsce');

/** Before a person selects, an interpreter that sees no installed module; afterwards `python`. Gives a `.vsix`. */
export function packPythonExtension(folder: string, python: string): string {
  mkdirSync(folder);
  const bare = join(folder, 'bare-python');
  // `-S` leaves out the folders of installed modules, and with them PyTorch.
  writeFileSync(bare, `#!/bin/sh\nexec '${python}' -S "$@"\n`);
  chmodSync(bare, 0o755);
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, undefined, 2));
  writeFileSync(join(folder, 'README.md'), 'Stands in for the Python extension in a test.\n');
  writeFileSync(join(folder, 'extension.js'), program(bare, python));
  const file = join(folder, 'python.vsix');
  const flags = ['--no-dependencies', '--allow-missing-repository', '--skip-license', '--out', file];
  const packed = spawnSync(process.execPath, [vsce, 'package', ...flags], { cwd: folder, encoding: 'utf8' });
  if (packed.status !== 0)
    throw new Error(`vsce did not pack the stand-in:\n${packed.stdout}${packed.stderr}`);
  return file;
}

const manifest = {
  publisher: 'ms-python',
  name: 'python',
  displayName: 'Python (stand-in)',
  version: '2026.1.0',
  engines: { vscode: '^1.91.0' },
  main: './extension.js',
  activationEvents: ['onCommand:python.setInterpreter'],
  contributes: { commands: [{ command: 'python.setInterpreter', title: 'Python: Select Interpreter' }] },
};

const program = (before: string, after: string): string => `
const vscode = require('vscode');
let chosen = ${JSON.stringify(before)};
exports.activate = (context) => {
  context.subscriptions.push(vscode.commands.registerCommand('python.setInterpreter', () => {
    chosen = ${JSON.stringify(after)};
  }));
  return {
    environments: {
      getActiveEnvironmentPath: () => ({ id: chosen, path: chosen }),
      resolveEnvironment: async ({ path }) => ({ executable: { uri: vscode.Uri.file(path) } }),
    },
  };
};
`;
