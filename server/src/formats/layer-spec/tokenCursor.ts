/** Where a parser by recursive descent stands among the tokens of a text, and what it has found wrong so far. */

import { type Issue, insertion, type Repair, type TextSpan } from '../../model/issue.ts';
import type { Name } from './syntax.ts';
import { type Token, tokenize } from './tokenize.ts';

export interface Parsed<Result> {
  readonly result: Result | undefined;
  readonly issues: readonly Issue[];
}

/** Parses `text[start, end)` by what `take` takes of its tokens. */
export function parseTokens<Result>(
  text: string,
  start: number,
  end: number,
  take: (cursor: TokenCursor) => Result | undefined,
): Parsed<Result> {
  const cursor = new TokenCursor(tokenize(text, start, end));
  const result = take(cursor);
  return { result, issues: cursor.issues };
}

export class TokenCursor {
  readonly issues: Issue[] = [];
  /** An argument is a call of its own: without it, nobody knows what the layer does. */
  holdsCall = false;
  private position = 0;

  /** The last token is the only one of kind `end`. */
  constructor(private readonly tokens: readonly Token[]) {}

  get token(): Token {
    return this.peek(0);
  }

  /** The token that many places further on; the last one where there are fewer. */
  peek(ahead = 1): Token {
    return this.tokens[this.position + ahead] ?? this.tokens.at(-1) ?? nothing;
  }

  get previous(): Token | undefined {
    return this.tokens[this.position - 1];
  }

  /** Where the token before ends. */
  get previousEnd(): number {
    return this.previous?.span.end ?? this.token.span.start;
  }

  get ended(): boolean {
    return this.token.kind === 'end';
  }

  /** Whether the last token is this sign. */
  endsWith(sign: string): boolean {
    const last = this.tokens.at(-2);
    return last?.text === sign && last.kind !== 'string';
  }

  /** From `start` to the end of the text. */
  spanFrom(start: number): TextSpan {
    return { start, end: this.tokens.at(-1)?.span.end ?? start };
  }

  /** Whether this sign stands here, outside of quotes. */
  at(sign: string): boolean {
    const { kind, text } = this.token;
    return text === sign && kind !== 'string';
  }

  advance(): void {
    if (this.position < this.tokens.length - 1) this.position += 1;
  }

  /** Leaves out what follows, which would be told to be wrong only because of what stands before it. */
  skipRest(): void {
    this.position = this.tokens.length - 1;
  }

  /** Whether the sign stood here; then it is passed. */
  take(sign: string): boolean {
    if (!this.at(sign)) return false;
    this.advance();
    return true;
  }

  /** Whether the word stood here; then it is passed. */
  takeWord(word: string): boolean {
    if (this.token.kind !== 'name' || this.token.text !== word) return false;
    this.advance();
    return true;
  }

  takeName(): Name | undefined {
    if (this.token.kind !== 'name') return undefined;
    const { text, span } = this.token;
    this.advance();
    return { text, span };
  }

  expectEnd(what: string): void {
    if (this.ended) return;
    const { text, span } = this.token;
    this.report(this.spanFrom(span.start), `unexpected \`${text}\` after ${what}`);
  }

  /** One issue per place: a failure is often noticed by several rules on the way out. */
  report(span: TextSpan, message: string, repair?: Repair): void {
    if (this.issues.some((issue) => issue.span?.start === span.start)) return;
    this.issues.push({
      code: 'spec/call',
      severity: 'error',
      message,
      span,
      ...(repair === undefined ? {} : { repair }),
    });
  }

  /** A comma is missing before the present token. */
  reportComma(): void {
    const { text, span } = this.token;
    this.report(span, `\`,\` is missing before \`${text}\``, insertion(',', this.previousEnd));
  }
}

const nothing: Token = { kind: 'end', text: '', span: { start: 0, end: 0 } };
