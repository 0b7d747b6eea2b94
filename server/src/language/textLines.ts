/** A text by lines, and positions in it. Lines end with `\n`; a `\r` before it belongs to no line. */

import { itemAt } from '../model/at.ts';
import type { TextSpan } from '../model/issue.ts';

/** Zero-based line and UTF-16 character, as editors count. */
export interface Position {
  readonly line: number;
  readonly character: number;
}

export interface Range {
  readonly start: Position;
  readonly end: Position;
}

export interface TextLines {
  readonly lines: readonly string[];
  /** Offset of the first character of each line. */
  readonly starts: readonly number[];
}

export function splitLines(text: string): TextLines {
  const starts = [0];
  for (let index = text.indexOf('\n'); index >= 0; index = text.indexOf('\n', index + 1))
    starts.push(index + 1);
  const lines = starts.map((start, line) => {
    const end = (starts[line + 1] ?? text.length + 1) - 1;
    return text.slice(start, end > start && text[end - 1] === '\r' ? end - 1 : end);
  });
  return { lines, starts };
}

/** The position of an offset; offsets outside the text are moved to its ends. */
export function positionAt(text: TextLines, offset: number): Position {
  let low = 0;
  let high = text.starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (itemAt(text.starts, middle) <= offset) low = middle;
    else high = middle - 1;
  }
  const character = Math.max(0, offset - itemAt(text.starts, low));
  return { line: low, character: Math.min(character, lineLength(text, low)) };
}

/** The offset of a position; positions outside the text are moved into it. */
export function offsetAt(text: TextLines, { line, character }: Position): number {
  const start = text.starts[line];
  if (start === undefined)
    return itemAt(text.starts, text.starts.length - 1) + lineLength(text, text.lines.length - 1);
  return start + Math.min(character, lineLength(text, line));
}

export function rangeOfSpan(text: TextLines, span: TextSpan): Range {
  return { start: positionAt(text, span.start), end: positionAt(text, span.end) };
}

/** What is written on a line, without the blanks around it. */
export function rangeOfLine(text: TextLines, line: number): Range {
  const content = text.lines[line] ?? '';
  const indent = content.length - content.trimStart().length;
  return {
    start: { line, character: Math.min(indent, content.trimEnd().length) },
    end: { line, character: content.trimEnd().length },
  };
}

export const endOfLine = (text: TextLines, line: number): Position => ({
  line,
  character: lineLength(text, line),
});

const lineLength = (text: TextLines, line: number): number => (text.lines[line] ?? '').length;
