/**
 * The one wrapper around every request: cancelled work is answered as cancelled, a failure is logged in full,
 * shown once, and answered empty. The server never goes down on a request.
 */

import type { CancellationToken, Connection } from 'vscode-languageserver';
import { type ServerProblemParams, serverProblem } from '../protocol.ts';
import { ErrorCodes, LSPErrorCodes, ResponseError } from './languageServer.ts';

export interface Answering {
  /** Wraps a handler; `empty` is the answer when it fails. */
  handler<Params, Result>(
    name: string,
    empty: Result,
    work: (params: Params, token: CancellationToken) => Promise<Result> | Result,
  ): (params: Params, token: CancellationToken) => Promise<Result | ResponseError<void>>;
  /** Runs work that nobody waits for. */
  inBackground(name: string, work: () => Promise<void> | void): void;
  /** The editor has introduced itself; what it asks before is refused. Source: LSP 3.17, "Initialize Request". */
  start(): void;
  /** The connection is going away: what still runs fails, and nobody is left to tell. */
  stop(): void;
}

/** Thrown by `stopIfCancelled`, caught by the wrapper only. */
class Cancelled extends Error {}

export function stopIfCancelled(token: CancellationToken): void {
  if (token.isCancellationRequested) throw new Cancelled();
}

export function answering(connection: Connection): Answering {
  const shown = new Set<string>();
  let phase: 'waiting' | 'serving' | 'stopped' = 'waiting';
  const report = (name: string, error: unknown): void => {
    if (phase === 'stopped') return;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    connection.console.error(`${name} failed: ${text}`);
    if (shown.has(name)) return;
    shown.add(name);
    const params: ServerProblemParams = { message: `${name} failed; the log has the details` };
    connection.sendNotification(serverProblem, params).catch(() => {});
  };
  return {
    handler: (name, empty, work) => async (params, token) => {
      if (phase !== 'serving') return refusal[phase];
      try {
        stopIfCancelled(token);
        const result = await work(params, token);
        stopIfCancelled(token);
        return result;
      } catch (error) {
        if (error instanceof Cancelled)
          return new ResponseError<void>(LSPErrorCodes.RequestCancelled, `${name} was cancelled`);
        report(name, error);
        return empty;
      }
    },
    inBackground: (name, work) => {
      Promise.resolve()
        .then(work)
        .catch((error: unknown) => report(name, error));
    },
    start: () => {
      phase = 'serving';
    },
    stop: () => {
      phase = 'stopped';
    },
  };
}

const refusal = {
  waiting: new ResponseError<void>(
    ErrorCodes.ServerNotInitialized,
    'Send `initialize` before any other request',
  ),
  stopped: new ResponseError<void>(ErrorCodes.InvalidRequest, 'The server was asked to shut down'),
};
