/** One request or notification of LSP, or a pair that belongs together: what the server declares and how it answers. */

import type { ServerCapabilities } from 'vscode-languageserver';
import type { ServerContext } from '../serverContext.ts';

export interface Request {
  /** What the server declares when the editor connects; the client's capabilities are known by then. */
  readonly capabilities?: (context: ServerContext) => ServerCapabilities;
  /** Registers the handlers. Runs before the editor connects. */
  readonly serve: (context: ServerContext) => void;
}
