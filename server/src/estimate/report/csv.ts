/** Comma-separated values (RFC 4180). */

import { printable } from '../../model/readableIssues.ts';

export type CsvColumn<Row> = readonly [title: string, cell: (row: Row) => string | number | null];

/** One header line, one line per row; unknown cells are empty. */
export function csvOf<Row>(columns: readonly CsvColumn<Row>[], rows: readonly Row[]): string {
  const lines = [
    columns.map(([title]) => title),
    ...rows.map((row) => columns.map(([, cell]) => quote(cell(row)))),
  ];
  return lines.map((cells) => `${cells.join(',')}\r\n`).join('');
}

function quote(cell: string | number | null): string {
  if (cell === null) return '';
  const text = typeof cell === 'number' ? String(cell) : asText(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * A spreadsheet runs a text that begins like a formula: a quote before it makes it text (OWASP, "CSV injection"). Control
 * characters are shown as `\\u001b`. The JSON report has names as they are.
 */
const asText = (cell: string): string => printable(/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell);
