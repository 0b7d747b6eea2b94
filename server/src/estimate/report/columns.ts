/** Lays out rows of text in aligned columns, for terminals and fixed-width blocks. */

export interface Column {
  readonly title: string;
  readonly align: 'left' | 'right';
}

/** One line per row under a line of titles; columns are as wide as their widest cell, two spaces apart. */
export function layoutColumns(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const all = [columns.map(({ title }) => title), ...rows];
  const widths = columns.map((_, column) => {
    let widest = 0;
    for (const row of all) widest = Math.max(widest, width(row[column] ?? ''));
    return widest;
  });
  return all.map((row) => {
    let line = '';
    for (const [index, column] of columns.entries()) {
      const cell = row[index] ?? '';
      const fill = ' '.repeat((widths[index] ?? 0) - width(cell));
      line += `${index === 0 ? '' : '  '}${column.align === 'left' ? cell + fill : fill + cell}`;
    }
    return line.trimEnd();
  });
}

/** Columns a text takes: one per code point; combining and double-width characters do not occur in reports. */
const width = (text: string): number => (pairs.test(text) ? [...text].length : text.length);

/** The halves of characters that JavaScript counts twice. */
const pairs = /[\ud800-\udfff]/;
