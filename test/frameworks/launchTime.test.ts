import { join } from 'node:path';
import { expect, test } from 'vitest';
import { numberIn, readMeasured } from '../../scripts/measured/readMeasured.ts';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import { readClusterProfile } from '../../server/src/hardware/readClusterProfile.ts';
import { vectors } from '../support/updateSizes.ts';

test.each([
  ['eager PyTorch', 'pytorch-ddp', {}, [37, 23, 60]],
  ['executors without Python', 'mxnet', {}, [8, 4, 29]],
  ['a launch time that is given', 'pytorch-ddp', { 'launch-us': '40' }, [40, 40, 40]],
  // measured/steps-vtrain.csv
  ['Megatron-LM', 'megatron', {}, [65, 20, 80]],
  ['a launch time that is given for it', 'megatron', { 'launch-us': '8' }, [8, 8, 8]],
] as const)('%s: middle, low and high in microseconds', (_, name, options, expected) => {
  const { launch } = resolveFramework({ name, options }).behaviour;
  [launch.middle, launch.low, launch.high].forEach((time, index) => {
    expect(time * 1e6).toBeCloseTo(expected[index] ?? Number.NaN, 9);
  });
});

/** Between which a seventh machine lies in 80 of 100 cases: t of 5 degrees of freedom, 0.9. */
test('eager PyTorch: by the machines that were measured', () => {
  const rows = readMeasured(join(import.meta.dirname, '../../measured'), 'host-launches.csv');
  const logs = rows.map((row) => Math.log(numberIn(row, 'microseconds')));
  const mean = logs.reduce((sum, each) => sum + each, 0) / logs.length;
  const variance = logs.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (logs.length - 1);
  const width = 1.476 * Math.sqrt(variance * (1 + 1 / logs.length));
  expect(logs).toHaveLength(6);
  expect([mean, mean - width, mean + width].map((log) => Math.round(Math.exp(log)))).toEqual([37, 23, 60]);
});

test.each([
  ['of the median machine', 'a100-sxm-80gb', {}, 37],
  ['as measured on the cluster', 'measured', {}, 20],
  ['as a person gives it, whatever was measured', 'measured', { 'launch-us': '50' }, 50],
  ['compiled, whatever was measured of eager mode', 'measured', { compile: 'true' }, 5],
  ['on a processor, without a driver', 'processor', {}, 8],
] as const)('a launch takes %s', (_, machine, options, expected) => {
  const opened = openLayerSpec(
    'inputs: { x: "float32[batch, 64]" }\nlayers:\n  - l: Linear(64, 64)\n',
    'm.layers.yaml',
  );
  const gpu =
    machine === 'processor'
      ? '{ "name": "cpu", "title": "CPU", "architecture": "cpu", "multiprocessors": 8, "memoryGiB": 8, "memoryBandwidthGBs": 25, "peakTflops": { "fp32": 1 }, "tensorCores": [] }'
      : '"a100-sxm-80gb"';
  const host = machine === 'measured' ? '"host": { "launch": { "microseconds": 20, "low": 16 } },' : '';
  const { cluster } = readClusterProfile(`{ "name": "m", "gpu": ${gpu}, ${host} "gpusPerNode": 1 }`);
  const { training, scenario } = estimateModel(
    opened,
    [{ framework: { name: 'pytorch-ddp', options } }],
    cluster,
  );
  if (training === undefined || scenario === undefined || cluster === undefined) throw new Error(machine);
  const { launch } = planStep(training, scenario, cluster).behaviour;
  expect(launch.middle * 1e6).toBeCloseTo(expected, 9);
  if (expected === 20) expect([launch.low * 1e6, launch.high * 1e6].map(Math.round)).toEqual([16, 20]);
});

test.each([
  ['GradScaler reads whether gradients are finite', 'fp16', {}, true],
  ['a fused optimizer looks itself', 'fp16', { 'optimizer-kernels': 'fused' }, false],
  ['bf16 needs no scale', 'bf16', {}, false],
] as const)('the host waits before the update: %s', (_, precision, options, waits) => {
  const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options });
  const { hostWaits } = behaviour.update('adamw', precision, vectors(Array.from({ length: 100 }, () => 1e4)));
  expect(hostWaits).toBe(waits);
});

test.each([
  ['foreach', 60],
  ['fused', 30],
  ['loop', 0],
] as const)(
  'beside its launches an update by %s takes the host as long as %i more for 100 parameters',
  (kernels, expected) => {
    const { behaviour } = resolveFramework({
      name: 'pytorch-ddp',
      options: { 'optimizer-kernels': kernels },
    });
    expect(behaviour.update('adamw', 'bf16', vectors(Array.from({ length: 100 }, () => 1e4))).hostWork).toBe(
      expected,
    );
  },
);

test.each([
  ['that of a launch where nobody says', {}, undefined],
  ['as given', { 'collective-us': '120' }, 120],
] as const)('the call of a collective takes %s', (_, options, expected) => {
  const { collectiveCall } = resolveFramework({ name: 'pytorch-ddp', options }).behaviour;
  expect(collectiveCall && Math.round(collectiveCall * 1e6)).toBe(expected);
});

/** Ten layers, each a product and its two gradients, and an update that is not part of a pass. */
test('a host that waits for each kernel adds its launch to each', () => {
  const opened = openLayerSpec(
    'inputs: { x: "float32[batch, 1024]" }\nlayers:\n  - l: Linear(1024, 1024, bias=False) * 10\n',
    'm.layers.yaml',
  );
  const passOf = (launch: number, blocking: boolean): number => {
    const options = { 'launch-us': String(launch), 'launch-blocking': String(blocking) };
    const { cost } = estimateModel(opened, [
      {
        cluster: 'dgx-a100',
        gpus: 1,
        batch: 64,
        precision: 'fp32',
        framework: { name: 'pytorch-ddp', options },
      },
    ]);
    const { forward, backward } = cost?.totals.time ?? {};
    return (forward ?? Number.NaN) + (backward ?? Number.NaN);
  };
  const kernels = passOf(1e-6, true);
  expect(kernels).toBeCloseTo(passOf(1e-6, false), 9);
  // The first product needs no gradient of its input.
  for (const launch of [10, 40])
    expect((passOf(launch, true) - kernels) / (launch * 1e-6)).toBeCloseTo(29, 3);
  expect(passOf(40, false)).toBeLessThan(passOf(40, true));
});

/** Megatron-LM before 2024 read the sizes of each batch back from the GPU: the host launches nothing ahead of a pass. */
test.each([
  ['a GPU', 'a100-sxm-80gb', 1],
  ['a processor, which has no host', 'cpu-10gbe', 0],
] as const)('%s waits for each batch, once in a pass', (_, cluster, waits) => {
  const opened = openLayerSpec(
    'dims: { batch: 4, d: 512 }\ninputs: { x: "float32[batch, d]" }\nlayers:\n  - l: Linear(d, d) * 8\n',
    'm.layers.yaml',
  );
  const stepWith = (time: string, accumulate: number): number => {
    const framework = { name: 'megatron', options: { 'batch-us': time } };
    const { cost } = estimateModel(opened, [{ cluster, gpus: 1, accumulate, precision: 'fp32', framework }]);
    return cost?.totals.time.step ?? Number.NaN;
  };
  for (const passes of [1, 3])
    expect(stepWith('2500', passes) - stepWith('0', passes)).toBeCloseTo(waits * passes * 2.5e-3, 9);
});

test('the range of a step holds hosts that read a batch twice as fast and as slow', () => {
  const wait = (options: Record<string, string>) =>
    resolveFramework({ name: 'megatron', options }).behaviour.passWait;
  expect(wait({ torch: '1.12' })).toEqual({ middle: 4e-3, low: 2e-3, high: 8e-3 });
  expect(wait({ 'batch-us': '3000' })).toEqual({ middle: 3e-3, low: 3e-3, high: 3e-3 });
  expect(wait({})).toBeUndefined();
});
