/** `layercost mcp`: the tools for agents. */

import { createRequire } from 'node:module';
import { tools } from './mcp/tools.ts';
import { packageVersion } from './packageVersion.ts';

/** Serves until the client closes the connection; the process ends by itself then. */
export function runMcpCommand(): number {
  const { serveTools } = createRequire(import.meta.url)('./mcp.js') as typeof import('./mcp/serveTools.ts');
  serveTools(tools, packageVersion());
  return 0;
}
