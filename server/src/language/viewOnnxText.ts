/** The view of an ONNX file: the text the printer made, and each layer on the line of its costliest operator. */

import { sourceOfOperators } from '../analysis/sourceOfOperators.ts';
import type { ModelEstimate } from '../estimate/estimateModel.ts';
import type { PrintedOnnx } from '../formats/onnx-text/printedOnnx.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { LayerCost } from '../model/stepCost.ts';
import type { OperatorCost } from '../operators/definition.ts';
import type { LayerRow, ModelView } from './modelView.ts';
import { markPartial } from './partialRows.ts';
import { rangeOfLine, splitLines, type TextLines } from './textLines.ts';

/** What of a printed model the view needs. */
export interface PrintedText extends Pick<PrintedOnnx, 'text' | 'nodes' | 'sections'> {
  readonly valueLines: ReadonlyMap<string, number>;
}

export function viewOnnxText(
  printed: PrintedText,
  estimate: ModelEstimate,
  measurements?: LayerMeasurements,
): ModelView {
  const text = splitLines(printed.text);
  return {
    text,
    estimate,
    rows: markPartial(text, rows(text, printed, estimate), estimate),
    nodeLines: printed.nodes.map((node) => node.line),
    valueLines: printed.valueLines,
    blocks: printed.sections.map(({ kind, line, lastLine }) => ({ name: kind, firstLine: line, lastLine })),
    measurements,
  };
}

function rows(text: TextLines, printed: PrintedText, estimate: ModelEstimate): readonly LayerRow[] {
  const { analysis } = estimate.opened;
  if (analysis === undefined || estimate.cost === undefined) return [];
  const costs = new Map(estimate.cost.layers.map((layer) => [layer.name, layer]));
  const sourceOf = sourceOfOperators(analysis);
  const made = new Map<number, LayerRow>();
  const onLine = new Map<number, LayerCost[]>();
  for (const layer of analysis.layers) {
    const cost = costs.get(layer.name);
    const lines = new Set<number>();
    let line: number | undefined;
    let most = Number.NEGATIVE_INFINITY;
    for (const index of layer.operators) {
      const node = printed.nodes[sourceOf(index) ?? -1];
      if (node === undefined) continue;
      for (let each = node.line; each <= node.lastLine; each += 1) lines.add(each);
      const weight = weightOf(estimate.training?.costs[index]);
      if (weight > most) {
        line = node.line;
        most = weight;
      }
    }
    if (cost === undefined || line === undefined) continue;
    // Layers share a line where their nodes do, or where one was put back that the file has folded into the other's node.
    const shared = onLine.get(line);
    if (shared !== undefined) {
      shared.push(cost);
      continue;
    }
    const layers = [cost];
    onLine.set(line, layers);
    made.set(line, {
      name: layer.name,
      line,
      range: rangeOfLine(text, line),
      lines: [...lines],
      layers,
      group: false,
    });
  }
  return [...made.values()].sort((left, right) => left.line - right.line);
}

/** Orders operators by what they cost: FLOPs first, memory traffic where there are none. */
function weightOf(cost: OperatorCost | undefined): number {
  if (cost?.kind !== 'known') return -1;
  const { flops, traffic } = cost.forward;
  return flops * 1e3 + traffic.float32Elements * 4 + traffic.fixedBytes;
}
