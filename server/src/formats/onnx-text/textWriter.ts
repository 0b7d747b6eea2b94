/** Text built line by line, which always knows where it stands. */

export const indentation = '   ';
export class TextWriter {
  readonly #lines: string[] = [];
  #current = '';

  /** 0-based. */
  get line(): number {
    return this.#lines.length;
  }

  /** 0-based, in UTF-16 code units. */
  get column(): number {
    return this.#current.length;
  }

  write(text: string): void {
    this.#current += text;
  }

  endLine(): void {
    this.#lines.push(this.#current);
    this.#current = '';
  }

  /** Entries on lines of their own between brackets; an empty list stays on the line. */
  list(open: string, entries: readonly string[], close: string): void {
    this.write(open);
    if (entries.length > 0) {
      this.endLine();
      for (const [index, entry] of entries.entries()) {
        this.write(`${indentation}${entry}${index === entries.length - 1 ? '' : ','}`);
        this.endLine();
      }
    }
    this.write(close);
  }

  /** Everything written, lines joined by `\n`, one at the end. */
  text(): string {
    return this.#current === ''
      ? `${this.#lines.join('\n')}\n`
      : `${this.#lines.join('\n')}\n${this.#current}\n`;
  }
}
