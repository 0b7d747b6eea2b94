/** The language server as a Node process: started by the client, or by any editor with `--stdio`. */

import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import { startServer } from '../lsp/startServer.ts';
import { nodePlatform } from './nodePlatform.ts';

// Standard output belongs to the protocol.
console.log = console.error;

const hasTransport = process.argv.some((argument) => /^--(stdio|node-ipc|socket|pipe)/.test(argument));
startServer(
  hasTransport
    ? createConnection(ProposedFeatures.all)
    : createConnection(ProposedFeatures.all, process.stdin, process.stdout),
  nodePlatform,
);
