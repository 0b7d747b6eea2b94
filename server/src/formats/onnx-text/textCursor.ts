/**
 * Walks through ONNX text: blanks, names, literals, punctuation.
 *
 * The first failure is kept and ends the text, so that every loop over what follows comes to its end by itself.
 * What is a letter or a digit follows the reference parser (ONNX 1.23 `parser.h`), which knows ASCII alone.
 */

import { capitalized } from '../../model/capitalized.ts';
import type { TextSpan } from '../../model/issue.ts';

export interface TextProblem {
  readonly message: string;
  readonly span: TextSpan;
}

export type Literal =
  /** `exact` where the value does not fit a number and was cut at ±(2^53 − 1). */
  | { readonly kind: 'int'; readonly value: number; readonly exact?: bigint }
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string };

/** What is being read, and how it is written: the last part of an error message. */
export type Hint = string;

/** Graphs in nodes and types in types: no exporter nests them deeper. */
const deepest = 100;

export class TextCursor {
  readonly text: string;
  position = 0;
  problem: TextProblem | undefined;
  hint: Hint =
    'a model is written `<ir_version: 10, opset_import: ["" : 21]> name (inputs) => (outputs) { nodes }`';
  #end: number;
  #lastTokenEnd = 0;
  #depth = 0;

  constructor(text: string) {
    this.text = text;
    this.#end = text.length;
    if (text.startsWith('\uFEFF')) this.position = 1;
  }

  /** End of the last token that was read. */
  get tokenEnd(): number {
    return this.#lastTokenEnd;
  }

  get failed(): boolean {
    return this.problem !== undefined;
  }

  /** Start of the next token. */
  next(): number {
    const { text } = this;
    for (;;) {
      const code = text.charCodeAt(this.position);
      if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) {
        this.position += 1;
      } else if (code === 0x23) {
        const lineEnd = text.indexOf('\n', this.position);
        this.position = lineEnd < 0 ? this.#end : lineEnd + 1;
      } else {
        return this.position;
      }
    }
  }

  /** First character of the next token, '' at the end. */
  peek(): string {
    return this.text.charAt(this.next());
  }

  atEnd(): boolean {
    return this.next() >= this.#end;
  }

  /** `expected` is a noun with its backticks: "`(`", "an operator". */
  fail(expected: string): void {
    const start = this.next();
    const found = this.#found(start);
    this.failWith(`${expected} expected, ${found.name} found: ${this.hint}`, start, found.end);
  }

  failWith(message: string, start: number, end: number): void {
    if (this.problem !== undefined) return;
    this.problem = { message: capitalized(message), span: { start, end } };
    this.position = this.#end;
  }

  /** Takes `token` where it is next. */
  matches(token: string): boolean {
    const start = this.next();
    if (!this.text.startsWith(token, start)) return false;
    this.#take(start + token.length);
    return true;
  }

  /** Takes `=` where it is next and no part of an arrow. */
  matchesAssignment(): boolean {
    return !this.text.startsWith('=>', this.next()) && this.matches('=');
  }

  expect(token: string): void {
    if (!this.matches(token)) this.fail(`\`${token}\``);
  }

  /** Whether an identifier is next, and which. */
  peekIdentifier(): string {
    identifier.lastIndex = this.next();
    return identifier.exec(this.text)?.[0] ?? '';
  }

  /** '' where there is none. */
  optionalIdentifier(): string {
    const found = this.peekIdentifier();
    if (found !== '') this.#take(this.position + found.length);
    return found;
  }

  identifier(what: string): string {
    const found = this.optionalIdentifier();
    if (found === '') this.fail(what);
    return found;
  }

  /** An identifier or a quoted text; `undefined` where there is neither. */
  optionalName(): string | undefined {
    if (this.peek() === '"') return this.string();
    const found = this.optionalIdentifier();
    return found === '' ? undefined : found;
  }

  name(what: string): string {
    const found = this.optionalName();
    if (found === undefined) this.fail(what);
    return found ?? '';
  }

  /**
   * One step of an operator's qualified name. Exporters make domains of version numbers, which are no identifiers;
   * the reference printer writes them all the same.
   */
  qualifiedPart(what: string): string {
    if (this.peek() === '"') return this.string();
    qualifiedPart.lastIndex = this.next();
    const found = qualifiedPart.exec(this.text)?.[0];
    if (found === undefined) {
      this.fail(what);
      return '';
    }
    this.#take(this.position + found.length);
    return found;
  }

  /** A quoted text. A backslash stands for the character after it. */
  string(): string {
    const start = this.next();
    if (this.text.charAt(start) !== '"') {
      this.fail('a quoted text');
      return '';
    }
    let quote = this.text.indexOf('"', start + 1);
    while (quote >= 0 && this.#isEscaped(quote)) quote = this.text.indexOf('"', quote + 1);
    if (quote < 0) {
      this.failWith('a quoted text has no end: close it with `"`', start, start + 1);
      return '';
    }
    this.#take(quote + 1);
    const inside = this.text.slice(start + 1, quote);
    return inside.includes('\\') ? inside.replace(/\\(.)/gs, '$1') : inside;
  }

  /** Whether an odd number of backslashes stands before this place. */
  #isEscaped(place: number): boolean {
    let first = place;
    while (this.text.charAt(first - 1) === '\\') first -= 1;
    return (place - first) % 2 === 1;
  }

  /** The next token where it is a number; `nan`, `inf` and `infinity` are written in any case. */
  optionalNumber(): Literal | undefined {
    number.lastIndex = this.next();
    const found = number.exec(this.text);
    if (found === null) return undefined;
    this.#take(number.lastIndex);
    const [text, special] = found;
    if (special !== undefined) {
      const size = special.toLowerCase() === 'nan' ? Number.NaN : Number.POSITIVE_INFINITY;
      return { kind: 'float', value: text.startsWith('-') ? -size : size };
    }
    // C++ reads `1e` as 1.
    const value = Number(text.replace(/[eE][+-]?$/, ''));
    if (/[.eE]/.test(text)) return { kind: 'float', value };
    if (Number.isSafeInteger(value)) return { kind: 'int', value };
    const saturated = value < 0 ? -Number.MAX_SAFE_INTEGER : Number.MAX_SAFE_INTEGER;
    // No type holds more digits; a longer number is not worth turning into a big one.
    return text.length > 20
      ? { kind: 'int', value: saturated }
      : { kind: 'int', value: saturated, exact: BigInt(text) };
  }

  integer(what = 'an integer'): number {
    return this.exactInteger(what).value;
  }

  /** An integer that may be beyond ±(2^53 − 1). */
  exactInteger(what = 'an integer'): Extract<Literal, { kind: 'int' }> {
    const start = this.next();
    const found = this.optionalNumber();
    if (found?.kind === 'int') return found;
    this.position = start;
    this.fail(what);
    return { kind: 'int', value: 0 };
  }

  /** Forgets the problem and goes on at `position`, as deep as it was at `depth`. */
  resume(position: number, depth: number): void {
    this.problem = undefined;
    this.position = position;
    this.#depth = depth;
  }

  get depth(): number {
    return this.#depth;
  }

  /** Goes one level deeper; false, with a problem, where that is deeper than any model. */
  enter(): boolean {
    this.#depth += 1;
    if (this.#depth <= deepest) return true;
    this.failWith(
      `graphs or types are nested more than ${deepest} levels deep: write the model with fewer levels`,
      this.position,
      this.position + 1,
    );
    return false;
  }

  leave(): void {
    this.#depth -= 1;
  }

  #take(end: number): void {
    this.position = end;
    this.#lastTokenEnd = end;
  }

  #found(start: number): { readonly name: string; readonly end: number } {
    if (start >= this.#end) return { name: 'the end of the text', end: start };
    token.lastIndex = start;
    const text = token.exec(this.text)?.[0] ?? this.text.charAt(start);
    const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
    return { name: `\`${shown}\``, end: start + text.length };
  }
}

const identifier = /[A-Za-z_][A-Za-z0-9_]*/y;
const qualifiedPart = /[^\s<>(){}[\],:="#.@]+/y;
const number = /-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d*)?|(inf|infinity|nan)(?![A-Za-z0-9_]))/iy;
const token = /[\w.]+|=>|[^\s\w]/y;
