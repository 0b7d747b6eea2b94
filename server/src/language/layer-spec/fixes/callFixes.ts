/** A call that is written as Python or another language has it becomes the call that was meant. */

import type { TextSpan } from '../../../model/issue.ts';
import type { Change, Wrong } from './wrong.ts';

export function callFixes({
  document: { source },
  diagnostic: { code, message },
  span,
}: Wrong): readonly Change[] {
  if (code !== 'spec/call') return [];
  const written = source.slice(span.start, span.end);
  const change = (title: string, ...edits: readonly [TextSpan, string][]): readonly Change[] => [
    { title, edits: edits.map(([place, text]) => ({ span: place, text })) },
  ];
  const joined = /write `(\w+\([^`…]*\))` instead of/.exec(message)?.[1];
  if (joined !== undefined) return change(`Write \`${joined}\``, [span, joined]);
  const inputs = /^\(\s*([\w.]+(?:\s*,\s*[\w.]+)*)\s*\)$/.exec(written)?.[1];
  if (message.startsWith('write inputs after') && inputs !== undefined) {
    return change(`Write \`from ${inputs}\``, [span, ` from ${inputs}`]);
  }
  if (message.includes('is called with parentheses')) {
    const close = closing(source, span.start);
    if (close === undefined) return [];
    return change('Write parentheses', [span, '('], [{ start: close, end: close + 1 }, ')']);
  }
  const right = /^the list ends with `(.)`/.exec(message)?.[1];
  if (right !== undefined) {
    const isThere = source.slice(span.end).trimStart().startsWith(right);
    return isThere
      ? change(`Remove \`${written}\``, [span, ''])
      : change(`Change to \`${right}\``, [span, right]);
  }
  const missing = /^`(.)` is missing; write it here$/.exec(message)?.[1];
  if (missing !== undefined) return change(`Put \`${missing}\``, [span, missing]);
  if (message.includes('a layer is repeated with `*')) return change('Write `*`', [span, '*']);
  if (/ is not called; write `/.test(message))
    return change(`Write \`${written}()\``, [span, `${written}()`]);
  return [];
}

/** Where the bracket at `open` closes, on its line. */
function closing(source: string, open: number): number | undefined {
  const opened = source[open] ?? '';
  const close = { '[': ']', '{': '}', '<': '>' }[opened];
  let depth = 0;
  for (let at = open; at < source.length && source[at] !== '\n'; at += 1) {
    if (source[at] === opened) depth += 1;
    if (source[at] === close) depth -= 1;
    if (depth === 0) return at;
  }
  return undefined;
}
