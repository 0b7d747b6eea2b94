/** What a report draws of real steps agrees with what it says. */

import { describe, expect, it, test } from 'vitest';
import type { IcicleNode } from '../../../server/src/charts/icicleChart.ts';
import { totalOf } from '../../../server/src/charts/memoryChart.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { chartNames } from '../../../server/src/estimate/figures/chartNames.ts';
import { drawnStep } from '../../../server/src/estimate/figures/drawnStep.ts';
import { memoryOverStep } from '../../../server/src/estimate/figures/memoryOverStep.ts';
import { modulePath, moduleTree } from '../../../server/src/estimate/figures/moduleTree.ts';
import {
  pipelineTimelineFigure,
  rankMemoryFigure,
} from '../../../server/src/estimate/figures/pipelineFigures.ts';
import { rooflinePoints } from '../../../server/src/estimate/figures/rooflinePoints.ts';
import { stepCharts } from '../../../server/src/estimate/figures/stepCharts.ts';
import { stepTimelineFigure } from '../../../server/src/estimate/figures/stepTimelineFigure.ts';
import { timelineOf } from '../../../server/src/estimate/plan/plannedTimes.ts';
import { planStep } from '../../../server/src/estimate/plan/planStep.ts';
import { makeReport } from '../../../server/src/estimate/report/makeReport.ts';
import { renderHtml } from '../../../server/src/estimate/report/renderHtml.ts';
import { renderTrace } from '../../../server/src/estimate/report/renderTrace.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { bytes, bytesPerSecond } from '../../../server/src/model/units.ts';
import { openGraph } from '../../support/savedActivations.ts';

function drawn(file: string, request: ScenarioRequest) {
  const opened = openGraph(file);
  const estimate = estimateModel(opened, [opened.scenario ?? {}, request]);
  const { training, scenario, cluster, cost } = estimate;
  if (training === undefined || scenario === undefined || cluster === undefined || cost === undefined) {
    throw new Error(`${file} is not costed`);
  }
  const plan = planStep(training, scenario, cluster);
  const timeline = timelineOf(plan, 'middle');
  const report = makeReport(opened, training.analysis, cost, []);
  return { estimate, plan, timeline, report };
}

describe('of GPUs that share a copy of the model', () => {
  const request: ScenarioRequest = { cluster: 'dgx-h100', gpus: 16, batch: 1 };

  test.each<readonly [string, ScenarioRequest, boolean]>([
    ['tensor parallelism', { parallel: { tensor: 4 } }, false],
    ['a pipeline', { accumulate: 4, parallel: { tensor: 2, pipeline: 4 } }, true],
    [
      'stages that take turns',
      { accumulate: 4, parallel: { pipeline: 4, chunks: 2, schedule: 'interleaved-1f1b' } },
      true,
    ],
  ])('%s is drawn as it is costed', (_, more, hasRanks) => {
    const { estimate, report } = drawn('samples/gpt2.layers.yaml', { ...request, ...more });
    const { training, scenario, cluster } = estimate;
    if (training === undefined || scenario === undefined || cluster === undefined) throw new Error('no cost');
    const step = drawnStep(training, scenario, cluster);
    const [time, memory] = [report.totals.time.step, report.totals.memory.needed];
    if (step?.kind !== 'pipeline') {
      expect(hasRanks).toBe(false);
      expect(step?.timeline.step).toBeCloseTo(time ?? 0, 6);
      const peak =
        step === undefined ? 0 : Math.max(...memoryOverStep(step.plan, step.timeline).map(totalOf));
      expect(peak / memory).toBeCloseTo(1, 6);
      return;
    }
    expect(hasRanks).toBe(true);
    const figure = pipelineTimelineFigure(step.step);
    expect(figure.until).toBe(time);
    for (const { segments } of figure.lanes) {
      const all = segments.reduce((sum, { start, end }) => sum + end - start, 0);
      expect(all / (time ?? 0)).toBeCloseTo(1, 6);
      expect(segments.filter(({ kind }) => kind === 'forward').length).toBe(
        4 * step.step.plan.parallel.chunks,
      );
    }
    const bars = rankMemoryFigure(step.step, null).ranks.map(totalOf);
    expect(Math.max(...bars) / memory).toBeCloseTo(1, 6);
    const { traceEvents } = JSON.parse(renderTrace(training, scenario, cluster));
    const ends = traceEvents.map(({ ts = 0, dur = 0 }: { ts?: number; dur?: number }) => ts + dur);
    expect(Math.max(...ends) / ((time ?? 0) * 1e6)).toBeCloseTo(1, 6);
  });
});

const framework = (name: string, options = {}): ScenarioRequest => ({ framework: { name, options } });
const steps: readonly (readonly [string, ScenarioRequest])[] = [
  ['samples/alexnet.onnx', { cluster: 'dgx-1-v100', gpus: 16, batch: 32 }],
  ['samples/alexnet.onnx', { gpus: 8, ...framework('pytorch-fsdp') }],
  ['samples/alexnet.onnx', { gpus: 8, accumulate: 3 }],
  ['samples/alexnet.onnx', { gpus: 8, input: { sampleBytes: bytes(1e6), readRate: bytesPerSecond(1e9) } }],
  ['samples/more/dlrm.layers.yaml', {}],
  ['samples/gpt2.layers.yaml', { gpus: 16, batch: 4, checkpoint: 'block' }],
  ['samples/alexnet.onnx', { gpus: 1, mode: 'inference' }],
];

describe.each(steps)('%s with %j', (file, request) => {
  const { plan, timeline, report, estimate } = drawn(file, request);
  const figure = stepTimelineFigure(plan, timeline);
  const span = figure.until - figure.from;

  it('segments of a lane do not overlap', () => {
    for (const { segments } of figure.lanes) {
      for (const [index, { start, end }] of segments.entries()) {
        expect(end).toBeGreaterThanOrEqual(start);
        expect(start).toBeGreaterThanOrEqual((segments[index - 1]?.end ?? 0) - 1e-6 * span);
      }
    }
  });

  it('the GPU computes or waits all the time, as long as the report says', () => {
    const stream = figure.lanes.find(({ title }) => title === 'GPU stream')?.segments ?? [];
    const timeOf = (waits: boolean): number =>
      stream.reduce(
        (total, { kind, start, end }) => total + ((kind === 'wait') === waits ? end - start : 0),
        0,
      );
    expect((timeOf(true) + timeOf(false)) / span).toBeCloseTo(1, 6);
    const passes = plan.scenario.accumulate ?? 1;
    if (passes > 1) return;
    const waits = timeline.exposedTime + timeline.exposedInputTime;
    expect(Math.abs(timeOf(true) - waits) / span).toBeLessThan(1e-3);
    const idle = stream.reduce((total, segment) => total + (segment.idle ?? 0), 0);
    // Of a piece that waited for a message, slowing by messages cannot be told from waiting for the host.
    const doubt = timeline.slowedTime > 0 ? 0.02 : 1e-3;
    expect(Math.abs(idle - timeline.hostTime) / span).toBeLessThan(doubt);
  });

  it('the top of the stacked memory is the peak of the report with driver and framework', () => {
    const moments = memoryOverStep(plan, timeline);
    const { peak, context } = report.totals.memory;
    expect(Math.max(...moments.map(totalOf))).toBeCloseTo(peak + context, 0);
    for (const [index, { time }] of moments.entries())
      expect(time).toBeGreaterThanOrEqual(moments[index - 1]?.time ?? 0);
  });

  it('parts of the modules add up, to the sum of the layers', () => {
    const amountOf = ({ time }: (typeof report.layers)[number]): number =>
      (time.forward ?? 0) + (time.backward ?? 0);
    const root = moduleTree('model', report.layers, amountOf);
    const check = (node: IcicleNode): void => {
      if (node.children.length === 0) return;
      const parts = node.children.reduce((total, { value }) => total + value, 0);
      expect(Math.abs(parts - node.value)).toBeLessThanOrEqual(1e-9 * root.value);
      for (const child of node.children) check(child);
    };
    check(root);
    const all = report.layers.reduce((total, layer) => total + amountOf(layer), 0);
    expect(root.value / all).toBeCloseTo(1, 9);
  });

  it('points of the roofline share all of their time, and a page holds every chart once', () => {
    const points = rooflinePoints(report.layers);
    expect(points.reduce((total, { share }) => total + share, 0)).toBeCloseTo(1, 9);
    const charts = stepCharts(estimate, report);
    const names: readonly string[] = chartNames;
    expect(charts.map(({ name }) => name)).toEqual(
      names.filter((name) => charts.some((chart) => chart.name === name)),
    );
    const page = renderHtml(report, charts);
    for (const { name } of charts) expect(page.split(`id="${name}-title"`)).toHaveLength(2);
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, label] of page.matchAll(/aria-labelledby="([^"]+)"/g))
      for (const id of label?.split(' ') ?? []) expect(ids).toContain(id);
  });
});

test.each([
  ['/layer1/layer1.0/conv1', ['layer1', 'layer1.0', 'conv1']],
  ['model.layers.3.mlp.gate', ['model', 'layers.3', 'mlp', 'gate']],
  ['/', ['/']],
  ['conv', ['conv']],
])('modules of %s', (name, path) => {
  expect(modulePath(name)).toEqual(path);
});

it('twelve equal blocks are one module', () => {
  const { report } = drawn('samples/gpt2.layers.yaml', {});
  const root = moduleTree('gpt2', report.layers, ({ parameters }) => parameters);
  const names = root.children.map(({ name }) => name);
  expect(names.filter((name) => name.endsWith('× 12'))).toHaveLength(1);
  expect(root.value).toBe(report.model.parameters);
});

test('blocks that take turns are named by their first and last', () => {
  const { report } = drawn('samples/gpt2.layers.yaml', { cluster: 'dgx-h100', gpus: 1, batch: 1 });
  const [layer] = report.layers;
  if (layer === undefined) throw new Error('no layer');
  const layers = [0, 1, 2, 3].map((block) => ({
    ...layer,
    name: `blocks.${block}.fc`,
    parameters: block % 2,
  }));
  const tree = moduleTree('m', [...layers, { ...layer, name: 'head' }], () => 1);
  const names = (node: IcicleNode): readonly string[] => [node.name, ...node.children.flatMap(names)];
  expect(names(tree)).toEqual([
    'm',
    'blocks.0 … blocks.2 × 2',
    'fc',
    'blocks.1 … blocks.3 × 2',
    'fc',
    'head',
  ]);
});
