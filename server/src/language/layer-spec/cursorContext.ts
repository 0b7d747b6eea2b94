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
import { placeBelowFramework, placeInBraces, placeOnLine, type ScenarioPlace } from './scenarioContext.ts';

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
  | { readonly kind: 'model-key' }
  | { readonly kind: 'layer-start' }
  | { readonly kind: 'callee' }
  | ({ readonly kind: 'argument' } & OpenCall)
  | { readonly kind: 'after-call'; readonly hasSources: boolean; readonly marks: readonly string[] }
  | { readonly kind: 'mark-value'; readonly mark: string }
  | { readonly kind: 'repetition' }
  | { readonly kind: 'source'; readonly taken: readonly string[] }
  | { readonly kind: 'source-output'; readonly source: string }
  | { readonly kind: 'dimension-value' }
  | { readonly kind: 'element-type' }
  | { readonly kind: 'input-size' }
  | ScenarioPlace
  | { readonly kind: 'output'; readonly taken: readonly string[] };

export interface CursorContext {
  readonly place: CursorPlace;
  /** The word that is being written, up to the cursor; empty where none is. */
  readonly word: string;
  readonly span: TextSpan;
  /** Name of the block whose layers these are. */
  readonly block: string | undefined;
  /** Name of the model below `models` that this belongs to. */
  readonly model: string | undefined;
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
  const content = text.lines[line] ?? '';
  const section = sectionAt(text, line, offset - start);
  const found =
    section.key === undefined
      ? keyPlace(before, section)
      : inSection(source, text, { ...section, key: section.key }, line, offset);
  if (found === undefined) return undefined;
  const word = found.word ?? /[\p{L}_][\p{L}\p{N}_]*$/u.exec(before)?.[0] ?? '';
  return {
    place: found.place,
    word,
    span: { start: offset - word.length, end: offset },
    block: section.block,
    model: section.model,
    lineStart: text.starts[section.itemLine] ?? start,
    after: content.slice(offset - start),
  };
}

interface Found {
  readonly place: CursorPlace;
  /** Where words are not identifiers: `dgx-h100`. */
  readonly word?: string;
}

/** A key of the top level, or of a model below `models`. */
function keyPlace(before: string, { model }: Section): Found | undefined {
  if (model !== undefined) return /^\s+\w*$/.test(before) ? { place: { kind: 'model-key' } } : undefined;
  return /^\w*$/.test(before) ? { place: { kind: 'top-level-key' } } : undefined;
}

interface Section {
  /** `layers`, `dims`, …; `undefined` where such a key is being written. */
  readonly key: string | undefined;
  readonly keyLine: number;
  readonly block: string | undefined;
  /** The key below it: a block's signature, `framework` of a scenario. */
  readonly inner: EnclosingKey | undefined;
  readonly model: string | undefined;
  /** The line where this entry of a list or mapping begins. */
  readonly itemLine: number;
}

interface EnclosingKey {
  readonly name: string;
  readonly line: number;
}

function sectionAt(text: TextLines, line: number, character: number): Section {
  const own = text.lines[line] ?? '';
  const filled = isFilled(own);
  let itemLine = line;
  if (filled) while (itemLine > 0 && !entryStart.test(text.lines[itemLine] ?? '')) itemLine -= 1;
  const path = enclosingKeys(text, line, filled ? indentOf(own) : character);
  const ownKey = filled ? /^\s*([\p{L}_][\w-]*)\s*:(?:\s|$)/u.exec(own)?.[1] : undefined;
  const model = path[0]?.name === 'models' ? path[1]?.name : undefined;
  const inner = model === undefined ? path : path.slice(2);
  const [section, block] = inner;
  const shared = { model, itemLine };
  if (path[0]?.name === 'models' && model === undefined) {
    return { ...shared, key: 'models', keyLine: path[0].line, block: undefined, inner: undefined };
  }
  if (section === undefined)
    return { ...shared, key: ownKey, keyLine: line, block: undefined, inner: undefined };
  const name = section.name === 'blocks' ? block?.name : undefined;
  return { ...shared, key: section.name, keyLine: section.line, block: name, inner: block };
}

/** The keys around a line, from the outermost; lists may stand at the indentation of their key. */
function enclosingKeys(text: TextLines, line: number, indent: number): readonly EnclosingKey[] {
  const keys: EnclosingKey[] = [];
  let inner = indent;
  let inList = /^\s*-/.test(text.lines[line] ?? '');
  for (let at = line - 1; at >= 0 && (inner > 0 || inList); at -= 1) {
    const content = text.lines[at] ?? '';
    if (!isFilled(content)) continue;
    const outer = indentOf(content);
    const key = /^\s*([\p{L}_][\w-]*)\s*(?:\([^#]*\)[^#:]*)?:(?:\s|$)/u.exec(content)?.[1];
    if (outer < inner || (inList && outer === inner && key !== undefined)) {
      if (key !== undefined) keys.unshift({ name: key, line: at });
      inner = outer;
      inList = /^\s*-/.test(content);
    }
  }
  return keys;
}

const entryStart = /^\s*(?:-(?:\s|$)|[^\s#:][^:]*:(?:\s|$))/;
const indentOf = (line: string): number => line.length - line.trimStart().length;
const isFilled = (line: string | undefined): boolean => line !== undefined && /^\s*[^\s#]/.test(line);

type KnownSection = Section & { readonly key: string };

function inSection(
  source: string,
  text: TextLines,
  section: KnownSection,
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
      const layer = /^\s*-\s+[^:]+:(?=\s|$)\s*/.exec(item);
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
      return inScenario(source, text, section, line, offset);
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
  section: KnownSection,
  offset: number,
  place: (value: string, key: string) => Found,
): Found | undefined {
  const written = source.slice(text.starts[section.keyLine] ?? 0, offset);
  const flow = /^\s*[\w-]+\s*:\s*\{/.test(written);
  const item = flow
    ? (openItem(written.slice(written.indexOf('{') + 1)) ?? '')
    : source.slice(text.starts[section.itemLine] ?? 0, offset);
  if (!flow && section.itemLine === section.keyLine) return undefined;
  const entry = /^\s*([\w-]+)\s*:\s+(.*)$/s.exec(item) ?? /^\s*([\w-]+)\s*:(\[.*)$/s.exec(item);
  return entry === null ? undefined : place(entry[2] ?? '', entry[1] ?? '');
}

function inScenario(
  source: string,
  text: TextLines,
  { key, keyLine, inner }: KnownSection,
  line: number,
  offset: number,
): Found | undefined {
  const after = source.slice(offset);
  const start = text.starts[keyLine] ?? 0;
  const value = source.indexOf(key, start) + key.length;
  const written = source.slice(value, offset);
  const brace = /^\s*:\s*(?=\{)/.exec(written);
  if (brace !== null) return placeInBraces(written.slice(brace[0].length), after);
  if (line === keyLine) return undefined;
  const item = source.slice(text.starts[line] ?? 0, offset);
  if (inner === undefined) return placeOnLine(item, after);
  if (inner.name !== 'framework') return undefined;
  const indent = indentOf(text.lines[inner.line] ?? '');
  const below = text.lines.slice(inner.line + 1);
  const end = below.findIndex((each) => isFilled(each) && indentOf(each) <= indent);
  return placeBelowFramework(item, below.slice(0, end < 0 ? undefined : end).join('\n'));
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
  const writing = last?.kind === 'name' && last.span.end === offset;
  const beforeWord = writing ? tokens.at(-2) : last;
  const closed = tokens.findLastIndex((token) => isAt(token, ')'));
  const tail = tokens.slice(closed + 1);
  if (isAt(beforeWord, '=')) {
    const mark = tokens.at(writing ? -3 : -2);
    return mark?.kind === 'name' ? { place: { kind: 'mark-value', mark: mark.text } } : undefined;
  }
  const from = tail.findIndex((token, index) => isAt(token, 'from') && (!writing || index < tail.length - 1));
  const names = from < 0 ? [] : tail.slice(from + 1);
  if (closed >= 0 && isAt(beforeWord, '.') && from >= 0) {
    const source = tokens.at(writing ? -3 : -2)?.text ?? '';
    return { place: { kind: 'source-output', source } };
  }
  if (closed >= 0 && from >= 0 && (isAt(beforeWord, 'from') || isAt(beforeWord, ','))) {
    const taken = (writing ? names.slice(0, -1) : names).flatMap(({ kind, text }) =>
      kind === 'name' ? [text] : [],
    );
    return { place: { kind: 'source', taken } };
  }
  if (closed < 0) {
    const isName = tokens.every(({ kind, text }) => kind === 'name' || text === '.');
    return isName && (tokens.length === 0 || writing || isAt(last, '.'))
      ? { place: { kind: 'callee' } }
      : undefined;
  }
  if (isAt(beforeWord, '*')) return { place: { kind: 'repetition' } };
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
