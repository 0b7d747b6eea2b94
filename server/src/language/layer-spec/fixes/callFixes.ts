/** A call that is written as Python or another language has it becomes the call that was meant. */

import { layerDefinitions } from '../../../lowering/layer-spec/layerDefinitions.ts';
import type { TextSpan } from '../../../model/issue.ts';
import { nearestName } from '../../../model/nearestName.ts';
import { callableBlocks } from '../callable.ts';
import { calledLayers, type SpecText } from '../specText.ts';
import type { Change, Wrong } from './wrong.ts';

export function callFixes({ document, diagnostic: { code, message }, span }: Wrong): readonly Change[] {
  if (code !== 'spec/call') return [];
  const { source } = document;
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
  if (message.startsWith('`(` is missing after')) {
    const called = calledLayers(document.spec).map(({ call }) => call.callee.text);
    const name = longestName(written, [...callableNames(document), ...called]);
    const at = span.start + name.length;
    return change('Insert `(`', [{ start: at, end: at }, '(']);
  }
  if (message.includes('a layer is repeated with `*')) return change('Write `*`', [span, '*']);
  if (/ is not called; write `/.test(message)) {
    const names = callableNames(document);
    const name = names.includes(written) ? written : completed(written, names);
    return name === undefined ? [] : change(`Write \`${name}()\``, [span, `${name}()`]);
  }
  return [];
}

const callableNames = (document: SpecText): readonly string[] => [
  ...callableBlocks(document).map(({ name }) => name),
  ...layerDefinitions.map(({ name }) => name),
];

/** The shortest of `names` that begins with what is written, else the nearest; two letters may be anything. */
function completed(written: string, names: readonly string[]): string | undefined {
  if (written.length < 3) return undefined;
  const [shortest] = names
    .filter((name) => name.startsWith(written))
    .sort((left, right) => left.length - right.length);
  return shortest ?? nearestName(written, names);
}

/** The longest of `names` that `written` begins with: `Conv2d` of `Conv2d3`. */
const longestName = (written: string, names: readonly string[]): string =>
  names
    .filter((name) => written.startsWith(name))
    .reduce((longest, name) => (name.length > longest.length ? name : longest), '') || written;

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
