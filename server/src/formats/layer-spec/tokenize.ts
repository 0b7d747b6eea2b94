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
 * An unclosed string ends at the end of its line and is `unknown`, so that what follows is still read.
 */
export function tokenize(text: string, start: number, end: number): readonly Token[] {
  const tokens: Token[] = [];
  let position = start;
  while (position < end) {
    tokenPattern.lastIndex = position;
    const match = tokenPattern.exec(text);
    const groups = match?.groups ?? {};
    const length = Math.max(1, Math.min(match?.[0].length ?? 1, end - position));
    const span = { start: position, end: position + length };
    position += length;
    if (groups.space !== undefined) continue;
    const written = text.slice(span.start, span.end);
    if (groups.name !== undefined) tokens.push({ kind: 'name', text: written, span });
    else if (groups.number !== undefined) tokens.push({ kind: 'number', text: written, span });
    else if (groups.string !== undefined) tokens.push({ kind: 'string', text: written.slice(1, -1), span });
    else if (groups.punctuation !== undefined) tokens.push({ kind: 'punctuation', text: written, span });
    else tokens.push({ kind: 'unknown', text: written, span });
  }
  tokens.push({ kind: 'end', text: '', span: { start: end, end } });
  return tokens;
}

const tokenPattern = new RegExp(
  [
    '(?<space>\\s+)',
    '(?<name>[\\p{L}_][\\p{L}\\p{N}_]*)',
    '(?<number>(?:\\d[\\d_]*\\.?[\\d_]*|\\.\\d[\\d_]*)(?:[eE][+-]?\\d+)?)',
    '(?<string>\'[^\'\\n]*\'|"[^"\\n]*")',
    '(?<punctuation>//|\\*\\*|[()\\[\\],=*/+\\-%.:])',
    '(?<unknown>[\'"][^\\n]*|[^])',
  ].join('|'),
  'uy',
);
