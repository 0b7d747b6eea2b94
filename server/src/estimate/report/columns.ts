/** Lays out rows of text in aligned columns, for terminals and fixed-width blocks. */

import { largestOf } from '../../model/extremes.ts';

export interface Column {
  readonly title: string;
  readonly align: 'left' | 'right';
}

/** One line per row under a line of titles; columns are as wide as their widest cell, two spaces apart. */
export function layoutColumns(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const widths = columns.map((column, index) =>
    Math.max(width(column.title), largestOf(rows.map((row) => width(row[index] ?? '')))),
  );
  const line = (cells: readonly string[]): string =>
    columns
      .map((column, index) => pad(cells[index] ?? '', widths[index] ?? 0, column.align))
      .join('  ')
      .trimEnd();
  return [line(columns.map((column) => column.title)), ...rows.map(line)];
}

function pad(text: string, to: number, align: 'left' | 'right'): string {
  const fill = ' '.repeat(Math.max(0, to - width(text)));
  return align === 'left' ? text + fill : fill + text;
}

/** Columns a text takes: one per code point; combining and double-width characters do not occur in reports. */
const width = (text: string): number => [...text].length;
