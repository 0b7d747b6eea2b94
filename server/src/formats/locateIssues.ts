/** Issues of a text that no editor shows: where they are is said in words. */

import { itemAt } from '../model/at.ts';
import type { Issue } from '../model/issue.ts';

/** The issues with line and column in front of their messages; those that have them stay as they are. */
export function locateIssues(issues: readonly Issue[], text: string): readonly Issue[] {
  let starts: readonly number[] | undefined;
  return issues.map((issue) => {
    const { span, message } = issue;
    if (span === undefined) return issue;
    starts ??= lineStarts(text);
    const line = lineAt(starts, span.start);
    const column = span.start - itemAt(starts, line) + 1;
    const place = `line ${line + 1}, column ${column}: `;
    return message.startsWith(place) ? issue : { ...issue, message: `${place}${message}` };
  });
}

/** Where an offset of a text is, to follow a message. */
export function wordsOfOffset(text: string, offset: number): string {
  const before = text.slice(0, offset);
  return `at line ${before.split('\n').length}, column ${offset - before.lastIndexOf('\n')}`;
}

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** The last line that starts at `offset` or before it. */
function lineAt(starts: readonly number[], offset: number): number {
  let first = 0;
  let last = starts.length - 1;
  while (first < last) {
    const middle = Math.ceil((first + last) / 2);
    if (itemAt(starts, middle) <= offset) first = middle;
    else last = middle - 1;
  }
  return first;
}
