/** What the client needs of the place it runs in. Desktop and web each hand over their own. */

import type { ExtensionContext } from 'vscode';
import type { BaseLanguageClient, LanguageClientOptions } from 'vscode-languageclient';

export interface ClientPlatform {
  createClient(context: ExtensionContext, name: string, options: LanguageClientOptions): BaseLanguageClient;
  /** Whether the server can start processes here. */
  readonly canBenchmark: boolean;
}
