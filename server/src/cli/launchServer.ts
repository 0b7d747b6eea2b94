/** What an editor starts as `dist/server.js`: `layercost lsp` with the transport that the editor asks for. */

import { createRequire } from 'node:module';

process.argv.splice(2, 0, 'lsp');
createRequire(import.meta.url)('./cli.js');
