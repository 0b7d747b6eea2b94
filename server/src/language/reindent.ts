/**
 * Formats a text in brackets by its indentation alone: every line begins at the depth of the brackets around it, and
 * ends without blanks. Words, comments and line breaks stay as they are.
 */

import { itemAt } from '../model/at.ts';
import type { TextEdit } from './textEdit.ts';
import { splitLines } from './textLines.ts';

export interface IndentStyle {
  /** Blanks for each bracket that is open. */
  readonly step: number;
  readonly quotes: readonly string[];
  /** A line that what follows it belongs to: the name of a node stands above the node. */
  readonly isLabel?: (line: string) => boolean;
}

/** Edits of the lines from `first` to `last`, both included. */
export function reindent(
  source: string,
  first: number,
  last: number,
  { step, quotes, isLabel }: IndentStyle,
): readonly TextEdit[] {
  const text = splitLines(source);
  const edits: TextEdit[] = [];
  let depth = 0;
  let quote: string | undefined;
  let isLabelled = false;
  for (const [line, content] of text.lines.entries()) {
    if (line > last) break;
    const start = itemAt(text.starts, line);
    const written = content.trim();
    // A line inside a string is part of what it says.
    const isInString = quote !== undefined;
    const scanned = scanLine(written, depth, quote, quotes);
    if (line >= first && !isInString && scanned.quote === undefined) {
      const indent = written === '' ? 0 : step * (Math.max(0, scanned.least) + (isLabelled ? 1 : 0));
      const wanted = ' '.repeat(indent) + written;
      if (wanted !== content) {
        edits.push({ span: { start, end: start + content.length }, text: wanted });
      }
    }
    depth = Math.max(0, scanned.depth);
    quote = scanned.quote;
    if (written !== '' && !written.startsWith('#')) isLabelled = isLabel?.(written) === true;
  }
  return edits;
}

interface Scanned {
  readonly depth: number;
  /** The depth its first brackets close to: a line that begins with `}` stands with the line of `{`. */
  readonly least: number;
  readonly quote: string | undefined;
}

function scanLine(
  line: string,
  before: number,
  open: string | undefined,
  quotes: readonly string[],
): Scanned {
  let depth = before;
  let least = before;
  let isLeading = true;
  let quote = open;
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? '';
    if (quote !== undefined) {
      if (character === '\\') at += 1;
      else if (character === quote) quote = undefined;
      continue;
    }
    if (character === '#') break;
    if (quotes.includes(character)) quote = character;
    const isArrow = character === '>' && line[at - 1] === '=';
    if (opening.has(character)) depth += 1;
    else if (closing.has(character) && !isArrow) {
      depth -= 1;
      if (isLeading) least = depth;
      continue;
    }
    if (character !== ' ') isLeading = false;
  }
  return { depth, least, quote };
}

const opening: ReadonlySet<string> = new Set(['{', '(', '[', '<']);
const closing: ReadonlySet<string> = new Set(['}', ')', ']', '>']);
