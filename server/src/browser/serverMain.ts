/** The language server as a web worker. */

import { BrowserMessageReader, BrowserMessageWriter, createConnection } from 'vscode-languageserver/browser';
import { startServer } from '../lsp/startServer.ts';
import { workerLock } from '../protocol.ts';
import { browserPlatform } from './browserPlatform.ts';

// The browser releases the lock when this worker ends, which is how the client learns of it.
// The editor may put words of its own before the name that the client chose.
const lock = self.name.slice(Math.max(0, self.name.lastIndexOf(workerLock)));
navigator.locks.request(lock, () => new Promise<void>(() => {})).catch(() => {});

const port: ConstructorParameters<typeof BrowserMessageReader>[0] = globalThis as never;
startServer(
  createConnection(new BrowserMessageReader(port), new BrowserMessageWriter(port)),
  browserPlatform,
);
