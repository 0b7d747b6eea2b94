/** Where the parts of a written ONNX text are, by lines, as the printer says it of its own text. */

import type { Columns, PrintedNode } from '../formats/onnx-text/printedOnnx.ts';
import type { NodeSpans, OnnxTextSpans } from '../formats/onnx-text/textSpans.ts';
import type { TextSpan } from '../model/issue.ts';
import { positionAt, splitLines, type TextLines } from './textLines.ts';
import type { PrintedText } from './viewOnnxText.ts';

export function locateOnnxText(source: string, spans: OnnxTextSpans): PrintedText {
  const text = splitLines(source);
  const line = (offset: number): number => positionAt(text, offset).line;
  return {
    text: source,
    nodes: spans.nodes.map((node) => locateNode(text, node)),
    sections: spans.sections.map(({ kind, span }) => ({
      kind,
      line: line(span.start),
      lastLine: line(Math.max(span.start, span.end - 1)),
    })),
    valueLines: new Map([...spans.values].map(([name, span]) => [name, line(span.start)])),
  };
}

function locateNode(text: TextLines, node: NodeSpans): PrintedNode {
  const place = {
    line: positionAt(text, node.whole.start).line,
    bodyLine: positionAt(text, node.type.start).line,
    lastLine: positionAt(text, Math.max(node.whole.start, node.whole.end - 1)).line,
    outputs: columns(text, node.outputs),
    type: columns(text, node.type),
  };
  return node.name === undefined ? place : { ...place, name: columns(text, node.name) };
}

/** A person may break any part over lines; its columns then end with its first line. */
function columns(text: TextLines, span: TextSpan): Columns {
  const start = positionAt(text, span.start);
  const end = positionAt(text, span.end);
  return {
    start: start.character,
    end: end.line === start.line ? end.character : (text.lines[start.line]?.length ?? start.character),
  };
}
