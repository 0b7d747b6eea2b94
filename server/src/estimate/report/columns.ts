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
function width(text: string): number {
  let count = text.length;
  for (let index = 1; index < text.length; index += 1) {
    const isPair =
      isSurrogate(text.charCodeAt(index - 1), 0xd800) && isSurrogate(text.charCodeAt(index), 0xdc00);
    if (isPair) count -= 1;
  }
  return count;
}

const isSurrogate = (code: number, first: number): boolean => code >= first && code < first + 0x400;
