/** Entry of the web extension: the server is a worker. */

import { type ExtensionContext, Uri } from 'vscode';
import { LanguageClient } from 'vscode-languageclient/browser';
import { activateExtension } from '../activateExtension.ts';
import { serverWorker } from './serverWorker.ts';

export function activate(context: ExtensionContext): Promise<void> {
  const worker = serverWorker(Uri.joinPath(context.extensionUri, 'dist', 'engine.js').toString(true));
  context.subscriptions.push(worker);
  return activateExtension(context, {
    canBenchmark: false,
    createClient: (_, name, options) => new LanguageClient('layercost', name, worker.start, options),
  });
}
