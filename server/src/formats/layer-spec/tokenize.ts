/** Splits the text of a call or an expression into tokens. Anything is a token: what fits nowhere is `unknown`. */

import type { TextSpan } from '../../model/issue.ts';

export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'punctuation' | 'unknown' | 'end';
  /** As written; for strings without quotes. */
  readonly text: string;
  readonly span: TextSpan;
}

/**
 * Tokens of `text[start, end)`, closed by an `end` token. Spans are offsets in `text`.
 *
 * An unclosed string ends after its first word and is `unknown`, so that what follows is still read.
 */
export function tokenize(text: string, start: number, end: number): readonly Token[] {
  const tokens: Token[] = [];
  let position = start;
  while (position < end) {
    const first = position;
    const code = text.charCodeAt(position);
    if (isSpace(code)) {
      position += 1;
      continue;
    }
    let kind: Token['kind'];
    if (isNameStart(text, position)) {
      kind = 'name';
      position = nameEnd(text, position, end);
    } else if (isDigit(code) || (code === dot && isDigit(text.charCodeAt(position + 1)))) {
      kind = 'number';
      position = numberEnd(text, position, end);
    } else if (code === quote || code === doubleQuote) {
      const close = stringEnd(text, position, end);
      kind = close.closed ? 'string' : 'unknown';
      position = close.end;
    } else {
      const sign = text[position] ?? '';
      kind = punctuation.includes(sign) ? 'punctuation' : 'unknown';
      const isDouble = (sign === '*' || sign === '/') && text[position + 1] === sign && position + 1 < end;
      position += isDouble ? 2 : lengthOfCharacter(text, position);
    }
    position = Math.min(position, end);
    const written = kind === 'string' ? text.slice(first + 1, position - 1) : text.slice(first, position);
    tokens.push({ kind, text: written, span: { start: first, end: position } });
  }
  tokens.push({ kind: 'end', text: '', span: { start: end, end } });
  return tokens;
}

const dot = 46;
const quote = 39;
const doubleQuote = 34;
const underscore = 95;
const punctuation = '()[],=*/+-%.:';

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

const isAsciiLetter = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 65 && code <= 90);

const isSpace = (code: number): boolean =>
  code === 32 || (code >= 9 && code <= 13) || (code > 127 && /\s/.test(String.fromCharCode(code)));

function isNameStart(text: string, position: number): boolean {
  const code = text.charCodeAt(position);
  if (code < 128) return isAsciiLetter(code) || code === underscore;
  return /^\p{L}/u.test(text.slice(position, position + 2));
}

function nameEnd(text: string, start: number, end: number): number {
  let position = start;
  while (position < end) {
    const code = text.charCodeAt(position);
    if (isAsciiLetter(code) || isDigit(code) || code === underscore) position += 1;
    else if (code >= 128 && /^[\p{L}\p{N}]/u.test(text.slice(position, position + 2))) {
      position += lengthOfCharacter(text, position);
    } else break;
  }
  return position;
}

/** Digits with `_` between them, a fraction, an exponent. */
function numberEnd(text: string, start: number, end: number): number {
  let position = digitsEnd(text, start, end);
  if (text.charCodeAt(position) === dot && position < end) position = digitsEnd(text, position + 1, end);
  const sign = text[position];
  if ((sign === 'e' || sign === 'E') && position < end) {
    const signed = text[position + 1] === '+' || text[position + 1] === '-' ? 2 : 1;
    if (isDigit(text.charCodeAt(position + signed))) return plainDigitsEnd(text, position + signed, end);
  }
  return position;
}

function digitsEnd(text: string, start: number, end: number): number {
  let position = start;
  while (position < end) {
    const code = text.charCodeAt(position);
    if (!isDigit(code) && code !== underscore) break;
    position += 1;
  }
  return position;
}

function plainDigitsEnd(text: string, start: number, end: number): number {
  let position = start;
  while (position < end && isDigit(text.charCodeAt(position))) position += 1;
  return position;
}

function stringEnd(
  text: string,
  start: number,
  end: number,
): { readonly end: number; readonly closed: boolean } {
  const opening = text.charCodeAt(start);
  let position = start + 1;
  for (; position < end; position += 1) {
    const code = text.charCodeAt(position);
    if (code === opening) return { end: position + 1, closed: true };
    if (code === 10) break;
  }
  let wordEnd = start + 1;
  while (wordEnd < end && /[\w.-]/.test(text[wordEnd] ?? '')) wordEnd += 1;
  return { end: wordEnd, closed: false };
}

/** Characters beyond the basic plane take two code units. */
const lengthOfCharacter = (text: string, position: number): number =>
  (text.codePointAt(position) ?? 0) > 0xffff ? 2 : 1;
