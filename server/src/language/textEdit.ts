/** Changes of a text, as plain data. */

import type { TextSpan } from '../model/issue.ts';

export interface TextEdit {
  readonly span: TextSpan;
  readonly text: string;
}

/** The text with the edits applied; they must not overlap. */
export function applyEdits(source: string, edits: readonly TextEdit[]): string {
  let edited = source;
  for (const { span, text } of edits.toSorted((left, right) => right.span.start - left.span.start))
    edited = edited.slice(0, span.start) + text + edited.slice(span.end);
  return edited;
}

/** Either a result, or why there is none, in words for the person who asked. */
export type Outcome<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  | { readonly kind: 'refused'; readonly reason: string };

/** The one edit that makes the second text of the first; `undefined` where they are the same. */
export function differenceOf(before: string, after: string): TextEdit | undefined {
  if (before === after) return undefined;
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  return {
    span: { start, end: before.length - end },
    text: after.slice(start, after.length - end),
  };
}
