/** Whether a person reads the output as it comes, and how wide. */

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

/** Columns of the terminal, where a person reads in one; a terminal that does not know its size has none. */
export const terminalWidth = (): number | undefined =>
  printsToTerminal() ? readableWidth(process.stdout.columns) : undefined;

/** Pseudo-terminals of build machines and editors say 0: no text is written one word a line for them. */
export const readableWidth = (columns: number | undefined): number | undefined =>
  columns !== undefined && columns >= leastWidth ? columns : undefined;

/** The narrowest table. */
export const leastWidth = 40;
