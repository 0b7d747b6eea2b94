/** Lays out rows of text in aligned columns, for terminals and fixed-width blocks. */

import { itemAt } from '../../model/at.ts';
import { memoize } from '../../model/memoize.ts';
import { shortenMiddle } from './fitText.ts';

export interface Column {
  readonly title: string;
  readonly align: 'left' | 'right';
  /** Its texts may lose their middle, down to this width. */
  readonly least?: number;
  /** Where there is no room it is left out; the lowest first. */
  readonly leaves?: number;
}

/**
 * Rows in at most `room` characters, as far as that can be: texts are shortened, the last column's first, then columns
 * are left out, whose titles are given; `whole` is the room that all would take.
 */
export function fitColumns(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  room: number | undefined,
): { readonly lines: readonly string[]; readonly left: readonly string[]; readonly whole: number } {
  const widths = widthsOf(columns, rows);
  const whole = widths.reduce((sum, each) => sum + each + gap, -gap);
  if (room === undefined || whole <= room) {
    return { lines: layoutColumns(columns, rows, widths), left: [], whole };
  }
  const order = columns
    .map((_, index) => index)
    .filter((index) => columns[index]?.leaves !== undefined)
    .toSorted((one, other) => (columns[one]?.leaves ?? 0) - (columns[other]?.leaves ?? 0));
  const least = (index: number): number =>
    Math.min(itemAt(widths, index), columns[index]?.least ?? Number.POSITIVE_INFINITY);
  const out = new Set<number>();
  const shown = (): readonly number[] => columns.flatMap((_, index) => (out.has(index) ? [] : [index]));
  const total = (size: (index: number) => number): number =>
    shown().reduce((sum, index) => sum + size(index) + gap, -gap);
  for (const index of order) {
    if (total(least) <= room) break;
    out.add(index);
  }
  let excess = total((index) => itemAt(widths, index)) - room;
  const limits = [...widths];
  for (const index of shown().toReversed()) {
    const natural = itemAt(widths, index);
    const taken = Math.max(0, Math.min(excess, natural - least(index)));
    excess -= taken;
    limits[index] = natural - taken;
  }
  const fitted = rows.map((row) =>
    shown().map((index) => {
      const cell = row[index] ?? '';
      return columns[index]?.least === undefined ? cell : shortenMiddle(cell, itemAt(limits, index));
    }),
  );
  return {
    lines: layoutColumns(
      columns.filter((_, index) => !out.has(index)),
      fitted,
    ),
    left: columns.flatMap(({ title }, index) => (out.has(index) ? [title] : [])),
    whole,
  };
}

/** Blanks between columns. */
const gap = 2;

/** One line per row under a line of titles; columns are as wide as their widest cell, two spaces apart. */
export function layoutColumns(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  widths = widthsOf(columns, rows),
): string[] {
  // A long table says the same few things again and again, each of which is filled up once.
  const filled = columns.map(({ align }, index) =>
    memoize((cell: string) => {
      const length = itemAt(widths, index) + cell.length - width(cell);
      return align === 'right' ? cell.padStart(length) : cell.padEnd(length);
    }),
  );
  const blanks = ' '.repeat(gap);
  return [columns.map(({ title }) => title), ...rows].map((row) =>
    filled
      .map((fill, index) => fill(row[index] ?? ''))
      .join(blanks)
      .trimEnd(),
  );
}

function widthsOf(columns: readonly Column[], rows: readonly (readonly string[])[]): readonly number[] {
  return columns.map(({ title }, column) => {
    let widest = width(title);
    for (let index = 0; index < rows.length; index += 1) {
      const cell = rows[index]?.[column] ?? '';
      if (cell.length > widest) widest = Math.max(widest, width(cell));
    }
    return widest;
  });
}

/** Columns a text takes: one per code point; combining and double-width characters do not occur in reports. */
const width = (text: string): number => (pairs.test(text) ? [...text].length : text.length);

/** The halves of characters that JavaScript counts twice. */
const pairs = /[\ud800-\udfff]/;
