/** The language server as a Node process: started by the client, or by any editor with `--stdio`. */

import { existsSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import type { Platform } from '../lsp/platform.ts';
import { startServer } from '../lsp/startServer.ts';
import { nodePlatform } from './nodePlatform.ts';

// V8 lets the heap of a server grow to several times what it holds before it collects: 363 MB with 200 documents open, and
// 259 MB where it may grow by 60 %. Source: `node --v8-options` of Node 20.20; `npm run bench` has both figures.
setFlagsFromString('--heap-growing-percent=60');

// Standard output belongs to the protocol.
console.log = console.error;

const hasTransport = process.argv.some((argument) => /^--(stdio|node-ipc|socket|pipe)/.test(argument));
startServer(
  hasTransport
    ? createConnection(ProposedFeatures.all)
    : createConnection(ProposedFeatures.all, process.stdin, process.stdout),
  { ...nodePlatform, ...issuesPage() },
);

/** The documentation lies beside `dist/`, in a clone and in an installed package alike. */
function issuesPage(): Pick<Platform, 'issuesPage'> {
  const page = resolve(dirname(realpathSync(process.argv[1] ?? '.')), '../docs/issues.md');
  return existsSync(page) ? { issuesPage: pathToFileURL(page).href } : {};
}
