/** What of a call is being written, told by its tokens up to the cursor. */

import { type Token, tokenize } from '../../formats/layer-spec/tokenize.ts';
import type { FoundPlace, OpenCall } from './cursorPlace.ts';

/** The place inside a call whose text begins at `start`. */
export function placeInCall(source: string, start: number, offset: number): FoundPlace | undefined {
  const tokens = tokenize(source, start, offset).filter(({ kind }) => kind !== 'end');
  const last = tokens.at(-1);
  if (last?.kind === 'string') return undefined;
  const inString = last?.kind === 'unknown' && /^['"]/.test(last.text);
  const open = openCallOf(tokens);
  if (open !== undefined) {
    const word = inString ? (last?.text.slice(1) ?? '') : undefined;
    return { place: { kind: 'argument', ...open }, ...(word === undefined ? {} : { word }) };
  }
  if (inString) return undefined;
  const writing = last?.kind === 'name' && last.span.end === offset;
  const before = (writing ? tokens.at(-2) : last)?.text;
  const owner = tokens.at(writing ? -3 : -2);
  const closed = tokens.findLastIndex(({ text }) => text === ')');
  const tail = tokens.slice(closed + 1);
  if (before === '=') {
    return owner?.kind === 'name' ? { place: { kind: 'mark-value', mark: owner.text } } : undefined;
  }
  const from = tail.findIndex(({ text }, index) => text === 'from' && (!writing || index < tail.length - 1));
  const names = from < 0 ? [] : tail.slice(from + 1);
  if (closed >= 0 && from >= 0 && before === '.') {
    return { place: { kind: 'source-output', source: owner?.text ?? '' } };
  }
  if (closed >= 0 && from >= 0 && (before === 'from' || before === ',')) {
    const taken = (writing ? names.slice(0, -1) : names).flatMap(({ kind, text }) =>
      kind === 'name' ? [text] : [],
    );
    return { place: { kind: 'source', taken } };
  }
  if (closed < 0) {
    const isName = tokens.every(({ kind, text }) => kind === 'name' || text === '.');
    return isName && (tokens.length === 0 || writing || last?.text === '.')
      ? { place: { kind: 'callee' } }
      : undefined;
  }
  if (before === '*') return { place: { kind: 'repetition' } };
  const marks = tail.flatMap(({ kind, text }) => (kind === 'name' ? [text] : []));
  return {
    place: { kind: 'after-call', hasSources: from >= 0, marks: writing ? marks.slice(0, -1) : marks },
  };
}

/** The outermost call that is not closed: arguments of tuples inside it belong to it. */
function openCallOf(tokens: readonly Token[]): OpenCall | undefined {
  const stack: number[] = [];
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind !== 'punctuation') continue;
    if (text === '(' || text === '[') stack.push(index);
    if (text === ')' || text === ']') stack.pop();
  }
  const [first] = stack;
  const callee = first === undefined ? undefined : tokens[first - 1];
  if (first === undefined || callee?.kind !== 'name') return undefined;
  const parts: Token[][] = [[]];
  let depth = 0;
  for (const token of tokens.slice(first + 1)) {
    if (token.text === '(' || token.text === '[') depth += 1;
    if (token.text === ')' || token.text === ']') depth -= 1;
    if (token.text === ',' && depth === 0) parts.push([]);
    else parts.at(-1)?.push(token);
  }
  const keywordOf = (part: readonly Token[]): string | undefined =>
    part[0]?.kind === 'name' && part[1]?.text === '=' ? part[0].text : undefined;
  const done = parts.slice(0, -1);
  const current = parts.at(-1) ?? [];
  const keyword = keywordOf(current);
  return {
    callee: callee.text,
    index: done.length,
    positional: done
      .filter((part) => keywordOf(part) === undefined)
      .map((part) => part.map(({ text }) => text).join('')),
    keyword,
    keywords: done.flatMap((part) => keywordOf(part) ?? []),
    nested: stack.length > 1 || current.length > (keyword === undefined ? 1 : 3),
  };
}
