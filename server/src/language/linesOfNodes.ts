import type { ModelEstimate } from '../estimate/estimateModel.ts';
import { positionAt, type TextLines } from './textLines.ts';

/** By operator: the first line of the layer that it was lowered from. */
export function linesOfNodes(text: TextLines, { opened }: ModelEstimate): readonly number[] {
  const lines: number[] = [];
  for (const { span, nodes } of opened.structure?.layers ?? []) {
    if (span === undefined) continue;
    const { line } = positionAt(text, span.start);
    for (const node of nodes) lines[node] = line;
  }
  return lines;
}
