/**
 * Reads a flow collection of YAML, `{ d: 768, heads: 12 }` or `[a, b]`, over as many lines as its place allows.
 *
 * Recovers: a comma left out ends the item at the end of its line, and what is never closed ends where the lines
 * around it go on.
 */

import { insertion, type TextSpan } from '../../model/issue.ts';
import { quotedEnd, quotedScalar, unclosedScalar, unopenedScalar } from './yamlQuotes.ts';
import {
  dividedAtBlank,
  missingColon,
  type YamlEntry,
  type YamlItem,
  type YamlNode,
  type YamlProblem,
  type YamlScalar,
} from './yamlTree.ts';
import { trimEnd } from './yamlWords.ts';

/** Nobody nests deeper; reading recurses. */
const deepestNesting = 64;

export class FlowReader {
  private depth = 0;
  private lineEnd: number;
  /** A comma that is missing has been reported where it belongs. */
  private missesComma = false;

  /** `position` is at the opening bracket; `nextLine` gives the place to go on at when a line is used up. */
  constructor(
    private readonly text: string,
    public position: number,
    private readonly nextLine: (after: number) => TextSpan | undefined,
    private readonly report: (problem: YamlProblem) => void,
  ) {
    this.lineEnd = nextLine(position)?.end ?? position;
  }

  /** `missing` is the opening bracket where it does not stand at the present place. */
  collection(missing?: '{'): YamlNode {
    const start = this.position;
    const open = missing ?? this.text[start];
    const close = open === '[' ? ']' : '}';
    if (missing === undefined) this.position += 1;
    const items: YamlItem[] = [];
    const entries: YamlEntry[] = [];
    const keys = new Set<string>();
    let closed = true;
    let end = this.position;
    while (!this.takeAt(close)) {
      if (!this.skipSpace()) {
        closed = false;
        this.report({
          message: `\`${open}\` is not closed; write \`${close}\` here`,
          span: { start: end, end },
          repair: insertion(open === '{' ? ' }' : close, end),
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
      end = this.position;
      this.separator(close);
      if (this.position === before) this.position += 1;
    }
    const span = { start, end: closed ? this.position : end };
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
    if (!this.takeAt(':')) {
      const divided = dividedAtBlank(this.text, node);
      if (divided !== undefined) this.report(missingColon(divided.key));
      entries.push(divided ?? { key: node, value });
      return;
    }
    if (this.skipSpace() && !/[,\]}]/.test(this.text[this.position] ?? '')) value = this.node(true);
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
    if (this.missesComma) {
      this.missesComma = false;
      return;
    }
    const word = /^[\w"'{[-]+/.exec(this.text.slice(this.position, this.lineEnd))?.[0];
    if (word !== undefined) {
      this.report(commaBefore(this.text, this.position, word));
      return;
    }
    this.report({
      message: `expected \`,\` or \`${close}\``,
      span: { start: this.position, end: this.position + 1 },
    });
    if (/[\]}:]/.test(this.text[this.position] ?? '')) this.position += 1;
  }

  /** `isValue` where it stands behind a colon: then another key in it begins the next item. */
  private node(isValue = false): YamlNode {
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
    return this.plain(isValue);
  }

  private quoted(): YamlNode {
    const start = this.position;
    const close = quotedEnd(this.text, start, this.lineEnd);
    this.position = close ?? this.unquotedEnd(start + 1);
    return close === undefined
      ? unclosedScalar(this.text, start, this.position, this.report)
      : quotedScalar(this.text, start, close);
  }

  /** Where a value ends that begins at `start`, by its own brackets. */
  private unquotedEnd(start: number): number {
    let open = 0;
    let at = start;
    for (; at < this.lineEnd; at += 1) {
      const sign = this.text[at] ?? '';
      if (open === 0 && /[,\]}]/.test(sign)) break;
      if (/[([]/.test(sign)) open += 1;
      if (/[)\]]/.test(sign)) open -= 1;
    }
    return trimEnd(this.text, start, at);
  }

  /** A plain value ends at a comma or bracket. One with brackets of its own, such as a call, is read and reported. */
  private plain(isValue: boolean): YamlScalar | YamlNode {
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
    // `768 heads: 12`: the last word is the next key.
    const isFollowed = /^\s*:/.test(this.text.slice(at, this.lineEnd));
    const before = isValue && isFollowed ? /^(.*\S)\s+(\S+)$/s.exec(this.text.slice(start, at)) : null;
    if (before !== null) {
      const [, value = '', key = ''] = before;
      this.report(commaBefore(this.text, at - key.length, key));
      this.missesComma = true;
      at = start + value.length;
    }
    const closing = this.text[at - 1] ?? '';
    if (at - start > 1 && /['"]/.test(closing) && this.text.indexOf(closing, start) === at - 1) {
      this.position = at;
      return unopenedScalar(this.text, start, at, this.report);
    }
    const span = { start, end: at };
    this.position = at;
    if (/^[&*!|>%@`]/.test(sign)) {
      this.report({ message: `a value cannot begin with \`${sign}\` here`, span });
      return { kind: 'unreadable', span };
    }
    if (needsQuotes) {
      const written = this.text.slice(start, at);
      this.report({
        message: `\`${written}\` needs quotes between brackets, because of its own`,
        span,
        repair: { title: 'Put it in quotes', span, text: `"${written}"` },
      });
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

const commaBefore = (text: string, start: number, word: string): YamlProblem => ({
  message: `\`,\` is missing before \`${word}\``,
  span: { start, end: start + word.length },
  repair: insertion(',', trimEnd(text, 0, start)),
});
