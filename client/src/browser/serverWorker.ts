/**
 * The language server as a worker whose end is noticed, so that the client starts another one.
 *
 * A browser tells nobody that a worker has ended, but it releases the locks that the worker held. The server holds the
 * lock of its own name for as long as it lives, and the client waits for that lock.
 */

import {
  BrowserMessageReader,
  BrowserMessageWriter,
  type MessageTransports,
} from 'vscode-languageclient/browser';
import { workerLock } from '../../../server/src/protocol.ts';

export interface ServerWorker {
  /** Starts a worker in place of the one before. */
  start(): Promise<MessageTransports>;
  dispose(): void;
}

export function serverWorker(address: string): ServerWorker {
  let running: Worker | undefined;
  return {
    start: () => {
      running?.terminate();
      const name = `${workerLock}${crypto.randomUUID()}`;
      const worker = new Worker(address, { name });
      running = worker;
      const reader = new WorkerReader(worker);
      const waitForEnd = (): void => {
        // Where locks are denied, the client works as well as it can tell.
        navigator.locks.request(name, () => reader.end()).catch(() => {});
      };
      // The server holds its lock before it says anything.
      worker.addEventListener('message', waitForEnd, { once: true });
      return Promise.resolve({ reader, writer: new BrowserMessageWriter(worker) });
    },
    dispose: () => running?.terminate(),
  };
}

class WorkerReader extends BrowserMessageReader {
  /** The client hears of the worker's end as of a connection that closed, and starts the server again. */
  end(): void {
    this.fireClose();
  }
}
