/**
 * The view of a layer spec. A line inside a block stands for every repetition of the block; a line that calls a
 * block stands for all layers below it.
 */

import type { ModelEstimate } from '../estimate/estimateModel.ts';
import type { SelectedModel } from '../formats/layer-spec/selectModel.ts';
import type { LayerSpec } from '../formats/layer-spec/syntax.ts';
import { bodiesOf } from '../formats/layer-spec/walkSpec.ts';
import type { TextSpan } from '../model/issue.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { LayerCost } from '../model/stepCost.ts';
import { linesOfNodes } from './linesOfNodes.ts';
import type { LayerRow, ModelPart, ModelView, TextBlock } from './modelView.ts';
import { markPartial } from './partialRows.ts';
import { positionAt, rangeOfSpan, splitLines, type TextLines } from './textLines.ts';

export function viewLayerSpec(
  source: string,
  estimate: ModelEstimate,
  measurements?: LayerMeasurements,
): ModelView {
  const text = splitLines(source);
  const own = rowsOfLayers(text, estimate);
  const lines = new Set(own.map((row) => row.line));
  const spec = estimate.opened.layerSpec;
  const { selectedModel } = estimate.opened;
  const calls = rowsOfBlockCalls(text, selectedModel, estimate).filter((row) => !lines.has(row.line));
  const part = partOf(text, spec, selectedModel);
  let nodeLines: readonly number[] | undefined;
  return {
    text,
    estimate,
    rows: markPartial(
      text,
      [...own, ...calls].sort((left, right) => left.line - right.line),
      estimate,
    ),
    // Asked for where an operator has something to say; most texts are typed without.
    get nodeLines() {
      nodeLines ??= linesOfNodes(text, estimate);
      return nodeLines;
    },
    valueLines: new Map(),
    blocks: blocksOf(text, spec),
    measurements,
    ...(part === undefined ? {} : { part }),
  };
}

function rowsOfLayers(text: TextLines, estimate: ModelEstimate): readonly LayerRow[] {
  const costs = estimate.cost?.layers ?? [];
  const bySpan = new Map<number, { readonly span: TextSpan; readonly layers: LayerCost[] }>();
  const { analysis, structure } = estimate.opened;
  // Costs are in the order of the analysis.
  for (const [index, { given }] of (analysis?.layers ?? []).entries()) {
    const cost = costs[index];
    const span = structure?.layers[given ?? -1]?.span;
    if (cost === undefined || span === undefined) continue;
    const entry = bySpan.get(span.start);
    if (entry === undefined) bySpan.set(span.start, { span, layers: [cost] });
    else entry.layers.push(cost);
  }
  return [...bySpan.values()].map(({ span, layers }) =>
    rowOfSpan(text, span, lastName(layers), layers, false),
  );
}

function rowsOfBlockCalls(
  text: TextLines,
  spec: SelectedModel | undefined,
  estimate: ModelEstimate,
): readonly LayerRow[] {
  if (spec === undefined || estimate.cost === undefined) return [];
  const { layers } = estimate.cost;
  const blocks = new Set(spec.blocks.map((block) => block.name.text));
  const called = [
    ...spec.layers.map((layer) => ({ layer, nested: false })),
    ...spec.blocks.flatMap((block) => block.layers.map((layer) => ({ layer, nested: true }))),
  ];
  const below = layersBelow(layers, new Set(called.map(({ layer }) => layer.name.text)));
  return called
    .filter(({ layer }) => layer.call !== undefined && blocks.has(layer.call.callee.text))
    .flatMap(({ layer, nested }) => {
      const name = layer.name.text;
      const costs = (nested ? below.nested : below.outermost).get(name);
      return costs === undefined ? [] : [rowOfSpan(text, layer.span, name, costs, true)];
    });
}

/** Layers by the names of the calls they are below: the first step of their own name, and each one after it. */
function layersBelow(
  layers: readonly LayerCost[],
  names: ReadonlySet<string>,
): Record<'outermost' | 'nested', ReadonlyMap<string, readonly LayerCost[]>> {
  const outermost = new Map<string, LayerCost[]>();
  const nested = new Map<string, LayerCost[]>();
  for (const layer of layers) {
    const steps = layer.name.split('.').slice(0, -1);
    steps.forEach((step, depth) => {
      const name = step.replace(/\[\d+\]$/, '');
      if (!names.has(name)) return;
      const below = depth === 0 ? outermost : nested;
      const known = below.get(name);
      if (known === undefined) below.set(name, [layer]);
      else if (known.at(-1) !== layer) known.push(layer);
    });
  }
  return { outermost, nested };
}

function blocksOf(text: TextLines, spec: LayerSpec | undefined): readonly TextBlock[] {
  const blocks = spec === undefined ? [] : bodiesOf(spec).flatMap((body) => body.blocks);
  return blocks.map((block) => {
    const last = block.layers.at(-1)?.span ?? block.name.span;
    return {
      name: block.name.text,
      firstLine: positionAt(text, block.name.span.start).line,
      lastLine: positionAt(text, last.end).line,
    };
  });
}

/** The lines of a model below `models`. */
function partOf(
  text: TextLines,
  spec: LayerSpec | undefined,
  selected: SelectedModel | undefined,
): ModelPart | undefined {
  const model = spec?.models.find(({ name }) => name === selected?.name);
  if (model === undefined) return undefined;
  const { start, end } = rangeOfSpan(text, model.span);
  return { name: model.name.text, firstLine: start.line, lastLine: end.line };
}

function rowOfSpan(
  text: TextLines,
  span: TextSpan,
  name: string,
  layers: readonly LayerCost[],
  group: boolean,
): LayerRow {
  const range = rangeOfSpan(text, span);
  const lines: number[] = [range.start.line];
  for (let line = range.start.line + 1; line <= range.end.line; line += 1) lines.push(line);
  return { name, line: range.start.line, range, lines, layers, group };
}

/** `h[3].fc` is written as `fc`. */
const lastName = (layers: readonly LayerCost[]): string => layers[0]?.name.split('.').pop() ?? '';
