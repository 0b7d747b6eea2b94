/** `layercost lsp`: the language server over standard input and output. It is a bundle of its own. */

import { createRequire } from 'node:module';

/** Runs until the editor closes the connection. */
export function runServerCommand(): Promise<number> {
  createRequire(import.meta.url)('./server.js');
  return new Promise(() => {});
}
