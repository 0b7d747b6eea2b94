/** The lines of a YAML text that say something, and a reader's place among them. */

import type { Repair, TextSpan } from '../../model/issue.ts';
import type { YamlProblem, YamlUnreadable } from './yamlTree.ts';
import { isBlankAt, trimEnd } from './yamlWords.ts';

export interface YamlLine {
  readonly start: number;
  /** Where its first word is. */
  readonly first: number;
  /** Without the line break and blanks before it. */
  readonly end: number;
  /** How far its first word is from the margin, or was meant to be. */
  readonly indent: number;
  /** Whether a comment stands between this line and the one before. */
  readonly afterComment: boolean;
}

export const indentOf = ({ indent }: YamlLine): number => indent;

/** Indents of lines, by where they start, in the place of those that are written. */
export type MeantIndents = ReadonlyMap<number, number>;

export class LineCursor {
  readonly problems: YamlProblem[] = [];
  /** Lists and mappings around the present place. */
  depth = 0;
  private readonly lines: readonly YamlLine[];
  private row = 0;

  constructor(
    readonly text: string,
    meant: MeantIndents,
  ) {
    this.lines = contentLines(text, meant, (problem) => this.problems.push(problem));
  }

  /** The line being read; after a value, the next one. */
  get line(): YamlLine | undefined {
    return this.lines[this.row];
  }

  /** A line further on. */
  peek(ahead: number): YamlLine | undefined {
    return this.lines[this.row + ahead];
  }

  advance(): void {
    this.row += 1;
  }

  report(message: string, span: TextSpan, repair?: Repair): void {
    this.problems.push({ message, span, ...(repair === undefined ? {} : { repair }) });
  }

  refuse(message: string, start: number, end: number): YamlUnreadable {
    this.report(message, { start, end });
    return { kind: 'unreadable', span: { start, end } };
  }
}

/** Without blank lines, comments, and the markers around the one document that is read. */
export function contentLines(
  text: string,
  meant: MeantIndents,
  report: (problem: YamlProblem) => void,
): readonly YamlLine[] {
  const lines: YamlLine[] = [];
  let start = text.startsWith('\uFEFF') ? 1 : 0;
  let afterComment = false;
  while (start <= text.length) {
    const lineBreak = text.indexOf('\n', start);
    const next = lineBreak < 0 ? text.length : lineBreak;
    let first = start;
    while (first < next && isBlankAt(text, first)) first += 1;
    const end = trimEnd(text, first, next);
    if (text[first] === '#') afterComment = true;
    else if (end > first) {
      const marker = first === start ? documentMarker.exec(text.slice(first, end)) : null;
      if (marker !== null && (lines.length > 0 || marker[0] === '...')) {
        const message = 'a layer spec is one document; what follows is not read';
        if (marker[0] === '---') report({ message, span: { start: first, end } });
        break;
      }
      if (marker === null) {
        if (text.slice(start, first).includes('\t') && !meant.has(start)) {
          const message = 'a tab cannot indent YAML; use spaces';
          report({ message, span: { start, end: first }, misplaced: true });
        }
        lines.push({ start, first, end, indent: meant.get(start) ?? first - start, afterComment });
      }
      afterComment = false;
    }
    start = next + 1;
  }
  return lines;
}

/** The line that begins or ends a document, and a directive before it. */
const documentMarker = /^(?:---(?=\s|$)|\.\.\.(?=\s|$)|%YAML\b)/;
