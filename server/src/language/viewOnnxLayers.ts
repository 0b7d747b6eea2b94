/**
 * The view of an ONNX file as layers: the text of a layer spec, with the costs of the file's own graph on its lines. A
 * line of a block stands for every repetition, a heading for all lines of its module.
 */

import type { SpecLine, SpecOfGraph } from '../analysis/asSpec/specOfGraph.ts';
import { layerType } from '../analysis/layerType.ts';
import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import type { ModelEstimate } from '../estimate/estimateModel.ts';
import { regroupEstimate } from '../estimate/regroupEstimate.ts';
import type { Layer } from '../model/graph.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { LayerCost } from '../model/stepCost.ts';
import type { LayerRow, ModelView } from './modelView.ts';
import { markPartial } from './partialRows.ts';
import { rangeOfLine, splitLines } from './textLines.ts';
import { wholeLayers } from './wholeLayers.ts';

/** The text of a file, and by value of its graph the operator that computed it when the text was printed. */
export interface LayersText extends Pick<SpecOfGraph, 'text' | 'lines'> {
  readonly operatorOf: ReadonlyMap<string, number>;
}

export function viewOnnxLayers(
  printed: LayersText,
  given: ModelEstimate,
  measurements?: LayerMeasurements,
): ModelView {
  const text = splitLines(printed.text);
  const places = placesOf(printed);
  const lineOf = new Map<Layer, Place | undefined>();
  const estimate = regroupEstimate(given, (analysis) => layersOfLines(analysis, printed, places, lineOf));
  const wholes = wholeLayers(given, estimate);
  const costs = new Map<SpecLine, LayerCost[]>();
  for (const [index, layer] of (estimate.opened.analysis?.layers ?? []).entries()) {
    const place = lineOf.get(layer);
    const cost = estimate.cost?.layers[index];
    if (place === undefined || cost === undefined) continue;
    const known = costs.get(place.line);
    if (known === undefined) costs.set(place.line, [cost]);
    else known.push(cost);
  }
  const calls = [...costs].map(([line, layers]): LayerRow => rowOf(line, layers, false));
  const groups = printed.lines
    .filter(({ lastLine }) => lastLine !== undefined)
    .flatMap((line): readonly LayerRow[] => {
      const layers = layersWithin(line, places, costs);
      return layers.length === 0 ? [] : [rowOf(line, layers, true)];
    });
  const rows = [...calls, ...groups].sort((left, right) => left.line - right.line);
  return {
    text,
    estimate,
    whole: given,
    showsLayers: true,
    rows: markPartial(text, rows, estimate),
    nodeLines: linesOfNodes(estimate, printed, places),
    valueLines: new Map(),
    blocks: printed.lines.flatMap(({ name, line, lastLine }) =>
      lastLine === undefined || lastLine === line ? [] : [{ name, firstLine: line, lastLine }],
    ),
    measurements,
  };

  function rowOf(line: SpecLine, layers: readonly LayerCost[], group: boolean): LayerRow {
    const range = rangeOfLine(text, line.line);
    const names = new Set(layers.map(({ name }) => wholes.get(name) ?? name));
    return { name: line.name, line: line.line, range, lines: [line.line], layers, wholes: [...names], group };
  }
}

interface Place {
  readonly line: SpecLine;
  readonly repetition: number;
}

/** By operator of the printed graph: the line of its layer. */
function placesOf({ lines }: LayersText): ReadonlyMap<number, Place> {
  const places = new Map<number, Place>();
  for (const line of lines) {
    if (line.lastLine !== undefined) continue;
    for (const [repetition, operators] of line.operators.entries()) {
      for (const operator of operators) places.set(operator, { line, repetition });
    }
  }
  return places;
}

/** Layers of all lines that a heading or a block's name stands for. */
function layersWithin(
  line: SpecLine,
  places: ReadonlyMap<number, Place>,
  costs: ReadonlyMap<SpecLine, readonly LayerCost[]>,
): readonly LayerCost[] {
  const lines = new Set(line.operators.flat().flatMap((operator) => places.get(operator)?.line ?? []));
  return [...lines].flatMap((each) => costs.get(each) ?? []);
}

/** One layer per line and repetition; what stands on no line belongs to a line of its module. */
function layersOfLines(
  analysis: ModelAnalysis,
  { operatorOf }: LayersText,
  places: ReadonlyMap<number, Place>,
  lineOf: Map<Layer, Place | undefined>,
): readonly Layer[] {
  const { operators } = analysis.graph;
  const placeOf = (index: number): Place | undefined => {
    const output = operators[index]?.outputs.find((name) => operatorOf.has(name));
    return output === undefined ? undefined : places.get(operatorOf.get(output) ?? -1);
  };
  const layers = analysis.layers.flatMap((layer): readonly Layer[] => {
    const parts = new Map<string, { readonly place: Place | undefined; readonly operators: number[] }>();
    const auxiliary: number[] = [];
    for (const index of layer.operators) {
      const place = placeOf(index);
      if (place === undefined) {
        auxiliary.push(index);
        continue;
      }
      const key = `${place.line.line}.${place.repetition}`;
      const part = parts.get(key);
      if (part === undefined) parts.set(key, { place, operators: [index] });
      else part.operators.push(index);
    }
    const [first] = parts.values();
    if (first === undefined) return [layer];
    const isWhole = parts.size === 1;
    return [...parts.values()].map((part): Layer => {
      const own = part === first ? [...auxiliary, ...part.operators] : part.operators;
      const made: Layer = {
        ...layer,
        ...(isWhole
          ? {}
          : {
              name: `${layer.name}/${part.place?.line.name}`,
              type: layerType(
                part.operators.flatMap((index) => operators[index] ?? []),
                analysis.graph,
                analysis.composites,
              ),
              ancestors: [...layer.ancestors, layer.name],
            }),
        operators: own.toSorted((left, right) => left - right),
      };
      lineOf.set(made, part.place);
      return made;
    });
  });
  return uniquelyNamed(layers, lineOf);
}

/** Parts of several layers that stand on one line have its name all the same. */
function uniquelyNamed(layers: readonly Layer[], lineOf: Map<Layer, Place | undefined>): readonly Layer[] {
  const taken = new Set<string>();
  return layers.map((layer) => {
    let { name } = layer;
    for (let count = 2; taken.has(name); count += 1) name = `${layer.name} (${count})`;
    taken.add(name);
    if (name === layer.name) return layer;
    const renamed = { ...layer, name };
    lineOf.set(renamed, lineOf.get(layer));
    return renamed;
  });
}

/** Nodes of the file on the lines of their layers. */
function linesOfNodes(
  { opened }: ModelEstimate,
  { operatorOf }: LayersText,
  places: ReadonlyMap<number, Place>,
): readonly number[] {
  const lines: number[] = [];
  for (const { source, outputs } of opened.analysis?.graph.operators ?? []) {
    const output = outputs.find((name) => operatorOf.has(name));
    const place = places.get(operatorOf.get(output ?? '') ?? -1);
    if (place !== undefined) lines[source] ??= place.line.line;
  }
  return lines;
}
