/** The key of a layer spec that a line belongs to, told by indentation as YAML has it. */

import type { TextLines } from '../textLines.ts';

export interface Section {
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

/** `character` is the column of the cursor: on an empty line what will be written stands there. */
export function sectionAt(text: TextLines, line: number, character: number): Section {
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
export const indentOf = (line: string): number => line.length - line.trimStart().length;
export const isFilled = (line: string | undefined): boolean => line !== undefined && /^\s*[^\s#]/.test(line);
