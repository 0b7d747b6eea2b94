/** Whether a person reads the output as it comes. */

import { fstatSync } from 'node:fs';
import { createRequire } from 'node:module';
import type Tty from 'node:tty';

/**
 * Whether standard output is a terminal. The module that knows brings Node's streams and sockets along, a tenth of a
 * start: it is loaded where the output is a device at all. Of Windows' consoles only it tells.
 */
export function printsToTerminal(): boolean {
  if (process.platform !== 'win32' && !fstatSync(1).isCharacterDevice()) return false;
  const tty: typeof Tty = createRequire(import.meta.url)('node:tty');
  return tty.isatty(1);
}
