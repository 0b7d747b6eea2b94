/** Functions and classes of a Python text, by indentation. */

export interface PythonBlock {
  readonly name: string;
  /** Counted from 0; of `def` or `class`. */
  readonly line: number;
  readonly lastLine: number;
}

const header = /^(\s*)(?:async\s+)?(?:def|class)\s+([A-Za-z_]\w*)/;

/** In order of their first lines. A block ends before the next line that is indented no further than its header. */
export function pythonBlocks(lines: readonly string[]): readonly PythonBlock[] {
  const blocks: PythonBlock[] = [];
  const open: { readonly name: string; readonly line: number; readonly indent: number }[] = [];
  let last = -1;
  const close = (indent: number): void => {
    while ((open.at(-1)?.indent ?? -1) >= indent) {
      const block = open.pop();
      if (block !== undefined) blocks.push({ name: block.name, line: block.line, lastLine: last });
    }
  };
  for (const [line, text] of lines.entries()) {
    // Empty lines and comments end nothing, nor does the bracket that closes a long signature.
    if (/^\s*(?:#.*)?$/.test(text) || /^\s*[)\]}]/.test(text)) continue;
    const indent = text.length - text.trimStart().length;
    close(indent);
    const [, , name] = header.exec(text) ?? [];
    if (name !== undefined) open.push({ name, line, indent });
    last = line;
  }
  close(0);
  return blocks.sort((left, right) => left.line - right.line);
}
