/**
 * A person's own prices: one file of theirs for all workspaces, which the command line writes and both programs read.
 * Linux: `$XDG_CONFIG_HOME/layercost/prices.json`, else `~/.config/…`; macOS: `~/Library/Application Support/…`; Windows:
 * `%APPDATA%\layercost\prices.json`. Source: XDG Base Directory Specification 0.8; the systems' own guides.
 */

import { mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { readPriceTable } from '../hardware/prices/priceTable.ts';
import type { Offer } from '../model/price.ts';
import type { Market } from '../model/scenario.ts';
import { readTextFile } from './readTextFile.ts';

export interface OwnPrices {
  readonly offers: readonly Offer[];
  /** What is wrong with the file, where there is one that cannot be used. */
  readonly problem?: string;
}

export function ownPricesFile(): string {
  const { XDG_CONFIG_HOME: given, APPDATA: roaming } = process.env;
  const home = homedir();
  const folder =
    given ||
    (process.platform === 'win32'
      ? roaming || join(home, 'AppData', 'Roaming')
      : process.platform === 'darwin'
        ? join(home, 'Library', 'Application Support')
        : join(home, '.config'));
  return join(folder, 'layercost', 'prices.json');
}

/** A table of every machine in every region is a few hundred kilobytes. */
const longest = 8 * 2 ** 20;

export function readOwnPrices(file = ownPricesFile()): OwnPrices {
  const read = readTextFile(file, longest);
  // Most people have none.
  if (!('text' in read)) return { offers: [] };
  const table = readPriceTable(read.text);
  return 'offers' in table
    ? table
    : {
        offers: [],
        problem: `${file}: ${table.problem}; write it anew (docs/prices.md)`,
      };
}

/** Replaces the file as a whole; throws what the file system says. */
export function writeOwnPrices(offers: readonly Offer[], file = ownPricesFile()): void {
  mkdirSync(dirname(file), { recursive: true });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(offers, null, 2)}\n`);
  renameSync(draft, file);
}

/** Own prices and the day, for a request that asks for money. */
export const readMarket = (now: Date = new Date()): Market => ({
  offers: readOwnPrices().offers,
  today: now.toISOString().slice(0, 10),
});

/** The same for a server, which asks often: the file is read when it has changed. */
export function watchedMarket(file = ownPricesFile()): () => Market {
  let last: { readonly changed: number | undefined; readonly market: Market } | undefined;
  return () => {
    const today = new Date().toISOString().slice(0, 10);
    const changed = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (last === undefined || last.changed !== changed || last.market.today !== today)
      last = { changed, market: { offers: readOwnPrices(file).offers, today } };
    return last.market;
  };
}
