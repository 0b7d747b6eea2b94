import type { TextSpan } from '../../model/issue.ts';

/** Whole lines, the line break after them included. */
export function linesOf(source: string, { start, end }: TextSpan): TextSpan {
  const lineEnd = source.indexOf('\n', Math.max(start, end - 1));
  return { start: source.lastIndexOf('\n', start - 1) + 1, end: lineEnd < 0 ? source.length : lineEnd + 1 };
}
