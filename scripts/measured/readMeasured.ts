/** Rows of the tables in `measured/`: comma-separated, comments with the sources above the names of the columns. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';

export type MeasuredRow = Readonly<Record<string, string>>;

export function readMeasured(folder: string, file: string): readonly MeasuredRow[] {
  return parse<Record<string, string>>(readFileSync(join(folder, file)), {
    columns: true,
    comment: '#',
    comment_no_infix: true,
    skip_empty_lines: true,
  });
}

export function numberIn(row: MeasuredRow, column: string): number {
  const value = Number(row[column]);
  if (!Number.isFinite(value)) throw new Error(`${column} is not a number: ${JSON.stringify(row)}`);
  return value;
}

/**
 * Rows to fit on and rows to judge by: every second one, in an order that does not follow the sizes, so that the
 * split does not depend on how a source lists its rows.
 */
export function halves<Row>(rows: readonly Row[]): {
  readonly fitted: readonly Row[];
  readonly held: readonly Row[];
} {
  const order = rows.map((row, index) => ({ row, key: scrambled(index) })).sort((a, b) => a.key - b.key);
  return {
    fitted: order.filter((_, index) => index % 2 === 0).map(({ row }) => row),
    held: order.filter((_, index) => index % 2 === 1).map(({ row }) => row),
  };
}

/** Knuth's multiplicative hash (The Art of Computer Programming, volume 3, section 6.4). */
const scrambled = (index: number): number => Math.imul(index + 1, 2654435761) >>> 0;
