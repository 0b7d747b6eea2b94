/**
 * Reads the part of YAML that layer specs are written in, line by line.
 *
 * YAML 1.2 mappings, lists, plain and quoted scalars, comments and flow collections mean what every YAML tool takes
 * them to mean. What layer specs do not use (anchors, aliases, tags, text blocks, several documents) is refused where
 * it stands. Unlike a reader that stops at the first error, this one takes indentation as the skeleton: a bracket or
 * quote left open, a word half typed or a line badly indented spoils its own line and no other.
 */

import type { TextSpan } from '../../model/issue.ts';
import { FlowReader } from './readFlow.ts';
import { quotedEnd, quotedText } from './yamlQuotes.ts';
import type { YamlEntry, YamlItem, YamlNode, YamlProblem, YamlScalar } from './yamlTree.ts';

/** `root` is `undefined` for a text that says nothing. */
export function readYaml(text: string): {
  readonly root: YamlNode | undefined;
  readonly problems: readonly YamlProblem[];
} {
  const reader = new Reader(text);
  return { root: reader.document(), problems: reader.problems };
}

/** A line that says something; blank lines and comments are not kept. */
interface Line {
  readonly start: number;
  /** Where its first word is. */
  readonly first: number;
  /** Without the line break and blanks before it. */
  readonly end: number;
  /** Whether a comment stands between this line and the one before. */
  readonly afterComment: boolean;
}

/** Nobody nests deeper; reading recurses. */
const deepestNesting = 64;

class Reader {
  readonly problems: YamlProblem[] = [];
  private readonly lines: readonly Line[];
  /** The line being read; after a value, the next one. */
  private row = 0;
  private depth = 0;

  constructor(private readonly text: string) {
    this.lines = this.contentLines();
  }

  document(): YamlNode | undefined {
    const [first] = this.lines;
    if (first === undefined) return undefined;
    const root = this.block(first.first, -1);
    const rest = this.lines[this.row];
    if (rest !== undefined && root !== undefined) {
      this.problem('the text goes on where nothing can follow', { start: rest.first, end: rest.end });
    }
    return root;
  }

  /** A mapping, a list or a value that begins at `position` of the present line and belongs to what is at `floor`. */
  private block(position: number, floor: number, isItem = false): YamlNode | undefined {
    const line = this.lines[this.row];
    if (line === undefined) return undefined;
    if (this.depth >= deepestNesting) {
      this.row += 1;
      return this.refuse('the text is nested too deeply', position, line.end);
    }
    this.depth += 1;
    const node = this.isDash(position, line.end)
      ? this.list(position, floor)
      : this.keyEnd(position, line.end) === undefined
        ? this.value(position, floor)
        : this.map(position, floor, isItem);
    this.depth -= 1;
    return node;
  }

  /** Items at the column of `position`; a line less indented than that but more than `floor` is a slip. */
  private list(position: number, floor: number): YamlNode {
    const column = position - this.lineStart();
    const items: YamlItem[] = [];
    this.items(items, position, column);
    for (let line = this.lines[this.row]; line !== undefined; line = this.lines[this.row]) {
      const indent = line.first - line.start;
      const dash = this.isDash(line.first, line.end);
      if (indent < column && (indent <= floor || !dash)) break;
      // A list may stand at the column of the key it belongs to; then what has no dash is the next key.
      if (indent === column && !dash && column === floor) break;
      if (indent !== column) this.misplaced(line, indent, column);
      if (dash) this.items(items, line.first, indent);
      else if (this.keyEnd(line.first, line.end) !== undefined) {
        if (indent === column) {
          this.problem('`-` is missing in front of an item of the list', {
            start: line.first,
            end: line.first + 1,
          });
        }
        const value = this.map(line.first, indent, true);
        items.push({ value, span: value.span });
      } else this.skipLine(line, 'expected an item of the list, `- …`', indent === column);
    }
    return { kind: 'list', items, span: spanOver(position, items.at(-1)?.span.end) };
  }

  /** Reads the item whose dash is at `position`. */
  private items(items: YamlItem[], position: number, column: number): void {
    const line = this.lines[this.row];
    if (line === undefined) return;
    const inside = this.skipBlanks(position + 1, line.end);
    const value = this.isBlank(inside, line.end)
      ? this.below(column, false)
      : this.block(inside, column, true);
    items.push({ value, span: value?.span ?? { start: position, end: position + 1 } });
  }

  /** A mapping; inside a list, a dash that no list of its own can take belongs to the list around it. */
  private map(position: number, floor: number, isItem: boolean): YamlNode {
    const column = position - this.lineStart();
    const entries: YamlEntry[] = [];
    const keys = new Set<string>();
    this.entry(entries, keys, position, column);
    for (let line = this.lines[this.row]; line !== undefined; line = this.lines[this.row]) {
      const indent = line.first - line.start;
      if (indent < column && indent <= floor) break;
      if (this.isDash(line.first, line.end)) {
        if (indent < column || !this.extendLastList(entries, line, column, isItem)) break;
        continue;
      }
      if (this.keyEnd(line.first, line.end) !== undefined) {
        if (indent !== column) this.misplaced(line, indent, column);
        this.entry(entries, keys, line.first, column);
      } else this.skipLine(line, 'expected `key: value`', true);
    }
    return { kind: 'map', entries, span: spanOver(position, this.endOf(entries.at(-1))) };
  }

  /**
   * List items less indented than their list, in a mapping at `floor`: they still belong there. Whether there is such a
   * list. All such lines are read at once, since each call copies the list.
   */
  private extendLastList(entries: YamlEntry[], line: Line, floor: number, isItem: boolean): boolean {
    const last = entries.at(-1);
    const before = last?.value;
    if (last === undefined || (before !== undefined && before.kind !== 'list')) {
      if (isItem) return false;
      this.skipLine(line, 'a list item cannot stand here', true);
      return true;
    }
    const items: YamlItem[] = [...(before?.items ?? [])];
    for (let next: Line | undefined = line; next !== undefined; next = this.lines[this.row]) {
      const indent = next.first - next.start;
      if (indent < floor || !this.isDash(next.first, next.end)) break;
      const [first] = items;
      if (first !== undefined) this.misplaced(next, indent, this.columnOf(first.span.start));
      this.items(items, next.first, indent);
    }
    const value: YamlNode = {
      kind: 'list',
      items,
      span: spanOver(before?.span.start ?? line.first, items.at(-1)?.span.end),
    };
    entries[entries.length - 1] = { ...last, value };
    return true;
  }

  private entry(entries: YamlEntry[], keys: Set<string>, position: number, column: number): void {
    const line = this.lines[this.row];
    const end = line === undefined ? undefined : this.keyEnd(position, line.end);
    if (line === undefined || end === undefined) return;
    const key = this.key(position, end);
    if (keys.has(key.text)) {
      this.problems.push({
        message: 'the key is already used in this mapping',
        span: key.span,
        duplicate: true,
      });
    }
    keys.add(key.text);
    const inside = this.skipBlanks(end + 1, line.end);
    const value = this.isBlank(inside, line.end) ? this.below(column, true) : this.value(inside, column);
    entries.push({ key, value });
  }

  /** The value on the lines below a key or dash at `column`. A list below a key may stand at the key's column. */
  private below(column: number, key: boolean): YamlNode | undefined {
    this.row += 1;
    const line = this.lines[this.row];
    if (line === undefined) return undefined;
    const indent = line.first - line.start;
    if (indent > column || (key && indent === column && this.isDash(line.first, line.end))) {
      return this.block(line.first, column);
    }
    return undefined;
  }

  private key(position: number, end: number): YamlScalar {
    const last = this.trimEnd(position, end);
    const span = { start: position, end: last };
    const quote = this.text[position];
    if (quote === '"' || quote === "'") {
      const content = { start: position + 1, end: Math.max(position + 1, last - 1) };
      return {
        kind: 'scalar',
        quoted: true,
        span,
        content,
        text: quotedText(this.text.slice(position, last)),
      };
    }
    if (quote === '&' || quote === '*' || quote === '!' || (quote === '?' && this.isBlankAt(position + 1))) {
      this.problem(refusals[quote] ?? '', { start: position, end: last });
    }
    return { kind: 'scalar', quoted: false, span, content: span, text: this.text.slice(position, last) };
  }

  /** A scalar or flow collection at `position`, and the lines it goes on over, which are indented more than `column`. */
  private value(position: number, column: number): YamlNode {
    const line = this.lines[this.row];
    const end = line?.end ?? position;
    const sign = this.text[position] ?? '';
    if (sign === '"' || sign === "'") return this.quoted(position, column);
    if (sign === '[' || sign === '{') {
      const flow = this.flow(position, column);
      const last = this.lines[this.row]?.end ?? flow.end;
      this.row += 1;
      this.expectBlank(flow.end, last);
      return flow.node;
    }
    const refusal = refusals[sign];
    const needsBlank = sign === '?' || sign === '-';
    if (refusal !== undefined && !(needsBlank && !this.isBlankAt(position + 1))) {
      this.row += 1;
      if (sign === '|' || sign === '>') this.skipBelow(column);
      return this.refuse(refusal, position, end);
    }
    return this.plain(position, column);
  }

  private quoted(position: number, column: number): YamlNode {
    const limit = this.lines[this.lastContinuation(column)]?.end ?? this.text.length;
    const close = quotedEnd(this.text, position, limit);
    const line = this.lines[this.row];
    if (close === undefined || line === undefined) {
      const end = line?.end ?? limit;
      this.row += 1;
      this.problem(`\`${this.text[position]}\` is not closed on this line`, { start: position, end });
      const content = { start: Math.min(position + 1, end), end };
      const text = this.text.slice(content.start, content.end);
      return { kind: 'scalar', quoted: true, span: { start: position, end }, content, text, broken: true };
    }
    while ((this.lines[this.row]?.end ?? close) < close) this.row += 1;
    this.expectBlank(close, this.lines[this.row]?.end ?? close);
    this.row += 1;
    return {
      kind: 'scalar',
      quoted: true,
      span: { start: position, end: close },
      content: { start: position + 1, end: close - 1 },
      text: quotedText(this.text.slice(position, close)),
    };
  }

  private plain(position: number, column: number): YamlScalar {
    const line = this.lines[this.row];
    let end = this.plainEnd(position, line?.end ?? position);
    let broken = false;
    const colon = /:(?=[ \t]|$)/.exec(this.text.slice(position, end));
    if (colon !== null) {
      const at = position + colon.index;
      this.problem('`:` cannot stand inside a value; put the value in quotes', { start: at, end: at + 1 });
      broken = true;
    }
    let commented = end < (line?.end ?? end);
    let text = this.text.slice(position, end);
    const last = this.lastContinuation(column);
    for (this.row += 1; this.row <= last; this.row += 1) {
      const next = this.lines[this.row];
      if (next === undefined) break;
      if (commented || next.afterComment) {
        this.problem('a comment cannot stand inside a value that goes on over several lines', {
          start: next.first,
          end: next.end,
        });
        broken = true;
      }
      const blankLines = this.text.slice(end, next.first).split('\n').length - 2;
      end = this.plainEnd(next.first, next.end);
      commented = end < next.end;
      text += `${blankLines > 0 ? '\n'.repeat(blankLines) : ' '}${this.text.slice(next.first, end)}`;
    }
    const span = { start: position, end };
    return { kind: 'scalar', quoted: false, span, content: span, text, ...(broken ? { broken } : {}) };
  }

  /** The last line that goes on with a value begun on the present one: indented more, and neither an item nor a key. */
  private lastContinuation(column: number): number {
    let last = this.row;
    for (let line = this.lines[last + 1]; line !== undefined; line = this.lines[last + 1]) {
      if (line.first - line.start <= column) break;
      if (this.isDash(line.first, line.end) || this.keyEnd(line.first, line.end) !== undefined) break;
      last += 1;
    }
    return last;
  }

  /** A list or mapping in brackets. Leaves the present line at the one it ends on. */
  private flow(position: number, column: number): { readonly node: YamlNode; readonly end: number } {
    const reader = new FlowReader(
      this.text,
      position,
      (after) => this.nextFlowLine(after, column),
      (problem) => this.problems.push(problem),
    );
    const node = reader.collection();
    return { node, end: reader.position };
  }

  /** The next line of a bracket that is still open, as its place and end; `undefined` where it cannot go on. */
  private nextFlowLine(after: number, column: number): TextSpan | undefined {
    const present = this.lines[this.row];
    if (present !== undefined && after < present.end) return { start: present.first, end: present.end };
    const next = this.lines[this.row + 1];
    if (
      next === undefined ||
      (next.first - next.start <= column && !/^[\]}]/.test(this.text[next.first] ?? ''))
    )
      return undefined;
    if (this.isDash(next.first, next.end)) return undefined;
    this.row += 1;
    return { start: next.first, end: next.end };
  }

  private skipBelow(column: number): void {
    for (let line = this.lines[this.row]; line !== undefined; line = this.lines[this.row]) {
      if (line.first - line.start <= column) break;
      this.row += 1;
    }
  }

  private skipLine(line: Line, message: string, report: boolean): void {
    this.row += 1;
    if (report) this.problem(message, { start: line.first, end: line.end });
  }

  private misplaced(line: Line, indent: number, column: number): void {
    this.problem(
      `the line is indented by ${indent}, but what it stands beside by ${column}; indent them alike`,
      { start: line.first, end: line.end },
    );
  }

  private expectBlank(position: number, end: number): void {
    const from = this.skipBlanks(position, end);
    if (this.isBlank(from, end)) return;
    this.problem('unexpected text after the value', { start: from, end });
  }

  private refuse(message: string, start: number, end: number): YamlNode {
    this.problem(message, { start, end });
    return { kind: 'unreadable', span: { start, end } };
  }

  private problem(message: string, span: TextSpan): void {
    this.problems.push({ message, span });
  }

  /** The colon of `key:` at `position`, if a key begins there. */
  private keyEnd(position: number, end: number): number | undefined {
    const sign = this.text[position];
    let from = position;
    if (sign === '"' || sign === "'") {
      const close = quotedEnd(this.text, position, end);
      if (close === undefined) return undefined;
      from = this.skipBlanks(close, end);
      return this.text[from] === ':' && this.isBlankAt(from + 1) ? from : undefined;
    }
    if (sign === '[' || sign === '{' || sign === '#') return undefined;
    for (; from < end; from += 1) {
      const code = this.text.charCodeAt(from);
      if (code === colonSign && from > position && this.isBlankAt(from + 1)) return from;
      if (code === hashSign && this.isBlankAt(from - 1)) return undefined;
    }
    return undefined;
  }

  /** Where a plain value that begins at `position` ends on its line: before a comment. */
  private plainEnd(position: number, end: number): number {
    for (let at = position + 1; at < end; at += 1) {
      if (this.text.charCodeAt(at) === hashSign && this.isBlankAt(at - 1)) return this.trimEnd(position, at);
    }
    return end;
  }

  private isDash(position: number, end: number): boolean {
    return this.text[position] === '-' && (position + 1 >= end || this.isBlankAt(position + 1));
  }

  /** Whether nothing but a comment is left. */
  private isBlank(position: number, end: number): boolean {
    return position >= end || (this.text[position] === '#' && this.isBlankAt(position - 1));
  }

  private isBlankAt(position: number): boolean {
    const code = this.text.charCodeAt(position);
    return Number.isNaN(code) || code === 32 || code === 9 || code === 10 || code === 13;
  }

  private skipBlanks(position: number, end: number): number {
    let at = position;
    while (at < end && this.isBlankAt(at)) at += 1;
    return at;
  }

  private trimEnd(start: number, end: number): number {
    let at = end;
    while (at > start && this.isBlankAt(at - 1)) at -= 1;
    return at;
  }

  private lineStart(): number {
    return this.lines[this.row]?.start ?? 0;
  }

  private columnOf(offset: number): number {
    const start = this.text.lastIndexOf('\n', offset - 1) + 1;
    return /^[^-]*/.exec(this.text.slice(start, offset))?.[0].length ?? 0;
  }

  private endOf(entry: YamlEntry | undefined): number | undefined {
    return entry?.value?.span.end ?? (entry === undefined ? undefined : entry.key.span.end + 1);
  }

  private contentLines(): readonly Line[] {
    const lines: Line[] = [];
    let start = this.text.startsWith('\uFEFF') ? 1 : 0;
    let afterComment = false;
    while (start <= this.text.length) {
      const lineBreak = this.text.indexOf('\n', start);
      const next = lineBreak < 0 ? this.text.length : lineBreak;
      let first = start;
      while (first < next && this.isBlankAt(first)) first += 1;
      const end = this.trimEnd(first, next);
      if (this.text[first] === '#') afterComment = true;
      else if (end > first) {
        const marker = first === start ? documentMarker.exec(this.text.slice(first, end)) : null;
        if (marker !== null && (lines.length > 0 || marker[0] === '...')) {
          const message = 'a layer spec is one document; what follows is not read';
          if (marker[0] === '---') this.problem(message, { start: first, end });
          break;
        }
        if (marker === null) {
          if (this.text.slice(start, first).includes('\t')) {
            this.problem('a tab cannot indent YAML; use spaces', { start, end: first });
          }
          lines.push({ start, first, end, afterComment });
        }
        afterComment = false;
      }
      start = next + 1;
    }
    return lines;
  }
}

const hashSign = 35;
const colonSign = 58;

/** The line that begins or ends a document, and a directive before it. */
const documentMarker = /^(?:---(?=\s|$)|\.\.\.(?=\s|$)|%YAML\b)/;

/** What begins with one of these signs is something else in YAML than a plain value. */
const refusals: Readonly<Record<string, string>> = {
  '&': 'anchors are not used in layer specs; use a dimension, or a block for layers that repeat',
  '*': 'aliases are not used in layer specs; write the value',
  '!': 'tags are not used in layer specs; write the value alone',
  '|': 'a text block is not used in layer specs; write the value on the line',
  '>': 'a text block is not used in layer specs; write the value on the line',
  '?': 'write `key: value`',
  '-': 'a list begins on a line of its own',
  '%': 'a value cannot begin with `%`; put it in quotes',
  '@': 'a value cannot begin with `@`; put it in quotes',
  '`': 'a value cannot begin with a backtick; put it in quotes',
  ',': 'a value cannot begin with `,`',
  ']': '`]` closes nothing',
  '}': '`}` closes nothing',
};

const spanOver = (start: number, end: number | undefined): TextSpan => ({
  start,
  end: Math.max(start, end ?? start),
});
