/** Rows of a table of the most expensive layers. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openModel } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { foldLayers } from '../../../server/src/estimate/report/foldLayers.ts';
import { layerTime } from '../../../server/src/estimate/report/layerCells.ts';
import { makeReport } from '../../../server/src/estimate/report/makeReport.ts';
import { renderTable } from '../../../server/src/estimate/report/renderTable.ts';
import type { Report } from '../../../server/src/estimate/report/report.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';

function reportOf(sample: string): Report {
  const opened = openModel(byteSourceOfBuffer(readFileSync(`samples/${sample}`)), sample);
  const { cost, issues } = estimateModel(opened, [opened.scenario]);
  if (opened.analysis === undefined || cost === undefined) throw new Error(sample);
  return makeReport(opened, opened.analysis, cost, issues);
}

it.each(['gpt2.layers.yaml', 'resnet50.layers.yaml', 'resnet50.onnx'])('%s keeps its sums', (sample) => {
  const { layers } = reportOf(sample);
  const folded = foldLayers(layers);
  expect(folded.length).toBeLessThan(layers.length);
  const total = (rows: Report['layers'], of: (layer: Report['layers'][number]) => number | null): number =>
    rows.reduce((sum, layer) => sum + (of(layer) ?? Number.NaN), 0);
  for (const of of [
    layerTime,
    (layer: Report['layers'][number]) => layer.flops.forward,
    (layer: Report['layers'][number]) => layer.parameters,
    (layer: Report['layers'][number]) => layer.memory.activations,
  ])
    expect(total(folded, of)).toBeCloseTo(total(layers, of), 9);
});

it('names what is repeated once, with its number', () => {
  const folded = foldLayers(reportOf('gpt2.layers.yaml').layers);
  const repeated = folded.filter(({ type }) => type.endsWith(' × 12'));
  expect(repeated.length).toBeGreaterThan(5);
  expect(repeated.filter(({ name }) => !name.includes('*'))).toEqual([]);
});

it('fits on a screen, the most expensive first, and complains of nothing', () => {
  const report = reportOf('resnet50.layers.yaml');
  const whole = renderTable(report, 140).split('\n');
  const top = renderTable(report, 140, false, 15).split('\n');
  expect([whole.length > 180, top.length < 36]).toEqual([true, true]);
  expect(report.findings).toEqual([]);
  const first = foldLayers(report.layers).toSorted(
    (left, right) => (layerTime(right) ?? 0) - (layerTime(left) ?? 0),
  )[0];
  expect(top[4]?.startsWith(first?.name ?? '?')).toBe(true);
});
