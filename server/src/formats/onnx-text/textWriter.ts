/** Text built line by line, which always knows where it stands. */
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

  /** Everything written, lines joined by `\n`, one at the end. */
  text(): string {
    return this.#current === ''
      ? `${this.#lines.join('\n')}\n`
      : `${this.#lines.join('\n')}\n${this.#current}\n`;
  }
}
