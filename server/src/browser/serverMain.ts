/** The language server as a web worker. */

import {
  BrowserMessageReader,
  BrowserMessageWriter,
  createConnection,
  type Message,
} from 'vscode-languageserver/browser';
import { startServer } from '../lsp/startServer.ts';
import { workerLock } from '../protocol.ts';
import { browserPlatform } from './browserPlatform.ts';

// The browser releases the lock when this worker ends, which is how the client learns of it.
// The editor may put words of its own before the name that the client chose.
const lock = self.name.slice(Math.max(0, self.name.lastIndexOf(workerLock)));
const held = new Promise<void>((resolve) => {
  const hold = (): Promise<void> => {
    resolve();
    return new Promise<void>(() => {});
  };
  // Where locks are denied, the client gets none either.
  navigator.locks.request(lock, hold).catch(resolve);
});

/** After the first message the client asks for the lock: were it free by then, this worker would count as ended. */
class HoldingWriter extends BrowserMessageWriter {
  override async write(message: Message): Promise<void> {
    await held;
    return super.write(message);
  }
}

const port: ConstructorParameters<typeof BrowserMessageReader>[0] = globalThis as never;
startServer(createConnection(new BrowserMessageReader(port), new HoldingWriter(port)), browserPlatform);
