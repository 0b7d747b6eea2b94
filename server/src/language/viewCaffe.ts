/** The view of a Caffe net: each layer on the line its block begins, and all lines of the block belong to it. */

import type { ModelEstimate } from '../estimate/estimateModel.ts';
import type { CaffeLayer, CaffeMessage, CaffeNet } from '../formats/caffe/syntax.ts';
import { findCaffeEntry } from '../lowering/caffe/layerDefinitions.ts';
import type { TextSpan } from '../model/issue.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import { linesOfNodes } from './linesOfNodes.ts';
import type { LayerRow, ModelView, TextBlock } from './modelView.ts';
import { markPartial } from './partialRows.ts';
import { positionAt, rangeOfSpan, splitLines, type TextLines } from './textLines.ts';

export function viewCaffe(
  source: string,
  estimate: ModelEstimate,
  measurements?: LayerMeasurements,
): ModelView {
  const text = splitLines(source);
  const net = estimate.opened.caffeNet;
  return {
    text,
    estimate,
    rows: markPartial(text, rows(text, net, estimate), estimate),
    nodeLines: linesOfNodes(text, estimate),
    valueLines: new Map(),
    blocks: (net?.layers ?? []).flatMap((layer) => blocksOf(text, layer)),
    measurements,
  };
}

/** What the layer on this line computes, with its source; '' where no layer is. */
export function caffeDocumentation(view: ModelView, line: number): string {
  const layer = view.estimate.opened.caffeNet?.layers.find(({ span }) => {
    const [first, last] = linesOf(view.text, span);
    return first <= line && line <= last;
  });
  const entry = findCaffeEntry(layer?.type);
  return entry === undefined ? '' : `\`${entry.type}\`: ${entry.documentation} (${entry.source})`;
}

function rows(text: TextLines, net: CaffeNet | undefined, estimate: ModelEstimate): readonly LayerRow[] {
  const costs = new Map(estimate.cost?.layers.map((layer) => [layer.name, layer]));
  const written = new Map(net?.layers.map((layer) => [layer.span.start, layer]));
  const byLine = new Map<number, LayerRow>();
  const { analysis, structure } = estimate.opened;
  for (const { name, given: index } of analysis?.layers ?? []) {
    const cost = costs.get(name);
    const span = structure?.layers[index ?? -1]?.span;
    if (cost === undefined || span === undefined) continue;
    const [line, last] = linesOf(text, span);
    const before = byLine.get(line);
    const lines = Array.from({ length: last - line + 1 }, (_, index) => line + index);
    byLine.set(line, {
      name: before?.name ?? name,
      line,
      range: before?.range ?? rangeOfSpan(text, written.get(span.start)?.nameSpan ?? span),
      lines: before === undefined ? lines : [...new Set([...before.lines, ...lines])],
      layers: [...(before?.layers ?? []), cost],
      group: false,
    });
  }
  return [...byLine.values()].sort((left, right) => left.line - right.line);
}

/** A layer and the messages in it, as far as they are longer than a line. */
function blocksOf(text: TextLines, layer: CaffeLayer): readonly TextBlock[] {
  const blocks: TextBlock[] = [];
  const add = (name: string, span: TextSpan): void => {
    const [firstLine, lastLine] = linesOf(text, span);
    if (lastLine > firstLine) blocks.push({ name, firstLine, lastLine });
  };
  const addInner = (message: CaffeMessage): void => {
    for (const [name, { values }] of message.fields) {
      for (const value of values) {
        if (value.kind !== 'message') continue;
        add(name, value.span);
        addInner(value.value);
      }
    }
  };
  add(layer.name, layer.span);
  addInner(layer.fields);
  return blocks;
}

/** First and last line of a span; a span that ends at the start of a line does not hold that line. */
function linesOf(text: TextLines, span: TextSpan): readonly [first: number, last: number] {
  const first = positionAt(text, span.start).line;
  return [first, Math.max(first, positionAt(text, Math.max(span.start, span.end - 1)).line)];
}
