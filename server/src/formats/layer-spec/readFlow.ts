/**
 * Reads a flow collection of YAML, `{ d: 768, heads: 12 }` or `[a, b]`, over as many lines as its place allows.
 *
 * Recovers: a comma left out ends the item at the end of its line, and what is never closed ends where the lines
 * around it go on.
 */

import type { TextSpan } from '../../model/issue.ts';
import { quotedEnd, quotedScalar, unclosedScalar } from './yamlQuotes.ts';
import type { YamlEntry, YamlItem, YamlNode, YamlProblem, YamlScalar } from './yamlTree.ts';

/** Nobody nests deeper; reading recurses. */
const deepestNesting = 64;

export class FlowReader {
  private depth = 0;
  private lineEnd: number;

  /** `position` is at the opening bracket; `nextLine` gives the place to go on at when a line is used up. */
  constructor(
    private readonly text: string,
    public position: number,
    private readonly nextLine: (after: number) => TextSpan | undefined,
    private readonly report: (problem: YamlProblem) => void,
  ) {
    this.lineEnd = nextLine(position)?.end ?? position;
  }

  collection(): YamlNode {
    const start = this.position;
    const open = this.text[start];
    const close = open === '[' ? ']' : '}';
    this.position += 1;
    const items: YamlItem[] = [];
    const entries: YamlEntry[] = [];
    const keys = new Set<string>();
    let closed = true;
    while (!this.takeAt(close)) {
      if (!this.skipSpace()) {
        closed = false;
        this.report({
          message: `\`${open}\` is not closed`,
          span: { start, end: start + 1 },
        });
        break;
      }
      if (this.text[this.position] === close) continue;
      const before = this.position;
      if (this.text[before] === ',') {
        this.report({ message: 'a value is missing before `,`', span: { start: before, end: before + 1 } });
      } else if (open === '[') {
        const value = this.node();
        items.push({ value, span: value.span });
      } else this.entry(entries, keys);
      this.separator(close);
      if (this.position === before) this.position += 1;
    }
    const span = { start, end: closed ? this.position : Math.min(this.position, this.lineEnd) };
    return open === '[' ? { kind: 'list', items, span } : { kind: 'map', entries, span };
  }

  private entry(entries: YamlEntry[], keys: Set<string>): void {
    const node = this.node();
    if (node.kind !== 'scalar') {
      if (node.kind !== 'unreadable') this.report({ message: 'a key is a name', span: node.span });
      return;
    }
    if (keys.has(node.text)) {
      this.report({ message: 'the key is already used in this mapping', span: node.span, duplicate: true });
    }
    keys.add(node.text);
    let value: YamlNode | undefined;
    if (this.takeAt(':') && this.skipSpace() && !/[,\]}]/.test(this.text[this.position] ?? '')) {
      value = this.node();
    }
    entries.push({ key: node, value });
  }

  /** Between items: a comma, or the end of the collection. */
  private separator(close: string): void {
    if (!this.skipSpace()) return;
    if (this.text[this.position] === ',') {
      this.position += 1;
      return;
    }
    if (this.text[this.position] === close) return;
    this.report({
      message: `expected \`,\` or \`${close}\``,
      span: { start: this.position, end: this.position + 1 },
    });
    if (/[\]}:]/.test(this.text[this.position] ?? '')) this.position += 1;
  }

  private node(): YamlNode {
    const start = this.position;
    const sign = this.text[start] ?? '';
    if (sign === '"' || sign === "'") return this.quoted();
    if (sign === '[' || sign === '{') {
      if (this.depth < deepestNesting) {
        this.depth += 1;
        const node = this.collection();
        this.depth -= 1;
        return node;
      }
      this.position = this.lineEnd;
      const span = { start, end: this.lineEnd };
      this.report({ message: 'the text is nested too deeply', span });
      return { kind: 'unreadable', span };
    }
    return this.plain();
  }

  private quoted(): YamlNode {
    const start = this.position;
    const close = quotedEnd(this.text, start, this.lineEnd);
    this.position = close ?? this.lineEnd;
    return close === undefined
      ? unclosedScalar(this.text, start, this.lineEnd, this.report)
      : quotedScalar(this.text, start, close);
  }

  /** A plain value ends at a comma or bracket. One with brackets of its own, such as a call, is read and reported. */
  private plain(): YamlScalar | YamlNode {
    const start = this.position;
    const sign = this.text[start] ?? '';
    let open = 0;
    let needsQuotes = false;
    let at = start;
    for (; at < this.lineEnd; at += 1) {
      const next = this.text[at] ?? '';
      if (next === '#' && /\s/.test(this.text[at - 1] ?? '')) break;
      if (next === ':' && open === 0 && /^[\s,[\]{}]?$/.test(this.text[at + 1] ?? '')) break;
      if (next === '(' || (next === '[' && at > start)) open += 1;
      else if (open > 0 && (next === ')' || next === ']')) open -= 1;
      else if (open === 0 && (next === ',' || next === ']' || next === '}')) break;
      if (next === '[' || (next === ',' && open > 0)) needsQuotes = true;
    }
    while (at > start && /\s/.test(this.text[at - 1] ?? '')) at -= 1;
    const span = { start, end: at };
    this.position = at;
    if (/^[&*!|>%@`]/.test(sign)) {
      this.report({ message: `a value cannot begin with \`${sign}\` here`, span });
      return { kind: 'unreadable', span };
    }
    if (needsQuotes) {
      const written = this.text.slice(start, at);
      this.report({ message: `\`${written}\` needs quotes between brackets, because of its own`, span });
    }
    return {
      kind: 'scalar',
      quoted: false,
      span,
      content: span,
      text: this.text.slice(start, at),
      ...(needsQuotes ? { broken: true } : {}),
    };
  }

  private takeAt(sign: string): boolean {
    if (!this.skipSpace() || this.text[this.position] !== sign) return false;
    this.position += 1;
    return true;
  }

  /** Passes blanks, comments and line ends. Whether anything is left that belongs to the collection. */
  private skipSpace(): boolean {
    for (;;) {
      while (this.position < this.lineEnd && /\s/.test(this.text[this.position] ?? '')) this.position += 1;
      const comment = this.text[this.position] === '#' && /\s/.test(this.text[this.position - 1] ?? ' ');
      if (this.position < this.lineEnd && !comment) return true;
      const next = this.nextLine(this.lineEnd);
      if (next === undefined) {
        this.position = this.lineEnd;
        return false;
      }
      this.position = next.start;
      this.lineEnd = next.end;
    }
  }
}
