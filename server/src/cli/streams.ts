/**
 * Data goes to standard output, everything else to standard error. A reader that closed the pipe ends us quietly.
 *
 * Both are written by descriptor: making `process.stdout` a stream takes longer than writing a report.
 */

import { writeSync } from 'node:fs';
import { printableLines } from '../model/readableIssues.ts';
import { printsToTerminal } from './printsToTerminal.ts';

/** A name in a model may hold what steers a terminal: there it is shown as `\\u001b`, while a file or a pipe gets it as it is. */
export const printData = (data: string | Uint8Array): void =>
  writeAll(1, typeof data === 'string' && printsToTerminal() ? printableLines(data) : data);

export const printMessage = (line: string): void => writeAll(2, `${line}\n`);

function writeAll(descriptor: 1 | 2, data: string | Uint8Array): void {
  const content = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  let written = 0;
  while (written < content.length) {
    try {
      written += writeSync(descriptor, content, written);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'EPIPE' || code === 'EOF') process.exit(0);
      if (code !== 'EAGAIN') throw error;
      // Whoever started us made the pipe non-blocking, and it is full: its reader needs a moment.
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

const pause = new Int32Array(new SharedArrayBuffer(4));
