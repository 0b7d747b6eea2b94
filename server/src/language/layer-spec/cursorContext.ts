/**
 * Where the cursor is, told from the text alone: a line that is half written has no syntax tree, and it is the line
 * that help is wanted on.
 *
 * The frame is found by indentation, as YAML has it; a call is read by its tokens up to the cursor.
 */

import { type Token, tokenize } from '../../formats/layer-spec/tokenize.ts';
import type { TextSpan } from '../../model/issue.ts';
import { positionAt, splitLines, type TextLines } from '../textLines.ts';
import { startOfComment } from './comments.ts';

/** A call that the cursor is inside of. */
export interface OpenCall {
  readonly callee: string;
  /** Position of the argument among all that are written, from 0. */
  readonly index: number;
  /** Positional arguments before this one. */
  readonly positional: readonly string[];
  /** The keyword of this argument, once its `=` is written. */
  readonly keyword: string | undefined;
  /** Keywords of the arguments before this one. */
  readonly keywords: readonly string[];
  /** True inside a tuple, a sum or the like, where no keyword can begin. */
  readonly nested: boolean;
}

export type CursorPlace =
  | { readonly kind: 'top-level-key' }
  | { readonly kind: 'layer-start' }
  | { readonly kind: 'callee' }
  | ({ readonly kind: 'argument' } & OpenCall)
  | { readonly kind: 'after-call' }
  | { readonly kind: 'repetition' }
  | { readonly kind: 'source'; readonly taken: readonly string[] }
  | { readonly kind: 'dimension-value' }
  | { readonly kind: 'element-type' }
  | { readonly kind: 'input-size' }
  | { readonly kind: 'scenario-key' }
  | { readonly kind: 'scenario-value'; readonly key: string; readonly value: string }
  | { readonly kind: 'output'; readonly taken: readonly string[] };

export interface CursorContext {
  readonly place: CursorPlace;
  /** The word that is being written, up to the cursor; empty where none is. */
  readonly word: string;
  readonly span: TextSpan;
  /** Name of the block whose layers these are. */
  readonly block: string | undefined;
  /** Where the layer of this line begins; layers above are those before it. */
  readonly lineStart: number;
  /** What follows the cursor on its line. */
  readonly after: string;
}

/** The context at `offset`; `undefined` where nothing can be proposed: in comments, names being given, other keys. */
export function cursorContext(source: string, offset: number): CursorContext | undefined {
  const text = splitLines(source);
  const { line } = positionAt(text, offset);
  const start = text.starts[line] ?? 0;
  const before = source.slice(start, offset);
  if (startOfComment(before) >= 0) return undefined;
  const section = sectionAt(text, line);
  const content = text.lines[line] ?? '';
  const found = section === undefined ? topLevel(before) : inSection(source, text, section, line, offset);
  if (found === undefined) return undefined;
  const word = /[\p{L}_][\p{L}\p{N}_]*$/u.exec(before)?.[0] ?? '';
  const whole = found.word ?? word;
  return {
    place: found.place,
    word: whole,
    span: { start: offset - whole.length, end: offset },
    block: section?.block,
    lineStart: text.starts[section?.itemLine ?? line] ?? start,
    after: content.slice(offset - start),
  };
}

interface Found {
  readonly place: CursorPlace;
  /** Where words are not identifiers: `dgx-h100`. */
  readonly word?: string;
}

function topLevel(before: string): Found | undefined {
  return /^[A-Za-z_]*$/.test(before) ? { place: { kind: 'top-level-key' } } : undefined;
}

interface Section {
  readonly key: string;
  readonly keyLine: number;
  /** Name of the block, inside `blocks`. */
  readonly block: string | undefined;
  /** The line where this entry of a list or mapping begins. */
  readonly itemLine: number;
}

const entryStart = /^\s*(?:-(?:\s|$)|[^\s#:][^:]*:(?:\s|$))/;

function sectionAt(text: TextLines, line: number): Section | undefined {
  let itemLine = line;
  while (itemLine > 0 && !entryStart.test(text.lines[itemLine] ?? '') && isFilled(text.lines[itemLine]))
    itemLine -= 1;
  if (!isFilled(text.lines[line])) itemLine = line;
  const own = text.lines[line] ?? '';
  if (/^[^\s#-]/.test(own)) {
    const key = /^([\w-]+)\s*:/.exec(own)?.[1];
    return key === undefined ? undefined : { key, keyLine: line, block: undefined, itemLine: line };
  }
  let block: string | undefined;
  for (let at = line; at >= 0; at -= 1) {
    const content = text.lines[at] ?? '';
    if (!isFilled(content)) continue;
    // Blank lines at the left edge belong to no section: a new key begins there.
    if (at === line && own.trim() === '' && own.length === 0) return undefined;
    const key = /^([\w-]+)\s*:/.exec(content);
    if (key?.[1] !== undefined) return { key: key[1], keyLine: at, block, itemLine };
    if (block === undefined && at < line && /^\s+[^\s#-].*:\s*(?:#.*)?$/.test(content)) {
      block = /^\s+([\p{L}_][\p{L}\p{N}_]*)/u.exec(content)?.[1];
    }
  }
  return undefined;
}

const isFilled = (line: string | undefined): boolean => line !== undefined && /^\s*[^\s#]/.test(line);

function inSection(
  source: string,
  text: TextLines,
  section: Section,
  line: number,
  offset: number,
): Found | undefined {
  const own = text.lines[section.itemLine] ?? '';
  const itemStart = text.starts[section.itemLine] ?? 0;
  const item = source.slice(itemStart, offset);
  switch (section.key) {
    case 'layers':
    case 'blocks': {
      if (section.itemLine === section.keyLine) return undefined;
      const layer = /^\s*-\s+[^\s:]+\s*:(?=\s|$)\s*/.exec(item);
      if (layer !== null) return inCall(source, itemStart + layer[0].length, offset);
      if (/^\s*-?\s*\w*$/.test(item)) return { place: { kind: 'layer-start' } };
      const signature = section.key === 'blocks' ? /^\s+\w+\s*\(.*=\s*[^,()]*$/.test(item) : false;
      return signature ? { place: { kind: 'dimension-value' } } : undefined;
    }
    case 'dims':
      return inEntries(source, text, section, offset, () => ({ place: { kind: 'dimension-value' } }));
    case 'inputs':
      return inEntries(source, text, section, offset, (value) => ({
        place: { kind: value.includes('[') ? 'input-size' : 'element-type' },
      }));
    case 'scenario':
      return (
        inEntries(source, text, section, offset, (value, key) => {
          const word = /[^\s,=]*$/.exec(value)?.[0] ?? '';
          return { place: { kind: 'scenario-value', key, value }, word };
        }) ?? scenarioKey(source, text, section, line, offset)
      );
    case 'outputs': {
      const written = source.slice((text.starts[section.keyLine] ?? 0) + section.key.length, offset);
      const taken = [...written.matchAll(/[\p{L}_][\p{L}\p{N}_]*(?![\p{L}\p{N}_]|$)/gu)].map(
        ([name]) => name,
      );
      return /(?:[[,:]|-)\s*[\p{L}_\p{N}]*$/u.test(written) && !own.trimEnd().endsWith(']:')
        ? { place: { kind: 'output', taken } }
        : undefined;
    }
    default:
      return undefined;
  }
}

/** A value of a mapping, written as a block or in braces. */
function inEntries(
  source: string,
  text: TextLines,
  section: Section,
  offset: number,
  place: (value: string, key: string) => Found,
): Found | undefined {
  const written = source.slice(text.starts[section.keyLine] ?? 0, offset);
  const flow = /^[\w-]+\s*:\s*\{/.test(written);
  const item = flow
    ? (openItem(written.slice(written.indexOf('{') + 1)) ?? '')
    : source.slice(text.starts[section.itemLine] ?? 0, offset);
  if (!flow && section.itemLine === section.keyLine) return undefined;
  const entry = /^\s*([\w-]+)\s*:\s+(.*)$/s.exec(item) ?? /^\s*([\w-]+)\s*:(\[.*)$/s.exec(item);
  return entry === null ? undefined : place(entry[2] ?? '', entry[1] ?? '');
}

function scenarioKey(
  source: string,
  text: TextLines,
  section: Section,
  line: number,
  offset: number,
): Found | undefined {
  const written = source.slice(text.starts[section.keyLine] ?? 0, offset);
  const item = /^[\w-]+\s*:\s*\{/.test(written)
    ? openItem(written.slice(written.indexOf('{') + 1))
    : line === section.keyLine
      ? undefined
      : source.slice(text.starts[line] ?? 0, offset);
  return item !== undefined && /^\s*\w*$/.test(item) ? { place: { kind: 'scenario-key' } } : undefined;
}

/** The entry of braces that is still open; `undefined` after the closing one. A comma of options belongs to its value. */
function openItem(inside: string): string | undefined {
  if (/\}/.test(inside)) return undefined;
  const items = inside.split(/,(?=\s|$)/);
  return items.at(-1);
}

/** The place inside a call whose text begins at `start`. */
function inCall(source: string, start: number, offset: number): Found | undefined {
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
  const isAt = (token: Token | undefined, text: string): boolean => token?.text === text;
  const from = tokens.findIndex((token, index) => index > 0 && isAt(token, 'from'));
  const writing = last?.kind === 'name' && last.span.end === offset;
  if (from >= 0 && (from < tokens.length - 1 || !writing)) {
    const names = tokens.slice(from + 1).filter(({ kind }) => kind === 'name');
    const taken = (writing ? names.slice(0, -1) : names).map(({ text }) => text);
    const expectsName = writing || isAt(last, ',') || isAt(last, 'from');
    return expectsName ? { place: { kind: 'source', taken } } : undefined;
  }
  if (!tokens.some((token) => isAt(token, '('))) {
    const isName = tokens.every(({ kind, text }) => kind === 'name' || text === '.');
    if (isName && (tokens.length === 0 || writing || isAt(last, '.'))) return { place: { kind: 'callee' } };
    return { place: { kind: 'after-call' } };
  }
  const beforeWord = writing ? tokens.at(-2) : last;
  if (isAt(beforeWord, '*')) return { place: { kind: 'repetition' } };
  return { place: { kind: 'after-call' } };
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
