/** The language server as a web worker. */

import { BrowserMessageReader, BrowserMessageWriter, createConnection } from 'vscode-languageserver/browser';
import { startServer } from '../lsp/startServer.ts';
import { browserPlatform } from './browserPlatform.ts';

const port: ConstructorParameters<typeof BrowserMessageReader>[0] = globalThis as never;
startServer(
  createConnection(new BrowserMessageReader(port), new BrowserMessageWriter(port)),
  browserPlatform,
);
