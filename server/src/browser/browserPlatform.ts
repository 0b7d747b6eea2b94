/** What a browser worker offers the language server: nothing. The client reads files; no process can start. */

import type { Platform } from '../lsp/platform.ts';
import { restOfTexts } from '../lsp/restingTexts.ts';

export const browserPlatform: Platform = {
  bytesEncoding: 'binary',
  openFile: () => undefined,
  restOfTexts,
};
