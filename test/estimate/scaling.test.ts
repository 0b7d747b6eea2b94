import { describe, expect, it, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel, type ModelEstimate } from '../../server/src/estimate/estimateModel.ts';
import { gpuCounts } from '../../server/src/estimate/scaling/gpuCounts.ts';
import {
  renderScalingCsv,
  renderScalingMarkdown,
  renderScalingTable,
  renderScalingText,
} from '../../server/src/estimate/scaling/renderScaling.ts';
import { requestOnGpus } from '../../server/src/estimate/scaling/requestOnGpus.ts';
import { type Scaling, scaleInSteps } from '../../server/src/estimate/scaling/scaleJob.ts';
import type { ScalingPoint } from '../../server/src/estimate/scaling/scalingCurve.ts';
import { renderScalingHtml } from '../../server/src/estimate/scaling/scalingPage.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import { gpuMemory } from '../../server/src/model/gpuMemory.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { finish } from '../../server/src/model/steps.ts';
import { seconds } from '../../server/src/model/units.ts';
import { openGraph } from '../support/savedActivations.ts';
import { scalingPoint } from '../support/scalingPoint.ts';

describe('numbers of GPUs where nobody said which', () => {
  test.each([
    ['a100-sxm-80gb', 1, [1]],
    ['rtx-3090-workstation', 4, [1, 2, 4]],
    ['k80-10gbe', 1, [1, 2, 4, 8, 16, 32, 64]],
    ['dgx-h100', 8, [1, 2, 4, 8, 16, 32, 64]],
    ['dgx-h100', 24, [1, 2, 4, 8, 16, 24, 32, 64]],
    ['dgx-h100', 128, [1, 2, 4, 8, 16, 32, 64, 128, 256]],
    ['gb200-nvl72', 72, [1, 2, 4, 8, 16, 32, 64, 72, 144, 288, 576]],
    ['cpu-10gbe', 1, [1, 2, 4, 8, 16, 32, 64]],
  ])('%s, %i asked', (name, asked, counts) => {
    const cluster = findCluster(name);
    expect(cluster && gpuCounts(cluster, asked)).toEqual(counts);
  });
});

const spec = `name: two
dims: { batch: 8, d: 1024 }
inputs:
  x: float32[batch, d]
layers:
  - a: Linear(d, d)
  - b: Linear(d, d)
`;
const opened = openLayerSpec(spec, 'two.layers.yaml');

function scale(request: ScenarioRequest, gpus: readonly number[]): Scaling {
  const costOn = (count: number): ModelEstimate => estimateModel(opened, [{ ...request, gpus: count }]);
  return finish(scaleInSteps(opened.name, gpus, costOn));
}

describe('a job on other numbers of GPUs', () => {
  it('is costed as it is by itself', () => {
    const request: ScenarioRequest = {
      cluster: 'k80-10gbe',
      batch: 4,
      framework: { name: 'mxnet', options: {} },
    };
    const { points, isStrong, missing } = scale(request, [1, 4, 8]);
    expect([isStrong, missing]).toEqual([false, []]);
    for (const { gpus, step, memory } of points) {
      const { cost } = estimateModel(opened, [{ ...request, gpus }]);
      expect([step, memory]).toEqual([cost?.totals.time.step, cost && gpuMemory(cost).needed]);
    }
  });

  it('says of points that cannot be costed why, once', () => {
    const { points, missing, issues } = scale({ cluster: 'rtx-4090-workstation', batch: 1 }, [1, 2, 3, 4]);
    expect([points.map(({ gpus }) => gpus), missing]).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(new Set(issues.map(({ message }) => message)).size).toBe(issues.length);
  });

  test.each<ScenarioRequest>([
    { batch: 16, precision: 'fp16', optimizer: 'momentum' },
    { globalBatch: 64, checkpoint: 'none' },
    { batch: 2, accumulate: 4, framework: { name: 'pytorch-fsdp', options: {} } },
    { batch: 4, mode: 'inference' },
  ])('a resolved scenario asks for what %j does', (request) => {
    const asked = { cluster: 'dgx-a100', ...request };
    const estimate = estimateModel(opened, [{ ...asked, gpus: 8 }]);
    const { scenario, cluster } = estimate;
    if (scenario === undefined) throw new Error('no scenario');
    const again = estimateModel(opened, [requestOnGpus(scenario, 16, 'batch')], cluster);
    const direct = estimateModel(opened, [{ ...asked, gpus: 16 }]);
    expect(again.scenario).toEqual(direct.scenario);
    expect(again.cost?.totals.time).toEqual(direct.cost?.totals.time);
  });
});

test('a report gives both efficiencies of a batch over all GPUs, and the strong one is that of the curve', () => {
  const opened = openGraph('samples/gpt2.onnx');
  const request: ScenarioRequest = { cluster: 'dgx-a100', precision: 'bf16', globalBatch: 64 };
  const costOn = (gpus: number) => estimateModel(opened, [{ ...request, gpus }]);
  const { points } = finish(scaleInSteps('gpt2', [8, 16], costOn, () => costOn(1)));
  for (const { gpus, scaling: kind, scalingEfficiency } of points) {
    const totals = costOn(gpus).cost?.totals;
    expect(kind).toBe('strong');
    expect(totals?.strongScalingEfficiency).toBeCloseTo(scalingEfficiency ?? Number.NaN, 12);
    expect(totals?.scalingEfficiency).toBeGreaterThan(scalingEfficiency ?? 0);
  }
});

test('a measured step is of one batch per GPU: of several there is a warning and no efficiency', () => {
  const opened = openGraph('samples/gpt2.onnx');
  const curveOf = (request: ScenarioRequest) =>
    finish(
      scaleInSteps('gpt2', [8, 16], (gpus) =>
        estimateModel(opened, [{ cluster: 'dgx-a100', measuredStep: seconds(0.3), ...request, gpus }]),
      ),
    );
  const [shared, each] = [curveOf({ globalBatch: 64 }), curveOf({ batch: 8 })];
  expect(shared.points.map(({ scalingEfficiency }) => scalingEfficiency)).toEqual([null, null]);
  const warning = ({ issues }: Scaling) =>
    issues.filter(({ code, severity }) => code === 'scenario/measured-step' && severity === 'warning');
  expect(warning(shared).map(({ message }) => message)).toEqual([
    'The measured step is taken for every batch per GPU, from 4 to 8, and was measured with one; set `batch` instead of `global-batch`',
  ]);
  expect(warning(each)).toEqual([]);
  expect(each.points[0]?.scalingEfficiency).toBeGreaterThan(0.9);
  expect(each.job).toContain('training, measured step 300 ms');
});

test('a model that fixes its own batch is costed for a share of a global batch', () => {
  const opened = openLayerSpec(`inputs: { x: "float32[1, 1024]" }\nlayers:\n  - l: Linear(1024)\n`, 'one');
  const costOf = (request: ScenarioRequest) =>
    estimateModel(opened, [{ cluster: 'dgx-a100', precision: 'bf16', gpus: 8, ...request }]);
  const [shared, each] = [costOf({ globalBatch: 16 }), costOf({ batch: 2 })];
  expect(shared.scenario).toMatchObject({ batchPerGpu: 2, globalBatch: 16 });
  expect(shared.cost?.totals.time.step).toBe(each.cost?.totals.time.step);
  expect(shared.issues.map(({ message }) => message)).toContain(
    'The file fixes its batch at 1; costs for a global batch of 16 replace the leading dimension of its inputs',
  );
});

test('a model whose batch cannot be opened takes a global batch in passes of it', () => {
  const opened = openLayerSpec(
    `inputs: { x: "float32[1, 1024]" }\nlayers:\n  - l: Linear(1024)\n  - total: sum(l)\n`,
    'one',
  );
  const costOn = (gpus: number) =>
    estimateModel(opened, [{ cluster: 'dgx-a100', precision: 'bf16', globalBatch: 16, gpus }]);
  const stepOn = (gpus: number): number => costOn(gpus).cost?.totals.time.step ?? Number.NaN;
  // On 16 GPUs each takes one sample; on 8 each takes two passes of one.
  expect(costOn(8).scenario).toMatchObject({ batchPerGpu: 1, accumulate: 2 });
  const { points } = finish(scaleInSteps('one', [16, 8], costOn));
  expect(points.map(({ batchPerGpu, scaling: kind }) => [batchPerGpu, kind])).toEqual([
    [1, 'strong'],
    [1, 'strong'],
  ]);
  for (const { gpus, scalingEfficiency } of points)
    expect(scalingEfficiency).toBeCloseTo(stepOn(1) / gpus / stepOn(gpus), 9);
});

test.each(['pytorch-fsdp', 'deepspeed-zero'])('low efficiency is found for %s', (name) => {
  const opened = openGraph('samples/more/llama-3-8b.layers.yaml');
  const options = name === 'deepspeed-zero' ? { stage: '3' } : {};
  const { cost } = estimateModel(opened, [
    { cluster: 'v100-infiniband', nodes: 8, batch: 1, precision: 'fp16', framework: { name, options } },
  ]);
  expect(cost?.totals.time.exposedCommunication).toBeGreaterThan((cost?.totals.time.step ?? 0) / 2);
  const finding = cost?.findings.find(({ code }) => code === 'findings/low-efficiency');
  expect(finding?.message).toContain('of a GPU that updates its shard and waits for nobody');
  // Parameters and state of 8 billion fit on no single GPU.
  expect(finding?.fix).toMatch(/^Raise the batch per GPU/);
});

test('what the host takes longer is not put down to communication', () => {
  const opened = openGraph('samples/bert-base.onnx');
  const { cost } = estimateModel(opened, [{ cluster: 'dgx-h100', gpus: 8, batch: 1, precision: 'bf16' }]);
  expect(cost?.totals.time.exposedCommunication).toBeLessThan((cost?.totals.time.step ?? 0) / 100);
  const finding = cost?.findings.find(({ code }) => code === 'findings/low-efficiency');
  expect(finding?.fix).toMatch(
    /^Use one GPU, or launch fewer kernels: the GPU waits [\d.]+ ms longer for the host than a single GPU does$/,
  );
});

test('an efficiency just below its limit does not read as the limit', () => {
  const opened = openGraph('samples/vgg16.onnx');
  const request: ScenarioRequest = { cluster: 'v100-infiniband', nodes: 4, batch: 8, precision: 'fp32' };
  const efficiency = estimateModel(opened, [request]).cost?.totals.scalingEfficiency ?? Number.NaN;
  const messageOf = (limit: number): string =>
    estimateModel(opened, [{ ...request, thresholds: { 'low-efficiency': limit } }]).cost?.findings.find(
      ({ code }) => code === 'findings/low-efficiency',
    )?.message ?? '';
  expect(messageOf(efficiency + 1e-4)).toMatch(/efficiency is \d+\.\d %/);
  expect(messageOf(Math.min(1, efficiency + 0.1))).toMatch(/efficiency is \d+ %/);
});

const point = (gpus: number, changes: Partial<ScalingPoint> = {}): ScalingPoint =>
  scalingPoint(gpus, { stepRange: { low: seconds(0.08), high: seconds(0.13) }, ...changes });
const scaling: Scaling = {
  name: 'a|b <c>',
  job: 'dgx-a100: batch 4 per GPU, fp32',
  isStrong: false,
  device: 'GPU',
  notes: [],
  points: [
    point(1, { scalingEfficiency: 1, limit: { kind: 'compute', share: 1 } }),
    point(8, { fits: 'no' }),
    point(16, { exact: false, stepRange: null, scalingEfficiency: null }),
  ],
  missing: [12],
  issues: [{ code: 'scenario/invalid', severity: 'error', message: 'twelve <GPUs> are no whole nodes' }],
};

describe('renderings', () => {
  it('count what the cluster has', () => {
    const ofProcessors: Scaling = { ...scaling, device: 'CPU node', isStrong: true };
    const [head] = renderScalingTable(ofProcessors).split('\n');
    expect(head).toMatch(/^CPU nodes {2}batch per CPU node /);
    const page = renderScalingHtml({ ...ofProcessors, points: [point(1, {}), point(8, {})] });
    expect(page).toContain('From 1 to 8 CPU nodes throughput');
    expect(page).toContain('CPU nodes, logarithmic');
    expect(page).toContain('12 CPU nodes could not be costed');
    expect(page).not.toMatch(/\d GPUs|>GPUs|a GPU\b/);
  });

  it('a table says what limits each point, what does not fit and what is a bound', () => {
    expect(renderScalingTable(scaling)).toBe(
      [
        'GPUs  nodes      step              range  communication  exposed       throughput  weak efficiency                   memory  limit',
        '   1      1    100 ms  80.0 ms to 130 ms        20.0 ms  10.0 ms   40.0 samples/s            100 %                 1.00 GiB  compute',
        '   8      1    100 ms  80.0 ms to 130 ms        20.0 ms  10.0 ms    320 samples/s             90 %  out of memory: 1.00 GiB  parameter servers, 10 % of the step',
        '  16      2  ≥ 100 ms                           20.0 ms  10.0 ms  ≤ 640 samples/s                ?                 1.00 GiB  ?',
        '',
      ].join('\n'),
    );
  });

  it('a text and Markdown have a heading and say what is missing', () => {
    expect(renderScalingText(scaling)).toMatch(
      /^a\|b <c>: scaling\ndgx-a100: batch 4 per GPU, fp32\n\nGPUs[\s\S]*\n12 GPUs could not be costed: twelve <GPUs> are no whole nodes\n$/,
    );
    const markdown = renderScalingMarkdown(scaling);
    expect(markdown).toMatch(/^# a\\\|b \\<c\\>: scaling\n/);
    expect(markdown).toMatch(
      /^\| 8 \| 100\u00a0ms \| .* \| 90\u00a0% \| █{9} \| servers,\u00a010\u00a0% \| .* \| out\u00a0of\u00a0memory:\u00a01\.00\u00a0GiB \| 80\.0\u00a0ms\u00a0to\u00a0130\u00a0ms \|$/m,
    );
  });

  it('comma-separated values are in base units, unknown cells empty', () => {
    const [title, first, , last] = renderScalingCsv(scaling).split('\r\n');
    expect(title).toMatch(/^gpus,nodes,batch_per_gpu,step_s,step_low_s/);
    expect(first).toMatch(/^1,1,4,0\.1,0\.08,0\.13,/);
    expect(last).toMatch(/^16,2,4,0\.1,,,.*,false$/);
  });

  it('a page has one script, no addresses, and a chart with a hollow dot where memory does not do', () => {
    const page = renderScalingHtml(scaling);
    expect(page).not.toMatch(/https?:|<c>/);
    expect(page.match(/<script/g)).toHaveLength(1);
    // Two points, once by throughput and once by efficiency; and one that says what a hollow one means.
    const [wide, narrow] = page.split('<svg class="chart narrow"');
    for (const drawing of [wide, narrow]) expect(drawing?.match(/<circle/g)).toHaveLength(5);
    expect(wide?.match(/<circle[^>]* class="none"/g)).toHaveLength(3);
    expect(page).toContain(
      '<title>8 GPUs: 90 %, 320 samples/s, out of memory; parameter servers, 10 % of the step</title>',
    );
  });

  it('a page writes a range below its step, and exposed communication over all of it', () => {
    const page = renderScalingHtml(scaling);
    expect(page).toContain('<td class="number">100 ms<small>80.0 ms to 130 ms</small>');
    expect(page).toContain('<td class="number">10.0 ms<small>of 20.0 ms</small>');
    expect(page.match(/<th scope="col"/g)).toHaveLength(8);
  });

  it('no line ends between a number and its percent sign', () => {
    const page = renderScalingHtml(scaling);
    expect(page).toContain('<td>parameter servers, 10\u00a0% of the step');
    expect(page).toContain('efficiency goes from 100\u00a0% to 90\u00a0%.');
  });

  it('a chart needs two points', () => {
    expect(renderScalingHtml({ ...scaling, points: scaling.points.slice(0, 1) })).not.toContain('<svg');
  });
});
