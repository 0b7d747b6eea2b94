/** What a whole Node process takes: time, bytes read, resident memory at its highest. */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ofChildren, type Time, timed } from './measure.ts';

export interface ProcessFigures {
  readonly time: Time;
  /** By every read call, the program's own files included; `undefined` where the system does not count them. */
  readonly bytesRead: number | undefined;
  readonly residentBytes: number;
}

/** Runs `node ...parameters` to its end. `folder` takes two small files. */
export function measureProcess(folder: string, parameters: readonly string[]): ProcessFigures {
  const probe = join(folder, 'probe.cjs');
  const figures = join(folder, 'figures.json');
  writeFileSync(probe, probeSource(figures));
  const time = timed(
    () =>
      execFileSync(process.execPath, ['--require', probe, ...parameters], {
        stdio: ['ignore', 'ignore', 'ignore'],
      }),
    ofChildren,
  );
  const { residentKilobytes, counters } = JSON.parse(readFileSync(figures, 'utf8'));
  const read = /^rchar: (\d+)$/m.exec(counters)?.[1];
  return {
    time,
    bytesRead: read === undefined ? undefined : Number(read),
    residentBytes: residentKilobytes * 1024,
  };
}

/**
 * Linux counts the bytes a process reads in `/proc/self/io`, and its own highest memory in `/proc/self/status`; elsewhere
 * only the memory is known. `maxRSS` of a Linux process is at least that of the one that started it: the kernel carries
 * the mark over when the new program takes the place of the old one (getrusage(2), `setmax_mm_hiwater_rss` in `exec`).
 */
const probeSource = (figures: string): string => `
const fs = require('node:fs');
process.on('exit', () => {
  const read = (file) => { try { return fs.readFileSync(file, 'utf8'); } catch { return ''; } };
  const own = /^VmHWM:\\s*(\\d+) kB$/m.exec(read('/proc/self/status'))?.[1];
  const residentKilobytes = own === undefined ? process.resourceUsage().maxRSS : Number(own);
  fs.writeFileSync(${JSON.stringify(figures)}, JSON.stringify({ residentKilobytes, counters: read('/proc/self/io') }));
});
`;
