/** `layercost calibrate` as a shell sees it, on results of a machine whose kernels follow known rates. */

import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { planBenchmark } from '../../server/src/benchmark/planBenchmark.ts';
import { savedCollectives } from '../../server/src/benchmark/savedCollectives.ts';
import { readArguments } from '../../server/src/cli/arguments.ts';
import { runCalibrateCommand } from '../../server/src/cli/calibrateCommand.ts';
import { costModelFile, openModelFile } from '../../server/src/cli/costFile.ts';
import { costOfDevice } from '../../server/src/cli/costOfDevice.ts';
import { printData, printMessage } from '../../server/src/cli/streams.ts';
import { asUpdate, planStep } from '../../server/src/estimate/plan/planStep.ts';
import { launchesOf } from '../../server/src/estimate/plan/stepSpread.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import { readClusterProfile } from '../../server/src/hardware/readClusterProfile.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { type Seconds, seconds } from '../../server/src/model/units.ts';
import { keepCollectives } from '../../server/src/node/collectivesFile.ts';
import { keepResult } from '../../server/src/node/keepResult.ts';
import { machineOfDevice } from '../../server/src/node/machineFile.ts';
import { readResults, thisMachine } from '../../server/src/node/resultFiles.ts';
import { measurements } from '../benchmark/measurements.ts';

vi.mock('../../server/src/cli/streams.ts', () => ({ printData: vi.fn(), printMessage: vi.fn() }));

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'layercost-calibrate-')));
const specOf = (width: number): string => `inputs:
  x: float32[batch, 64]
layers:
  - fc: Linear(64, ${width})
  - act: ReLU()
  - norm: LayerNorm(${width})
  - out: Linear(${width}, ${2 * width})
  - more: Linear(${2 * width}, 64)
`;

/** 40 GFLOP/s, 8 GB/s, 3 µs. */
const timeOf = (kernels: readonly KernelWork[]): Seconds =>
  seconds(
    kernels.reduce((sum, work) => sum + work.flops / 40e9 + work.bytes / 8e9 + work.launches * 3e-6, 0),
  );

async function measure(
  name: string,
  width: number,
  caches: 'cold' | 'hot' = 'cold',
  asked: ScenarioRequest = {},
): Promise<{ readonly id: string }> {
  const path = join(folder, `${name}.layers.yaml`);
  writeFileSync(path, specOf(width));
  const request = { ...asked, batch: 16, precision: 'fp32' } as const;
  const file = await openModelFile(path, {
    request,
    clusterFile: undefined,
    frameworkFile: undefined,
    layerTrace: undefined,
  });
  const { training, scenario, cluster } = file === undefined ? {} : costModelFile(file, request);
  if (training === undefined || scenario === undefined || cluster === undefined)
    throw new Error('not costed');
  const plan = planStep(training, scenario, cluster);
  const parts = training.analysis.layers.map((layer) => {
    const kernelsOf = (part: 'forward' | 'backwardData' | 'backwardWeight'): readonly KernelWork[] =>
      layer.operators.flatMap((index) => plan.lowered.operators[index]?.[part] ?? []);
    const [data, weights] = [kernelsOf('backwardData'), kernelsOf('backwardWeight')];
    const apart = { dataGradient: timeOf(data), weightGradient: timeOf(weights) };
    const backward = timeOf([...data, ...weights]);
    return [layer.name, { forward: timeOf(kernelsOf('forward')), backward, ...apart }] as const;
  });
  const launches = launchesOf({
    times: plan.times,
    updateTimes: plan.updateTimes,
    isTraining: true,
    passes: 1,
  });
  const update = timeOf(asUpdate(plan.update.kernels));
  const whole = seconds(
    parts.reduce<number>((sum, [, { forward, backward }]) => sum + forward + backward, update),
  );
  const outcome = {
    measurements: {
      ...measurements,
      layers: new Map(parts),
      notMeasured: new Map<string, string>(),
      step: whole,
      wholeStep: {
        whole,
        quartiles: { low: whole, high: whole },
        update,
        host: seconds(1e-6 * launches),
        repeats: 3,
      },
    },
  };
  const kept = keepResult({ path, plan: planBenchmark(training, scenario, { caches }), scenario, outcome });
  if (kept === undefined || !('path' in kept)) throw new Error('not kept');
  return { id: basename(kept.path, '.json') };
}

async function run(...words: string[]): Promise<{ status: number; out: string; err: string }> {
  const read = readArguments(['calibrate', ...words]);
  if (read.kind === 'wrong') return { status: 2, out: '', err: read.message };
  let [out, err] = ['', ''];
  vi.mocked(printData).mockImplementation((text) => {
    out += text;
  });
  vi.mocked(printMessage).mockImplementation((line) => {
    err += `${line}\n`;
  });
  if (read.arguments.command !== 'calibrate') throw new Error('another command');
  return { status: await runCalibrateCommand(read.arguments), out, err };
}

beforeAll(() => mkdirSync(join(folder, '.git')));
afterAll(() => rmSync(folder, { recursive: true }));

it('says what to do where nothing was measured', async () => {
  const { status, err } = await run(folder);
  expect(status).toBe(1);
  expect(err).toContain('give --device, such as --device cuda, to time kernels for a minute');
  expect(err).toContain('or run layercost benchmark FILE on three models or more');
});

it('takes the link of several GPUs from their collectives, also without a model', async () => {
  const device = { kind: 'cuda', name: 'NVIDIA H100 80GB HBM3', torch: '2.13', precision: 'fp32' } as const;
  const row = (bytes: number, time: number) => ({
    operation: 'all-reduce' as const,
    bytes,
    ranks: 8,
    median: seconds(time),
    low: seconds(time),
    high: seconds(time),
  });
  const rows = [row(1_024, 28e-6), row(2 ** 28, 1e-3)];
  const other = realpathSync(mkdtempSync(join(tmpdir(), 'layercost-link-')));
  mkdirSync(join(other, '.git'));
  try {
    const kept = keepCollectives(other, savedCollectives({ device, rows }, thisMachine(), new Date()));
    expect(kept).toEqual({ path: join(other, '.layercost', 'collectives.json') });
    const { status, out } = await run(other);
    expect(status).toBe(0);
    expect(out).toContain(
      'link of 8 GPUs: 470 GB/s of bus bandwidth, 2.00 µs for a step of a ring, taken for nvlink',
    );
    const { cluster, issues } = readClusterProfile(
      readFileSync(join(other, '.layercost', 'machine.json'), 'utf8'),
    );
    expect(issues).toEqual([]);
    expect(cluster).toMatchObject({
      gpusPerNode: { value: 8 },
      gpu: { name: 'h100-sxm' },
      link: { kind: 'nvlink' },
    });
  } finally {
    rmSync(other, { recursive: true });
  }
});

it('writes a profile by which models are predicted that it was not fitted to', async () => {
  for (const [index, width] of [48, 200, 640, 1536].entries()) await measure(`m${index}`, width);
  await measure('hot', 96, 'hot');
  const output = join(folder, 'own.json');
  const { status, out, err } = await run(folder, '--output', output);
  expect(status).toBe(0);
  expect(err).toMatch(/hot-layers-yaml-\S+ is left out: caches were hot/);
  expect(err).toContain(`wrote ${output}`);
  const rows = out.split('\n').filter((line) => line.startsWith('m') && line.includes('.layers.yaml'));
  expect(rows).toHaveLength(4);
  for (const row of rows) {
    const [, uncalibrated = Number.NaN, byOthers = Number.NaN, calibrated = Number.NaN] =
      /(\S+) +\S+ +\S+ +(\S+) +\S+ +\S+ +(\S+)$/.exec(row)?.map(Number) ?? [];
    // The host of PyTorch launches kernels in its own time, which is not in these.
    expect(Math.abs(byOthers - 1), row).toBeLessThan(0.25);
    expect(Math.abs(calibrated - 1), row).toBeLessThan(0.25);
    expect(Math.abs(uncalibrated - 1), row).toBeGreaterThan(Math.abs(calibrated - 1));
  }
  const { cluster, issues } = readClusterProfile(readFileSync(output, 'utf8'));
  expect(issues).toEqual([]);
  expect(cluster?.gpu.kernels?.kinds.get('gemm fp32')?.perFlop).toBeLessThan(1 / 30e9);
  // 1 µs, and what modules take beside.
  expect((cluster?.host?.launch?.time.middle ?? 0) * 1e6).toBeCloseTo(1.16, 6);
  expect(out).toContain('host: 1.16 µs to launch a kernel, 0.928 to 1.45 from model to model');
  expect(cluster?.gpu.kernels?.source).toMatch(
    /^layercost calibrate: m0\.layers\.yaml, .*; fp32, torch 9\.9, /,
  );
});

it.each<[string, ScenarioRequest]>([
  ['a loss', { loss: 'cross-entropy' }],
  ['frozen layers', { freeze: ['fc'] }],
  [
    'a release and attention',
    { framework: { name: 'pytorch-ddp', options: { torch: '2.4', attention: 'eager' } } },
  ],
])('takes results that were measured with %s', async (_, asked) => {
  const { id } = await measure('asked', 72, 'cold', asked);
  const { status, err } = await run(folder, '--results', id, '--output', join(folder, 'asked.json'));
  expect(err).not.toContain('is left out');
  expect(status).toBe(0);
});

it('keeps the profile in the workspace, for the device that it is of', async () => {
  expect((await run(folder)).status).toBe(0);
  const device = { kind: 'cpu', name: 'Fake CPU', torch: '9.9', precision: 'fp32' } as const;
  const machine = machineOfDevice(folder, device);
  expect(machine?.title).toBe('Fake CPU, calibrated');
  expect(machineOfDevice(folder, { ...device, name: 'Other CPU' })).toBeUndefined();
  expect(machineOfDevice(folder, { ...device, kind: 'cuda' })).toBeUndefined();
  const request = { batch: 16, precision: 'fp32' } as const;
  const file = await openModelFile(join(folder, 'm2.layers.yaml'), {
    request,
    clusterFile: undefined,
    frameworkFile: undefined,
    layerTrace: undefined,
  });
  const { scenario } = file === undefined ? {} : costModelFile(file, request);
  if (file === undefined || scenario === undefined) throw new Error('not costed');
  expect(costOfDevice(file, request, scenario, device)).toBeUndefined();
  expect(costOfDevice(file, request, scenario, device, machine)?.gpu).toBe('Fake CPU');
});

it('takes the results that are named, and none of another device', async () => {
  const [result] = readResults(folder).results;
  const named = await run(folder, '--results', 'nothing', '--output', join(folder, 'x.json'));
  expect(named).toMatchObject({ status: 1 });
  expect(named.err).toContain('there is no result nothing');
  const ofGpu = await run(folder, '--device', 'cuda', '--results', result?.id ?? '');
  expect(ofGpu.err).toContain('is left out: it was measured on Fake CPU');
});
