/**
 * The one way a layer spec is spaced: `Conv2d(64, kernel_size=3)`, `4*d`, `d + 1`, `block() * 12 from stem`,
 * `{ a: 1, b: 2 }`. Indentation, line breaks, comments and blank lines stay as they are written.
 *
 * Lines are formatted one by one, and only where every token of theirs is understood. The result is taken only if it
 * reads as the same spec.
 */

import { readLayerSpec } from '../../formats/layer-spec/readLayerSpec.ts';
import { type Token, tokenize } from '../../formats/layer-spec/tokenize.ts';
import { itemAt } from '../../model/at.ts';
import { applyEdits, type TextEdit } from '../textEdit.ts';
import { splitLines } from '../textLines.ts';
import { startOfComment } from './comments.ts';

/** Edits of the lines from `first` to `last`, both included. None where the text could not be kept the same. */
export function formatLayerSpec(
  source: string,
  first = 0,
  last = Number.MAX_SAFE_INTEGER,
): readonly TextEdit[] {
  const text = splitLines(source);
  const edits = text.lines.flatMap((line, number): readonly TextEdit[] => {
    if (number < first || number > last) return [];
    const formatted = formatLine(line);
    const start = itemAt(text.starts, number);
    return formatted === line ? [] : [{ span: { start, end: start + line.length }, text: formatted }];
  });
  return edits.length > 0 && meaning(applyEdits(source, edits)) === meaning(source) ? edits : [];
}

function formatLine(line: string): string {
  const trimmed = line.trimEnd();
  const comment = startOfComment(trimmed);
  const content = (comment < 0 ? trimmed : trimmed.slice(0, comment)).trimEnd();
  if (content === '') return trimmed;
  const gap = comment < 0 ? '' : /\s*$/.exec(trimmed.slice(0, comment))?.[0] || ' ';
  return `${formatContent(content)}${gap}${comment < 0 ? '' : trimmed.slice(comment)}`;
}

function formatContent(content: string): string {
  const layer = /^(\s*)-\s+([^\s:'"{[]+)\s*:\s+(\S.*)$/.exec(content);
  if (layer !== null) {
    const [, indent = '', name = '', call = ''] = layer;
    return `${indent}- ${name}: ${formatCall(call)}`;
  }
  const block = /^(\s+)([\p{L}_][\p{L}\p{N}_]*\s*\(.*\))\s*:$/u.exec(content);
  if (block !== null) return `${block[1]}${formatCall(block[2] ?? '')}:`;
  const entry = /^(\s*)([^\s:'"{[-][^\s:]*)\s*:\s+(\S.*)$/.exec(content);
  if (entry === null) return content;
  const [, indent = '', key = '', value = ''] = entry;
  return `${indent}${key}: ${formatValue(value)}`;
}

function formatValue(value: string): string {
  if (/^\{.*\}$/.test(value) && !/['"]/.test(value)) return formatMapping(value);
  if (/^\[[^[\]{}'"]*\]$/.test(value)) {
    const items = value
      .slice(1, -1)
      .split(',')
      .map((item) => item.trim());
    return items.length === 1 && items[0] === '' ? '[]' : `[${items.join(', ')}]`;
  }
  if (/^\w+\s*\[[^[\]]*\]$/.test(value)) return formatCall(value);
  return value;
}

/** `{ a: 1, b: x[c, d] }`: the commas of braces are those outside brackets and parentheses. */
function formatMapping(value: string): string {
  const items: string[] = [''];
  let depth = 0;
  for (const character of value.slice(1, -1)) {
    if ('([{'.includes(character)) depth += 1;
    if (')]}'.includes(character)) depth -= 1;
    if (character === ',' && depth === 0) items.push('');
    else items.push(`${items.pop() ?? ''}${character}`);
  }
  // `framework: pytorch-ddp,bucket-mb=50` would end at its comma; such a mapping is left alone.
  const entries = items.map((item) => item.trim());
  if (entries.length === 1 && entries[0] === '') return '{}';
  const spaced = entries.map((item) => item.replace(/^([\w-]+)\s*:\s+/, '$1: '));
  return `{ ${spaced.join(', ')} }`;
}

/** A call or expression with canonical blanks; as it is where it holds something that is no token of one. */
function formatCall(call: string): string {
  const tokens = tokenize(call, 0, call.length).filter(({ kind }) => kind !== 'end');
  if (tokens.some(({ kind, text }) => kind === 'unknown' || text === ':')) return call;
  let written = '';
  let depth = 0;
  for (const [index, token] of tokens.entries()) {
    const before = tokens[index - 1];
    if (before !== undefined && isSpaced(before, token, tokens[index - 2], depth)) written += ' ';
    written += call.slice(token.span.start, token.span.end);
    if (token.kind === 'punctuation' && (token.text === '(' || token.text === '[')) depth += 1;
    if (token.kind === 'punctuation' && (token.text === ')' || token.text === ']')) depth -= 1;
  }
  return written;
}

function isSpaced(left: Token, right: Token, beforeLeft: Token | undefined, depth: number): boolean {
  if (right.text === ',' || right.text === '.' || left.text === '.') return false;
  if (left.text === ',') return !(right.kind === 'punctuation' && (right.text === ')' || right.text === ']'));
  const isWord = ({ kind }: Token): boolean => kind === 'name' || kind === 'number' || kind === 'string';
  if (isWord(left) && isWord(right)) return true;
  if (left.text === ')' && isWord(right)) return true;
  const isSign = (token: Token, before: Token | undefined): boolean =>
    (token.text === '-' || token.text === '+') &&
    !(before !== undefined && (isWord(before) || ')]'.includes(before.text)));
  const isSum = (token: Token): boolean =>
    token.kind === 'punctuation' && (token.text === '+' || token.text === '-');
  if (isSum(right)) return !isSign(right, left) || left.text === ',';
  if (isSum(left)) return !isSign(left, beforeLeft);
  // Outside of all parentheses, `*` repeats the layer.
  return depth === 0 && (left.text === '*' || right.text === '*');
}

/** What a text says, without its places: equal for texts that differ in blanks only. */
function meaning(source: string): string {
  const { spec, issues } = readLayerSpec(source);
  const withoutPlaces = JSON.stringify(spec, (key, value: unknown) =>
    key === 'span' || key === 'written' || key.endsWith('Span') || key === 'scenarioSpans'
      ? undefined
      : value,
  );
  return `${issues.map(({ code, message }) => `${code} ${message}`).join('\n')}\n${withoutPlaces}\n${comments(source)}`;
}

const comments = (source: string): string =>
  splitLines(source)
    .lines.map((line) => {
      const at = startOfComment(line);
      return at < 0 ? '' : line.slice(at).trimEnd();
    })
    .join('\n');
