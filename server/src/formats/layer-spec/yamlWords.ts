/** Where words of a line of YAML begin and end: blanks, dashes, keys, plain values, comments. */

import { quotedEnd } from './yamlQuotes.ts';

/** A space, tab or line break, or the end of the text. */
export function isBlankAt(text: string, position: number): boolean {
  const code = text.charCodeAt(position);
  return Number.isNaN(code) || code === 32 || code === 9 || code === 10 || code === 13;
}

export function skipBlanks(text: string, position: number, end: number): number {
  let at = position;
  while (at < end && isBlankAt(text, at)) at += 1;
  return at;
}

/** The end without the blanks before it. */
export function trimEnd(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && isBlankAt(text, at - 1)) at -= 1;
  return at;
}

/** Whether nothing but a comment is left. */
export const isBlank = (text: string, position: number, end: number): boolean =>
  position >= end || (text[position] === '#' && isBlankAt(text, position - 1));

/** Whether an item of a list begins here. */
export const isDash = (text: string, position: number, end: number): boolean =>
  text[position] === '-' && (position + 1 >= end || isBlankAt(text, position + 1));

/** The colon of `key:` at `position`, if a key begins there. */
export function keyEnd(text: string, position: number, end: number): number | undefined {
  const sign = text[position];
  if (sign === '"' || sign === "'") {
    const close = quotedEnd(text, position, end);
    if (close === undefined) return undefined;
    const colon = skipBlanks(text, close, end);
    return text[colon] === ':' && isBlankAt(text, colon + 1) ? colon : undefined;
  }
  if (sign === '[' || sign === '{' || sign === '#') return undefined;
  for (let at = position; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code === colonSign && at > position && isBlankAt(text, at + 1)) return at;
    if (code === openBrace || (code === hashSign && isBlankAt(text, at - 1))) return undefined;
  }
  return undefined;
}

/** Where a key ends whose colon is missing: after the word at `position`, with the parameters of a block. */
export function wordEnd(text: string, position: number, end: number): number | undefined {
  const word = /^[\p{L}_][\p{L}\p{N}_-]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?(?=[ \t]|$)/u.exec(
    text.slice(position, end),
  );
  return word === null ? undefined : position + word[0].length;
}

/** Where a plain value that begins at `position` ends on its line: before a comment. */
export function plainEnd(text: string, position: number, end: number): number {
  for (let at = position + 1; at < end; at += 1) {
    if (text.charCodeAt(at) === hashSign && isBlankAt(text, at - 1)) return trimEnd(text, position, at);
  }
  return end;
}

const hashSign = 35;
const openBrace = 123;
const colonSign = 58;
