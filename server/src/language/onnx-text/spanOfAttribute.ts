/** Where a node of a text names one of its attributes. */

import type { TextSpan } from '../../model/issue.ts';
import type { ModelView } from '../modelView.ts';
import { tokenizeOnnxText } from './onnxTextTokens.ts';

/** The name of attribute `name` of top-level node `operator`, or of a node inside it; without quotes. */
export function spanOfAttribute(
  { text, nodeLines }: Pick<ModelView, 'text' | 'nodeLines'>,
  operator: number,
  name: string,
): TextSpan | undefined {
  const line = nodeLines[operator];
  if (line === undefined) return undefined;
  const next = nodeLines[operator + 1];
  const lines = text.lines.slice(line, next === undefined || next <= line ? undefined : next);
  // A node means what it is only inside a graph.
  const searched = `${opening}${lines.join('\n')}`;
  const found = tokenizeOnnxText(searched).tokens.find(
    ({ role, text: word, span }) => role === 'attribute' && word === name && span.start >= opening.length,
  );
  if (found === undefined) return undefined;
  // Lines may end in two characters where those that were searched end in one.
  const before = searched.slice(opening.length, found.span.start).split('\n');
  const column = before.at(-1)?.length ?? 0;
  const moved = (text.starts[line + before.length - 1] ?? 0) + column - found.span.start;
  return { start: found.span.start + moved, end: found.span.end + moved };
}

const opening = 'g () => () {';
