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
    /** Blanks that stand before the next cell that has any text. */
    let blanks = 0;
    columns.forEach(({ align }, index) => {
      const cell = row[index] ?? '';
      const free = (widths[index] ?? 0) - width(cell);
      if (cell !== '') {
        line += ' '.repeat(blanks + (align === 'right' ? free : 0)) + cell;
        blanks = align === 'right' ? 0 : free;
      } else blanks += free;
      blanks += 2;
    });
    return line.trimEnd();
  });
}

/** Columns a text takes: one per code point; combining and double-width characters do not occur in reports. */
const width = (text: string): number => (pairs.test(text) ? [...text].length : text.length);

/** The halves of characters that JavaScript counts twice. */
const pairs = /[\ud800-\udfff]/;
