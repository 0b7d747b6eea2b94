/** The tools for agents (`layercost mcp`) in the editor's own agent, where the editor has servers of that protocol. */

import * as vscode from 'vscode';
import { type Disposable, type ExtensionContext, l10n, lm } from 'vscode';

export function registerAgentTools(context: ExtensionContext): readonly Disposable[] {
  const api: object = vscode;
  const models: object = lm;
  // 1.100 has the functions as a proposal, which wants another key of the manifest and throws without it.
  if (!isSince(1, 101) || !hasServers(models) || !hasDefinition(api)) return [];
  const { McpStdioServerDefinition } = api;
  // The editor's own program runs the command line: as Node where it is Electron.
  const server = new McpStdioServerDefinition(
    l10n.t('Layercost: cost of a training step'),
    process.execPath,
    [context.asAbsolutePath('dist/cli.js'), 'mcp'],
    { ELECTRON_RUN_AS_NODE: '1' },
  );
  return [
    models.registerMcpServerDefinitionProvider('layercost', { provideMcpServerDefinitions: () => [server] }),
  ];
}

function isSince(major: number, minor: number): boolean {
  const [ownMajor = 0, ownMinor = 0] = vscode.version.split('.').map(Number);
  return ownMajor > major || (ownMajor === major && ownMinor >= minor);
}

/** Since VS Code 1.101, which is newer than what the extension needs. Source: `vscode.d.ts` of 1.101. */
interface ServersApi {
  registerMcpServerDefinitionProvider(
    id: string,
    provider: { readonly provideMcpServerDefinitions: () => readonly object[] },
  ): Disposable;
}

interface DefinitionApi {
  readonly McpStdioServerDefinition: new (
    label: string,
    command: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ) => object;
}

const hasServers = (models: object): models is ServersApi =>
  'registerMcpServerDefinitionProvider' in models &&
  typeof models.registerMcpServerDefinitionProvider === 'function';

const hasDefinition = (api: object): api is DefinitionApi =>
  'McpStdioServerDefinition' in api && typeof api.McpStdioServerDefinition === 'function';
