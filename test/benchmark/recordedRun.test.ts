/** What the real runner said on an NVIDIA H200 (PyTorch 2.11, CUDA 13.0, `benchmark resnet50.onnx --batch 64`), read again. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it, vi } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import type { BenchmarkMeasurements } from '../../server/src/benchmark/benchmarkMeasurements.ts';
import { layerSum } from '../../server/src/benchmark/layerSum.ts';
import { stateText } from '../../server/src/benchmark/machineState.ts';
import { plannedRun } from '../../server/src/benchmark/plannedRun.ts';
import type { BenchmarkPlan } from '../../server/src/benchmark/planSchema.ts';
import { runBenchmark } from '../../server/src/benchmark/runBenchmark.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';

const here = import.meta.dirname;
let plan: BenchmarkPlan;
let measured: BenchmarkMeasurements;

beforeAll(async () => {
  const file = join(here, '../../samples/resnet50.onnx');
  const opened = openModel(byteSourceOfBuffer(readFileSync(file)), 'resnet50.onnx');
  const estimate = estimateModel(opened, [{ cluster: 'h200-sxm', batch: 64, optimizer: 'momentum' }]);
  const planned = plannedRun(estimate, { model: 'resnet50' });
  if (planned === undefined || 'refusal' in planned) throw new Error('resnet50 is not planned');
  plan = planned.plan;
  vi.stubEnv('RECORDED', join(here, 'recorded/resnet50-h200.events.gz'));
  const { measurements } = await runBenchmark(plan, {
    python: process.execPath,
    runner: join(here, 'fakes/playRecorded.mjs'),
  });
  vi.unstubAllEnvs();
  if (measurements === undefined) throw new Error('nothing was measured');
  measured = measurements;
});

it('has every layer of the plan', () => {
  expect(measured.layers.size).toBe(plan.layers.length);
  expect([...measured.notMeasured]).toEqual([]);
});

it('has layers that add up to the step within 10 %', () => {
  const { layers = 0, step = 1 } = layerSum(measured, plan)?.both ?? {};
  expect(layers / step).toBeGreaterThan(0.9);
  expect(layers / step).toBeLessThan(1.1);
});

it('tells what the host takes to launch, apart from what the GPU takes to run', () => {
  const { whole = 0, host = 0 } = measured.wholeStep ?? {};
  expect(host / whole).toBeCloseTo(0.62, 2);
  const relu = measured.layers.get('/layer4/layer4.2/relu_1');
  expect(relu?.forward).toBeLessThan(relu?.host?.forward ?? 0);
});

it('tells what PyTorch reserved beside what tensors took', () => {
  const { peakMemoryBytes = 0, peakReservedBytes = 0 } = measured.wholeStep ?? {};
  expect(peakReservedBytes).toBeGreaterThan(peakMemoryBytes);
});

it('tells the clock and the power', () => {
  expect(measured.machineState && stateText(measured.machineState)).toContain('1980 of 1980 MHz');
});
