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
