/**
 * Reads protobuf's text format (protobuf.dev, "Text Format Language Specification") into a tree of fields, without a
 * schema: `name: value`, messages in braces or angle brackets, lists, quoted pieces, comments, extensions.
 *
 * The first error ends the reading and is the one issue; what stands before it is kept.
 */

import { capitalized } from '../../model/capitalized.ts';
import type { TextSpan } from '../../model/issue.ts';
import type { TextField, TextMessage, TextValue } from './syntax.ts';

export interface ReadProtobufText {
  readonly message: TextMessage | undefined;
  readonly problem: ProtobufTextProblem | undefined;
  /** What was read: the whole message, or as much of it as stands before the problem. */
  readonly partial: TextMessage;
}

export interface ProtobufTextProblem {
  /** What is wrong and what to do, starting in upper case. */
  readonly message: string;
  readonly span: TextSpan;
  /** How far the text was looked at: its end, where something is not closed. */
  readonly reached: number;
}

/** Protobuf's own default limit of message nesting. */
const deepest = 100;

/** Scalars kept of a run under one name. Longer ones are payloads of tensors. */
const keptScalars = 65_536;

/** Reads `text` from offset `start`, as far as it can be read. */
export function readProtobufText(text: string, start = 0): ReadProtobufText {
  const reader = new ProtobufTextReader(text, start);
  const partial = reader.message('', 0);
  return reader.problem === undefined
    ? { message: partial, problem: undefined, partial }
    : { message: undefined, problem: reader.problem, partial };
}

class ProtobufTextReader {
  readonly #text: string;
  #position: number;
  problem: ProtobufTextProblem | undefined;

  constructor(text: string, start: number) {
    this.#text = text;
    this.#position = start === 0 && text.startsWith('\uFEFF') ? 1 : start;
  }

  /** Fields up to `close`, which is taken; '' is the end of the text. */
  message(close: string, depth: number): TextMessage {
    const fields: TextField[] = [];
    const start = this.#position;
    if (depth > deepest) {
      this.#fail(
        `Messages are nested more than ${deepest} levels deep: export the model again`,
        start,
        start + 1,
      );
    }
    let run: Run | undefined;
    while (this.problem === undefined) {
      const next = this.#next();
      if (next >= this.#text.length) {
        if (close !== '') {
          this.#fail(`A message has no end: close it with \`${close}\``, Math.max(0, start - 1), start);
        }
        break;
      }
      if (close !== '' && this.#matches(close)) break;
      run = this.#field(fields, run, depth);
      if (!this.#matches(';')) this.#matches(',');
    }
    return { fields };
  }

  #field(fields: TextField[], run: Run | undefined, depth: number): Run | undefined {
    const nameStart = this.#next();
    const name = this.#name();
    const nameSpan = { start: nameStart, end: this.#position };
    const colon = this.#matches(':');
    const value = this.#value(depth, colon);
    if (value === undefined) return undefined;
    if (value.kind !== 'scalar') {
      fields.push({ name, nameSpan, value });
      return undefined;
    }
    if (run !== undefined && run.name === name) {
      if (run.values.length < keptScalars) run.values.push(value);
      else run.list.omitted += 1;
      run.list.span = { start: run.list.span.start, end: value.span.end };
      if (!run.listed) fields.splice(-1, 1, { name, nameSpan: run.nameSpan, value: run.list });
      run.listed = true;
      return run;
    }
    fields.push({ name, nameSpan, value });
    const values = [value];
    const list = { kind: 'list', values, omitted: 0, span: value.span } as const;
    return { name, nameSpan, values, list: { ...list }, listed: false };
  }

  #value(depth: number, afterColon: boolean): TextValue | undefined {
    const start = this.#next();
    if (this.#matches('{')) return this.#nested('}', start, depth);
    if (this.#matches('<')) return this.#nested('>', start, depth);
    if (!afterColon && this.#text.charAt(start) !== '[') {
      this.#failAt('`:` or `{`', start);
      return undefined;
    }
    if (this.#matches('[')) return this.#list(start, depth);
    const char = this.#text.charAt(start);
    if (char === '"' || char === "'") return this.#quoted(start);
    scalar.lastIndex = start;
    const found = scalar.exec(this.#text)?.[0];
    if (found === undefined) {
      this.#failAt('a value', start);
      return undefined;
    }
    this.#position = start + found.length;
    // A minus may stand apart from its number.
    return { kind: 'scalar', text: found.replace(/\s+/g, ''), span: { start, end: this.#position } };
  }

  #nested(close: string, start: number, depth: number): TextValue {
    const message = this.message(close, depth + 1);
    return { kind: 'message', message, span: { start, end: this.#position } };
  }

  #list(start: number, depth: number): TextValue {
    const values: TextValue[] = [];
    let omitted = 0;
    if (!this.#matches(']')) {
      do {
        const next = this.#next();
        if (this.#text.charAt(next) === '[') {
          this.#failAt('a value that is not a list', next);
          break;
        }
        const value = this.#value(depth, true);
        if (value === undefined) break;
        if (values.length < keptScalars || value.kind !== 'scalar') values.push(value);
        else omitted += 1;
      } while (this.problem === undefined && this.#matches(','));
      if (this.problem === undefined && !this.#matches(']')) this.#failAt('`,` or `]`', this.#next());
    }
    return { kind: 'list', values, omitted, span: { start, end: this.#position } };
  }

  #quoted(start: number): TextValue {
    const pieces: TextSpan[] = [];
    for (;;) {
      const from = this.#next();
      const quote = this.#text.charAt(from);
      if (quote !== '"' && quote !== "'") break;
      let end = this.#text.indexOf(quote, from + 1);
      while (end >= 0 && this.#isEscaped(end)) end = this.#text.indexOf(quote, end + 1);
      if (end < 0) {
        this.#fail(`A quoted text has no end: close it with \`${quote}\``, from, from + 1);
        break;
      }
      pieces.push({ start: from + 1, end });
      this.#position = end + 1;
    }
    return { kind: 'quoted', pieces, span: { start, end: pieces.at(-1)?.end ?? start } };
  }

  #name(): string {
    const start = this.#next();
    fieldName.lastIndex = start;
    const found = fieldName.exec(this.#text)?.[0];
    if (found === undefined) {
      this.#failAt('the name of a field', start);
      return '';
    }
    this.#position = start + found.length;
    return found;
  }

  /** Start of the next token; blanks and comments are passed. */
  #next(): number {
    const text = this.#text;
    for (;;) {
      const code = text.charCodeAt(this.#position);
      if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) {
        this.#position += 1;
      } else if (code === 0x23) {
        const lineEnd = text.indexOf('\n', this.#position);
        this.#position = lineEnd < 0 ? text.length : lineEnd + 1;
      } else {
        return this.#position;
      }
    }
  }

  #matches(token: string): boolean {
    if (this.problem !== undefined || !this.#text.startsWith(token, this.#next())) return false;
    this.#position += token.length;
    return true;
  }

  #isEscaped(place: number): boolean {
    let first = place;
    while (this.#text.charAt(first - 1) === '\\') first -= 1;
    return (place - first) % 2 === 1;
  }

  #failAt(expected: string, start: number): void {
    token.lastIndex = start;
    const found = token.exec(this.#text)?.[0].slice(0, 40) ?? '';
    const shown = found === '' ? 'the end of the text' : `\`${found}\``;
    this.#fail(
      `${capitalized(expected)} expected, ${shown} found: a field is written \`name: value\` or \`name { fields }\``,
      start,
      start + found.length,
    );
  }

  #fail(message: string, start: number, end: number): void {
    this.problem ??= { message, span: { start, end }, reached: Math.max(this.#position, start) };
    this.#position = this.#text.length;
  }
}

/** Scalars one after the other under one name, which become one list. */
interface Run {
  readonly name: string;
  readonly nameSpan: TextSpan;
  readonly values: TextValue[];
  readonly list: { kind: 'list'; values: TextValue[]; omitted: number; span: TextSpan };
  listed: boolean;
}

const fieldName = /[A-Za-z_][A-Za-z0-9_]*|\d+|\[\s*[\w./\s%-]+\]/y;
const scalar = /-?\s*(?:[A-Za-z_]\w*|(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFuUlL]*)/y;
const token = /[\w.]+|[^\s\w]/y;
