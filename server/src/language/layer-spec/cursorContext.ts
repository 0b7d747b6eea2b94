/**
 * Where the cursor is, told from the text alone: a line that is half written has no syntax tree, and it is the line
 * that help is wanted on.
 *
 * The frame is found by indentation, as YAML has it; a call is read by its tokens up to the cursor.
 */

import { itemAt } from '../../model/at.ts';
import type { TextSpan } from '../../model/issue.ts';
import { positionAt, splitLines, type TextLines } from '../textLines.ts';
import { startOfComment } from './comments.ts';
import type { CursorPlace, FoundPlace } from './cursorPlace.ts';
import { placeInCall } from './placeInCall.ts';
import { placeBelowFramework, placeInBraces, placeOnLine } from './scenarioContext.ts';
import { indentOf, isFilled, type Section, sectionAt } from './sectionAt.ts';

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
  const start = itemAt(text.starts, line);
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

/** A key of the top level, or of a model below `models`. */
function keyPlace(before: string, { model }: Section): FoundPlace | undefined {
  if (model !== undefined) return /^\s+\w*$/.test(before) ? { place: { kind: 'model-key' } } : undefined;
  return /^\w*$/.test(before) ? { place: { kind: 'top-level-key' } } : undefined;
}

type KnownSection = Section & { readonly key: string };

function inSection(
  source: string,
  text: TextLines,
  section: KnownSection,
  line: number,
  offset: number,
): FoundPlace | undefined {
  const own = text.lines[section.itemLine] ?? '';
  const itemStart = itemAt(text.starts, section.itemLine);
  const item = source.slice(itemStart, offset);
  switch (section.key) {
    case 'layers':
    case 'blocks': {
      if (section.itemLine === section.keyLine) return undefined;
      const layer = /^\s*-\s+[^:]+:(?=\s|$)\s*/.exec(item);
      if (layer !== null) return placeInCall(source, itemStart + layer[0].length, offset);
      if (/^\s*-?\s*\w*$/.test(item)) return { place: { kind: 'layer-start' } };
      const signature = section.key === 'blocks' ? /^\s+\w+\s*\(.*=\s*[^,()]*$/.test(item) : false;
      return signature ? { place: { kind: 'dimension-value' } } : undefined;
    }
    case 'dims':
    case 'inputs': {
      const value = writtenValue(source, text, section, offset);
      if (value === undefined) return undefined;
      if (section.key === 'dims') return { place: { kind: 'dimension-value' } };
      return { place: { kind: value.includes('[') ? 'input-size' : 'element-type' } };
    }
    case 'scenario':
      return inScenario(source, text, section, line, offset);
    case 'outputs': {
      const written = source.slice(itemAt(text.starts, section.keyLine) + section.key.length, offset);
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

/** What is written of a value of a mapping, on a line of its own or in braces; `undefined` where no value is. */
function writtenValue(
  source: string,
  text: TextLines,
  section: KnownSection,
  offset: number,
): string | undefined {
  const written = source.slice(itemAt(text.starts, section.keyLine), offset);
  const flow = /^\s*[\w-]+\s*:\s*\{/.test(written);
  const item = flow
    ? (openItem(written.slice(written.indexOf('{') + 1)) ?? '')
    : source.slice(itemAt(text.starts, section.itemLine), offset);
  if (!flow && section.itemLine === section.keyLine) return undefined;
  return (/^\s*[\w-]+\s*:\s+(.*)$/s.exec(item) ?? /^\s*[\w-]+\s*:(\[.*)$/s.exec(item))?.[1];
}

function inScenario(
  source: string,
  text: TextLines,
  { key, keyLine, inner }: KnownSection,
  line: number,
  offset: number,
): FoundPlace | undefined {
  const after = source.slice(offset);
  const start = itemAt(text.starts, keyLine);
  const value = source.indexOf(key, start) + key.length;
  const written = source.slice(value, offset);
  const brace = /^\s*:\s*(?=\{)/.exec(written);
  if (brace !== null) return placeInBraces(written.slice(brace[0].length), after);
  if (line === keyLine) return undefined;
  const item = source.slice(itemAt(text.starts, line), offset);
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
