/** Where a node of a text names one of its attributes. */

import { itemAt } from '../../model/at.ts';
import type { TextSpan } from '../../model/issue.ts';
import { memoizeRecent } from '../../model/memoizeRecent.ts';
import type { TextLines } from '../textLines.ts';
import { tokenizeOnnxText } from './onnxTextTokens.ts';

/** The name of attribute `name` of top-level node `operator`, or of a node inside it; without quotes. */
export function spanOfAttribute(
  { text, nodeLines }: { readonly text: TextLines; readonly nodeLines: readonly number[] },
  operator: number,
  name: string,
): TextSpan | undefined {
  const line = nodeLines[operator];
  if (line === undefined) return undefined;
  const next = nodeLines[operator + 1];
  const end = next === undefined || next <= line ? undefined : next;
  return attributesOfLines(text, { line, end }).get(name);
}

interface LineRange {
  readonly line: number;
  readonly end: number | undefined;
}

/** By name, where the node of some lines first names an attribute. Where one is wrong, the next asked for is its neighbour. */
const attributesOfLines = memoizeRecent(
  (text: TextLines, { line, end }: LineRange): ReadonlyMap<string, TextSpan> => {
    // A node means what it is only inside a graph.
    const searched = `${opening}${text.lines.slice(line, end).join('\n')}`;
    const spans = new Map<string, TextSpan>();
    // Lines may end in two characters where those that were searched end in one.
    let [at, own, next] = [opening.length, 0, searched.indexOf('\n')];
    for (const { role, text: word, span } of tokenizeOnnxText(searched).tokens) {
      if (role !== 'attribute' || span.start < opening.length || spans.has(word)) continue;
      while (next >= 0 && next < span.start) {
        own += 1;
        at = next + 1;
        next = searched.indexOf('\n', at);
      }
      const moved = itemAt(text.starts, line + own) - at;
      spans.set(word, { start: span.start + moved, end: span.end + moved });
    }
    return spans;
  },
  (known, asked) => known.line === asked.line && known.end === asked.end,
);

const opening = 'g () => () {';
