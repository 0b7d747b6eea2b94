/** Entry of the desktop extension: the server is a process of its own. */

import type { ExtensionContext } from 'vscode';
import { LanguageClient, TransportKind } from 'vscode-languageclient/node';
import { activateExtension } from '../activateExtension.ts';
import { registerAgentTools } from './agentTools.ts';

export function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(...registerAgentTools(context));
  const module = context.asAbsolutePath('dist/server.js');
  return activateExtension(context, {
    canBenchmark: true,
    createClient: (_, name, options) =>
      new LanguageClient('layercost', name, { module, transport: TransportKind.ipc }, options),
  });
}
