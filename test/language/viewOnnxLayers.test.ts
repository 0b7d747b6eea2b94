/** An ONNX file as layers: the costs on its lines are those of the file's graph. */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { specOfGraph } from '../../server/src/analysis/asSpec/specOfGraph.ts';
import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { asTrained } from '../../server/src/analysis/restoration/asTrained.ts';
import { estimateModel, type ModelEstimate } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { documentSymbols } from '../../server/src/language/documentSymbols.ts';
import { foldingRanges } from '../../server/src/language/foldingRanges.ts';
import { inlayHints } from '../../server/src/language/inlayHints.ts';
import type { ModelView } from '../../server/src/language/modelView.ts';
import { viewOnnxLayers } from '../../server/src/language/viewOnnxLayers.ts';
import { layerNames } from '../../server/src/language/wholeLayers.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

function viewOf(sample: string, scenario: ScenarioRequest): { view: ModelView; plain: ModelEstimate } {
  const opened: OpenedModel = openModel(byteSourceOfBuffer(readFileSync(`samples/${sample}`)), sample);
  const { analysis } = asTrained(opened);
  if (analysis === undefined) throw new Error(`${sample} is not read`);
  const operatorOf = new Map(
    analysis.graph.operators.flatMap(({ index, outputs }) =>
      outputs.map((output): [string, number] => [output, index]),
    ),
  );
  const plain = estimateModel(opened, [{ cluster: 'dgx-a100', gpus: 8, ...scenario }]);
  return { view: viewOnnxLayers({ ...specOfGraph(analysis, sample), operatorOf }, plain), plain };
}

const scenarios: readonly (readonly [string, ScenarioRequest])[] = [
  ['tinyllama.onnx', {}],
  ['tinyllama.onnx', { batch: 4, precision: 'bf16' }],
  ['gpt2.onnx', { mode: 'inference' }],
  ['resnet50.onnx', { batch: 64 }],
  ['bert-base.onnx', { checkpoint: 'block' }],
];

describe.each(scenarios)('%s, %j', (sample, scenario) => {
  const { view, plain } = viewOf(sample, scenario);

  test('has the totals of the file', () => {
    expect(view.estimate.cost?.totals.flops).toEqual(plain.cost?.totals.flops);
    expect(view.estimate.cost?.totals.time.step).toBeCloseTo(plain.cost?.totals.time.step ?? -1, 9);
    expect(view.estimate.cost?.totals.memory.peak).toBe(plain.cost?.totals.memory.peak);
  });

  test('has each layer that costs time on one line', () => {
    const lines = view.rows.filter(({ group }) => !group).flatMap(({ layers }) => layers);
    expect(new Set(lines).size).toBe(lines.length);
    const sum = lines.reduce((total, { flops }) => total + (flops.forward ?? Number.NaN), 0);
    expect(sum).toBe(plain.cost?.totals.flops.forward);
  });

  test('counts and names the layers of the file, as reports do', () => {
    const names = plain.opened.analysis?.layers.map(({ name }) => name) ?? [];
    expect(view.whole).toBe(plain);
    expect(view.rows.flatMap(layerNames).filter((name) => !names.includes(name))).toEqual([]);
    const costly = plain.cost?.layers.filter(({ flops }) => (flops.forward ?? 0) > 0) ?? [];
    const shown = new Set(view.rows.flatMap(layerNames));
    expect(costly.filter(({ name }) => !shown.has(name))).toEqual([]);
    for (const row of view.rows) {
      expect(new Set(layerNames(row)).size).toBe(layerNames(row).length);
      expect(layerNames(row).length).toBeLessThanOrEqual(row.layers.length);
    }
  });

  test('has one row per line', () => {
    expect(new Set(view.rows.map(({ line }) => line)).size).toBe(view.rows.length);
  });
});

describe('a decoder', () => {
  const { view } = viewOf('tinyllama.onnx', {});
  const { lines } = view.text;
  const textOf = (line: number): string => lines[line] ?? '';

  test('has a line per layer, whose hint is the sum of all repetitions', () => {
    const line = view.rows.find(({ name }) => name === 'q_proj');
    expect(textOf(line?.line ?? -1)).toContain('q_proj: Linear(2048, 2048, bias=False)');
    expect(line?.layers).toHaveLength(22);
    const [hint] = inlayHints(view, line?.line ?? 0, line?.line ?? 0);
    expect(hint?.text).toContain('sum of 22');
  });

  test('folds by block and module, which the outline shows', () => {
    expect(foldingRanges(view).length).toBeGreaterThan(2);
    expect(JSON.stringify(documentSymbols(view))).toContain('q_proj');
  });

  test('shows totals where the block is called', () => {
    const call = view.rows.find(({ group, line }) => group && / \* 22/.test(textOf(line)));
    const flops = call?.layers.reduce((sum, layer) => sum + (layer.flops.forward ?? Number.NaN), 0) ?? 0;
    expect(flops).toBeGreaterThan(0.8 * (view.estimate.cost?.totals.flops.forward ?? Number.NaN));
    expect(call?.layers.length).toBeGreaterThan(22 * 7);
  });
});
