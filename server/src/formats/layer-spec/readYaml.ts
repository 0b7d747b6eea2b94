/**
 * Reads the part of YAML that layer specs are written in, line by line.
 *
 * YAML 1.2 mappings, lists, plain and quoted scalars, comments and flow collections mean what every YAML tool takes
 * them to mean. What layer specs do not use (anchors, aliases, tags, text blocks, several documents) is refused where
 * it stands. Unlike a reader that stops at the first error, this one takes indentation as the skeleton: a bracket or
 * quote left open, a word half typed or a line badly indented spoils its own line and no other.
 */

import type { TextSpan } from '../../model/issue.ts';
import { readKey, readValue } from './readValue.ts';
import { indentOf, LineCursor, type MeantIndents, type YamlLine } from './yamlLines.ts';
import { missingColon, type YamlEntry, type YamlItem, type YamlNode, type YamlProblem } from './yamlTree.ts';
import { isBlank, isDash, keyEnd, skipBlanks, wordEnd } from './yamlWords.ts';

/** `root` is `undefined` for a text that says nothing. */
export function readYaml(
  text: string,
  meant: MeantIndents = new Map(),
): {
  readonly root: YamlNode | undefined;
  readonly problems: readonly YamlProblem[];
} {
  const cursor = new LineCursor(text, meant);
  const { line } = cursor;
  const root = line && readBlock(cursor, line.first, -1);
  const rest = cursor.line;
  if (rest !== undefined && root !== undefined) {
    reportLine(cursor, rest, 'unexpected content after the end of the document');
  }
  return { root, problems: cursor.problems };
}

/** Nobody nests deeper; reading recurses. */
const deepestNesting = 64;

/** A mapping, a list or a value that begins at `position` of the present line and belongs to what is at `floor`. */
function readBlock(
  cursor: LineCursor,
  position: number,
  floor: number,
  isItem = false,
): YamlNode | undefined {
  const { text, line } = cursor;
  if (line === undefined) return undefined;
  if (cursor.depth >= deepestNesting) {
    cursor.advance();
    return cursor.refuse('the text is nested too deeply', position, line.end);
  }
  cursor.depth += 1;
  const node = isDash(text, position, line.end)
    ? readList(cursor, position, floor)
    : keyEnd(text, position, line.end) === undefined && (isItem || !missesColon(cursor, position))
      ? readValue(cursor, position, floor)
      : readMap(cursor, position, floor, isItem);
  cursor.depth -= 1;
  return node;
}

/** Whether a line of one word, or one that begins with one, can only be a key: others like it follow, or what it holds. */
function missesColon(cursor: LineCursor, position: number, isInMap = false): boolean {
  const { text, line } = cursor;
  const next = cursor.peek(1);
  const end = line && wordEnd(text, position, line.end);
  if (line === undefined || end === undefined) return false;
  const isAlone = isBlank(text, skipBlanks(text, end, line.end), line.end);
  const indent = next === undefined ? -1 : indentOf(next) - indentOf(line);
  if (next === undefined || indent < 0) return isInMap && !isAlone;
  if (isDash(text, next.first, next.end)) return isAlone && indent >= 0;
  return keyEnd(text, next.first, next.end) !== undefined && (isAlone ? indent > 0 : indent === 0);
}

/** Items at the column of `position`; a line less indented than that but more than `floor` is a slip. */
function readList(cursor: LineCursor, position: number, floor: number): YamlNode {
  const { text } = cursor;
  const column = columnAt(cursor, position);
  const items: YamlItem[] = [];
  readItem(cursor, items, position, column);
  for (let { line } = cursor; line !== undefined; line = cursor.line) {
    const indent = indentOf(line);
    const hasDash = isDash(text, line.first, line.end);
    if (indent < column && (indent <= floor || !hasDash)) break;
    // A list may stand at the column of the key it belongs to; then what has no dash is the next key.
    if (indent === column && !hasDash && column === floor) break;
    if (indent !== column) reportMisplaced(cursor, line, column);
    if (hasDash) readItem(cursor, items, line.first, indent);
    else if (keyEnd(text, line.first, line.end) !== undefined) {
      if (indent === column) {
        const span = { start: line.first, end: line.first + 1 };
        cursor.report('`-` is missing in front of an item of the list', span);
      }
      const value = readMap(cursor, line.first, indent, true);
      items.push({ value, span: value.span });
    } else {
      if (indent === column) reportLine(cursor, line, 'expected an item of the list, `- …`');
      cursor.advance();
    }
  }
  return { kind: 'list', items, span: spanOver(position, items.at(-1)?.span.end) };
}

/** Reads the item whose dash is at `position`. */
function readItem(cursor: LineCursor, items: YamlItem[], position: number, column: number): void {
  const { text, line } = cursor;
  if (line === undefined) return;
  const inside = skipBlanks(text, position + 1, line.end);
  const value = isBlank(text, inside, line.end)
    ? readBelow(cursor, column, false)
    : readBlock(cursor, inside, column, true);
  items.push({ value, span: value?.span ?? { start: position, end: position + 1 } });
}

/** A mapping; inside a list, a dash that no list of its own can take belongs to the list around it. */
function readMap(cursor: LineCursor, position: number, floor: number, isItem: boolean): YamlNode {
  const { text } = cursor;
  const column = columnAt(cursor, position);
  const entries: YamlEntry[] = [];
  const keys = new Set<string>();
  readEntry(cursor, entries, keys, position, column);
  for (let { line } = cursor; line !== undefined; line = cursor.line) {
    const indent = indentOf(line);
    if (indent < column && indent <= floor) break;
    if (isDash(text, line.first, line.end)) {
      if (indent < column || !extendLastList(cursor, entries, line, column, isItem)) break;
      continue;
    }
    if (
      (indent === column && missesColon(cursor, line.first)) ||
      keyEnd(text, line.first, line.end) !== undefined
    ) {
      if (indent !== column) reportMisplaced(cursor, line, column);
      readEntry(cursor, entries, keys, line.first, column);
    } else {
      reportLine(cursor, line, 'expected `key: value`');
      cursor.advance();
    }
  }
  return { kind: 'map', entries, span: spanOver(position, endOf(entries.at(-1))) };
}

/**
 * List items less indented than their list, in a mapping at `floor`: they still belong there. Whether there is such a
 * list. All such lines are read at once, since each call copies the list.
 */
function extendLastList(
  cursor: LineCursor,
  entries: YamlEntry[],
  line: YamlLine,
  floor: number,
  isItem: boolean,
): boolean {
  const { text } = cursor;
  const last = entries.at(-1);
  const before = last?.value;
  if (last === undefined || (before !== undefined && before.kind !== 'list')) {
    if (isItem) return false;
    reportLine(cursor, line, 'a list item cannot stand here');
    cursor.advance();
    return true;
  }
  const items: YamlItem[] = [...(before?.items ?? [])];
  for (let next: YamlLine | undefined = line; next !== undefined; next = cursor.line) {
    if (indentOf(next) < floor || !isDash(text, next.first, next.end)) break;
    const [first] = items;
    if (first !== undefined) reportMisplaced(cursor, next, columnOfItem(text, first.span.start));
    readItem(cursor, items, next.first, indentOf(next));
  }
  const span = spanOver(before?.span.start ?? line.first, items.at(-1)?.span.end);
  entries[entries.length - 1] = { ...last, value: { kind: 'list', items, span } };
  return true;
}

function readEntry(
  cursor: LineCursor,
  entries: YamlEntry[],
  keys: Set<string>,
  position: number,
  column: number,
): void {
  const { text, line } = cursor;
  if (line === undefined) return;
  const colon = keyEnd(text, position, line.end);
  const end = colon ?? wordEnd(text, position, line.end);
  if (end === undefined) return;
  const key = readKey(cursor, position, end);
  if (colon === undefined) cursor.problems.push(missingColon(key));
  if (keys.has(key.text)) {
    const message = 'the key is already used in this mapping';
    cursor.problems.push({ message, span: key.span, duplicate: true });
  }
  keys.add(key.text);
  const inside = skipBlanks(text, colon === undefined ? end : colon + 1, line.end);
  const value = isBlank(text, inside, line.end)
    ? readBelow(cursor, column, true)
    : readValue(cursor, inside, column);
  entries.push({ key, value });
}

/** The value on the lines below a key or dash at `column`. A list below a key may stand at the key's column. */
function readBelow(cursor: LineCursor, column: number, isKey: boolean): YamlNode | undefined {
  cursor.advance();
  const { text, line } = cursor;
  if (line === undefined) return undefined;
  const indent = indentOf(line);
  const isBelow = indent > column || (isKey && indent === column && isDash(text, line.first, line.end));
  return isBelow ? readBlock(cursor, line.first, column) : undefined;
}

function reportMisplaced(cursor: LineCursor, line: YamlLine, column: number): void {
  const message = `the line is indented by ${indentOf(line)}, its neighbours by ${column}; indent them alike`;
  reportLine(cursor, line, message);
}

function reportLine(cursor: LineCursor, { first, end }: YamlLine, message: string): void {
  cursor.problems.push({ message, span: { start: first, end }, misplaced: true });
}

const columnAt = ({ line }: LineCursor, position: number): number =>
  line === undefined ? position : position - line.first + indentOf(line);

/** The column of the dash before an item that begins at `offset`. */
function columnOfItem(text: string, offset: number): number {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[^-]*/.exec(text.slice(start, offset))?.[0].length ?? 0;
}

const endOf = (entry: YamlEntry | undefined): number | undefined =>
  entry && (entry.value?.span.end ?? entry.key.span.end + 1);

const spanOver = (start: number, end: number | undefined): TextSpan => ({
  start,
  end: Math.max(start, end ?? start),
});
