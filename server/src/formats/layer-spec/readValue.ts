/** Reads what stands behind a key or a dash: a word, a text in quotes, a list or mapping in brackets. */

import { insertion, type TextSpan } from '../../model/issue.ts';
import { FlowReader } from './readFlow.ts';
import { indentOf, type LineCursor } from './yamlLines.ts';
import { quotedEnd, quotedScalar, unclosedScalar, unopenedScalar } from './yamlQuotes.ts';
import type { YamlNode, YamlScalar } from './yamlTree.ts';
import { isBlank, isBlankAt, isDash, keyEnd, plainEnd, skipBlanks, trimEnd } from './yamlWords.ts';

/** The value at `position`, with the lines it goes on over, which are indented more than `column`. */
export function readValue(cursor: LineCursor, position: number, column: number): YamlNode {
  const { text, line } = cursor;
  const sign = text[position] ?? '';
  if (sign === '"' || sign === "'") return readQuoted(cursor, position, column);
  if (sign === '[' || sign === '{') return readBrackets(cursor, position, column);
  const end = line === undefined ? position : plainEnd(text, position, line.end);
  if (/^[^{]*:[ \t][^{]*\}$/.test(text.slice(position, end))) {
    const message = '`{` is missing before the first key';
    cursor.report(message, { start: position, end: position + 1 }, insertion('{ ', position));
    return readBrackets(cursor, position, column, '{');
  }
  const refusal = refusals[sign];
  const needsBlank = sign === '?' || sign === '-';
  if (refusal === undefined || (needsBlank && !isBlankAt(text, position + 1))) {
    return readPlain(cursor, position, column);
  }
  cursor.advance();
  if (sign === '|' || sign === '>') skipBelow(cursor, column);
  return cursor.refuse(refusal, position, line?.end ?? position);
}

/** What begins with one of these signs is something else in YAML than a plain value. */
const refusals: Readonly<Record<string, string>> = {
  '&': 'anchors are not used in layer specs; use a dimension, or a block for layers that repeat',
  '*': 'aliases are not used in layer specs; write the value',
  '!': 'tags are not used in layer specs; write the value alone',
  '|': 'a text block is not used in layer specs; write the value on the line',
  '>': 'a text block is not used in layer specs; write the value on the line',
  '?': 'write `key: value`',
  '-': 'start a list on its own line',
  '%': 'a value cannot begin with `%`; put it in quotes',
  '@': 'a value cannot begin with `@`; put it in quotes',
  '`': 'a value cannot begin with a backtick; put it in quotes',
  ',': 'a value cannot begin with `,`',
  ']': '`]` closes nothing',
  '}': '`}` closes nothing',
};

/** The key at `position`, whose colon is at `end`. */
export function readKey(cursor: LineCursor, position: number, end: number): YamlScalar {
  const { text } = cursor;
  const last = trimEnd(text, position, end);
  const sign = text[position];
  if (sign === '"' || sign === "'") return quotedScalar(text, position, last);
  const span = { start: position, end: last };
  if (sign === '&' || sign === '*' || sign === '!' || (sign === '?' && isBlankAt(text, position + 1))) {
    cursor.report(refusals[sign] ?? '', span);
  }
  return { kind: 'scalar', quoted: false, span, content: span, text: text.slice(position, last) };
}

function readQuoted(cursor: LineCursor, position: number, column: number): YamlScalar {
  const { text, line } = cursor;
  const limit = cursor.peek(continuations(cursor, column))?.end ?? text.length;
  const close = quotedEnd(text, position, limit);
  if (close === undefined || line === undefined) {
    cursor.advance();
    const lineEnd = line === undefined ? limit : plainEnd(text, position, line.end);
    return unclosedScalar(text, position, lineEnd, (problem) => cursor.problems.push(problem));
  }
  while ((cursor.line?.end ?? close) < close) cursor.advance();
  expectBlank(cursor, close, cursor.line?.end ?? close);
  cursor.advance();
  return quotedScalar(text, position, close);
}

function readPlain(cursor: LineCursor, position: number, column: number): YamlScalar {
  const { text } = cursor;
  const lineEnd = cursor.line?.end ?? position;
  let end = plainEnd(text, position, lineEnd);
  let isBroken = false;
  const colon = /:(?=[ \t]|$)/.exec(text.slice(position, end));
  const sign = text[end - 1] ?? '';
  if (colon === null && /['"]/.test(sign) && text.indexOf(sign, position) === end - 1 && end - position > 1) {
    cursor.advance();
    return unopenedScalar(text, position, end, (problem) => cursor.problems.push(problem));
  }
  if (colon !== null) {
    const at = position + colon.index;
    const message = '`:` cannot stand inside a value; put the value in quotes';
    cursor.report(message, { start: at, end: at + 1 });
    isBroken = true;
  }
  let isCommented = end < lineEnd;
  let value = text.slice(position, end);
  let more = continuations(cursor, column);
  for (cursor.advance(); more > 0; more -= 1) {
    const next = cursor.line;
    if (next === undefined) break;
    if (isCommented || next.afterComment) {
      const message = 'a comment cannot stand inside a value of several lines';
      cursor.report(message, { start: next.first, end: next.end });
      isBroken = true;
    }
    const blankLines = text.slice(end, next.first).split('\n').length - 2;
    end = plainEnd(text, next.first, next.end);
    isCommented = end < next.end;
    value += `${blankLines > 0 ? '\n'.repeat(blankLines) : ' '}${text.slice(next.first, end)}`;
    cursor.advance();
  }
  const span = { start: position, end };
  return {
    kind: 'scalar',
    quoted: false,
    span,
    content: span,
    text: value,
    ...(isBroken ? { broken: true } : {}),
  };
}

/** Lines that go on with a value begun on the present one: indented more, and neither an item nor a key. */
function continuations(cursor: LineCursor, column: number): number {
  const { text } = cursor;
  let count = 0;
  for (let line = cursor.peek(1); line !== undefined; line = cursor.peek(count + 1)) {
    if (indentOf(line) <= column) break;
    if (isDash(text, line.first, line.end) || keyEnd(text, line.first, line.end) !== undefined) break;
    count += 1;
  }
  return count;
}

/** A list or mapping in brackets. */
function readBrackets(cursor: LineCursor, position: number, column: number, missing?: '{'): YamlNode {
  const reader = new FlowReader(
    cursor.text,
    position,
    (after) => nextFlowLine(cursor, after, column),
    (problem) => cursor.problems.push(problem),
  );
  const node = reader.collection(missing);
  const last = cursor.line?.end ?? reader.position;
  cursor.advance();
  expectBlank(cursor, reader.position, last);
  return node;
}

/** The next line of a bracket that is still open, as its place and end; `undefined` where it cannot go on. */
function nextFlowLine(cursor: LineCursor, after: number, column: number): TextSpan | undefined {
  const { text, line } = cursor;
  if (line !== undefined && after < line.end) return { start: line.first, end: line.end };
  const next = cursor.peek(1);
  if (next === undefined) return undefined;
  const { first, end } = next;
  if (indentOf(next) <= column && !/^[\]}]/.test(text[first] ?? '')) return undefined;
  if (isDash(text, first, end)) return undefined;
  cursor.advance();
  return { start: first, end };
}

function skipBelow(cursor: LineCursor, column: number): void {
  while (cursor.line !== undefined && indentOf(cursor.line) > column) cursor.advance();
}

function expectBlank(cursor: LineCursor, position: number, end: number): void {
  const from = skipBlanks(cursor.text, position, end);
  if (!isBlank(cursor.text, from, end)) {
    cursor.report('unexpected text after the value', { start: from, end });
  }
}
