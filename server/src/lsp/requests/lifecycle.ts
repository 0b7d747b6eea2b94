/** `initialize` and `shutdown`: what the server declares and how it ends. */

import type { InitializeParams } from 'vscode-languageserver';
import { trustGranted } from '../../protocol.ts';
import type { ServerContext } from '../serverContext.ts';
import { connect } from '../session.ts';
import type { Request } from './request.ts';

export function serveLifecycle(context: ServerContext, requests: readonly Request[]): void {
  const { connection, session, texts, documents } = context;
  connection.onInitialize((params: InitializeParams) => {
    connect(session, params, context.platform);
    context.start();
    const declared = requests.map(({ capabilities }) => capabilities?.(context));
    return { serverInfo: { name: 'layercost' }, capabilities: Object.assign({}, ...declared) };
  });
  connection.onNotification(trustGranted, () => {
    session.trusted = true;
  });
  connection.onShutdown(() => {
    context.stop();
    for (const uri of texts.keys()) documents.close(uri);
  });
}
