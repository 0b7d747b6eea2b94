/**
 * The view of a Python file beside a model that was exported from it: each line with the sum of what it costs, and each
 * function and class with the sum of its lines.
 */

import { framesOfOperators } from '../../analysis/framesOfOperators.ts';
import type { ModelAnalysis } from '../../analysis/modelAnalysis.ts';
import type { ModelEstimate } from '../../estimate/estimateModel.ts';
import { regroupEstimate } from '../../estimate/regroupEstimate.ts';
import type { PythonFrame } from '../../formats/stackTrace.ts';
import type { Layer } from '../../model/graph.ts';
import type { LayerCost } from '../../model/stepCost.ts';
import type { LayerRow, ModelView } from '../modelView.ts';
import { rangeOfLine, splitLines } from '../textLines.ts';
import { wholeLayers } from '../wholeLayers.ts';
import { matchLines } from './matchLines.ts';
import { ownFrame, recordedPaths } from './ownFrame.ts';
import { pythonBlocks } from './pythonBlocks.ts';

/** `undefined` where the model was not exported from this file, or records no lines. `path` is of any machine. */
export function viewPython(content: string, path: string, given: ModelEstimate): ModelView | undefined {
  const { analysis } = given.opened;
  if (analysis === undefined || given.cost === undefined) return undefined;
  const text = splitLines(content);
  const lines = content.split(/\r\n|\r|\n/);
  const lineOf = linesOfOperators(given, path, lines);
  if (lineOf.size === 0) return undefined;
  const places = new Map<Layer, number>();
  const estimate = regroupEstimate(given, (whole) => layersOfLines(whole, lineOf, places));
  const wholes = wholeLayers(given, estimate);
  const costs = new Map<number, LayerCost[]>();
  for (const [index, layer] of (estimate.opened.analysis?.layers ?? []).entries()) {
    const line = places.get(layer);
    const cost = estimate.cost?.layers[index];
    if (line === undefined || cost === undefined) continue;
    costs.set(line, [...(costs.get(line) ?? []), cost]);
  }
  const own = [...costs].map(([line, layers]) => rowOf(line, lines[line]?.trim() ?? '', layers, false));
  const blocks = pythonBlocks(lines).flatMap(({ name, line, lastLine }): readonly LayerRow[] => {
    const layers = [...costs].flatMap(([at, each]) => (at > line && at <= lastLine ? each : []));
    return layers.length === 0 || costs.has(line) ? [] : [rowOf(line, name, layers, true)];
  });
  return {
    text,
    estimate: withoutStepFindings(estimate),
    whole: given,
    rows: [...own, ...blocks].sort((left, right) => left.line - right.line),
    nodeLines: [],
    valueLines: new Map(),
    blocks: [],
    measurements: undefined,
  };

  function rowOf(line: number, name: string, layers: readonly LayerCost[], group: boolean): LayerRow {
    const names = new Set(layers.map((layer) => wholes.get(layer.name) ?? layer.name));
    return { name, line, range: rangeOfLine(text, line), lines: [line], layers, wholes: [...names], group };
  }
}

/** By operator, the line of the file that calls it, counted from 0. */
function linesOfOperators(
  { opened }: ModelEstimate,
  path: string,
  lines: readonly string[],
): ReadonlyMap<number, number> {
  const framesOf = framesOfOperators(opened);
  const operators = (opened.analysis?.layers ?? []).flatMap((layer) => layer.operators);
  const paths = new Set(operators.flatMap((operator) => framesOf(operator).map((frame) => frame.path)));
  const candidates = recordedPaths(paths, path).map((file) => placesIn(file));
  // Of several cells of a notebook the one that says the most of what was recorded.
  return candidates.reduce((best, each) => (each.size > best.size ? each : best), new Map<number, number>());

  function placesIn(file: string): ReadonlyMap<number, number> {
    const frames = new Map(
      operators.flatMap((operator): readonly (readonly [number, PythonFrame])[] => {
        const frame = ownFrame(framesOf(operator), file);
        return frame === undefined ? [] : [[operator, frame]];
      }),
    );
    const recorded = new Map([...frames.values()].map((frame) => [frame.line, frame]));
    const matched = matchLines([...recorded.values()], lines);
    // A file of which most is not found is another one of its name.
    if (matched.size < recorded.size / 2) return new Map();
    return new Map(
      [...frames].flatMap(([operator, { line }]) => {
        const found = matched.get(line);
        return found === undefined ? [] : [[operator, found] as const];
      }),
    );
  }
}

/** What of each layer stands on each line; what stands on none stays together. */
function layersOfLines(
  { layers }: ModelAnalysis,
  lineOf: ReadonlyMap<number, number>,
  places: Map<Layer, number>,
): readonly Layer[] {
  return layers.flatMap((layer): readonly Layer[] => {
    const parts = new Map<number | undefined, number[]>();
    for (const operator of layer.operators) {
      const line = lineOf.get(operator);
      const known = parts.get(line);
      if (known === undefined) parts.set(line, [operator]);
      else known.push(operator);
    }
    return [...parts].map(([line, operators]): Layer => {
      const name = parts.size === 1 || line === undefined ? layer.name : `${layer.name}, line ${line + 1}`;
      const made = { ...layer, name, operators };
      if (line !== undefined) places.set(made, line);
      return made;
    });
  });
}

/** Findings about the whole step, and issues of the file, are shown with the model. */
const withoutStepFindings = (estimate: ModelEstimate): ModelEstimate => ({
  ...estimate,
  issues: [],
  ...(estimate.cost === undefined
    ? {}
    : {
        cost: { ...estimate.cost, findings: estimate.cost.findings.filter(({ layer }) => layer !== '') },
      }),
});
