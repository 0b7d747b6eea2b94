/** What must hold of every time, whatever the graph: kernels of whole networks on GPUs of all generations. */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { GpuProfile } from '../../server/src/hardware/clusterProfile.ts';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { kernelTime } from '../../server/src/hardware/kernelTime.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import { leastTime } from '../../server/src/hardware/leastTime.ts';
import type { Precision } from '../../server/src/model/scenario.ts';
import { bytesPerSecond, flopsPerSecond } from '../../server/src/model/units.ts';

const graphs = ['samples/resnet50.onnx', 'samples/mobilenet_v2.onnx', 'samples/gpt2.layers.yaml'];
const gpus = ['k80', 'p100-sxm2', 'v100-sxm2-16gb', 't4', 'rtx-3090', 'a100-sxm-80gb', 'h100-sxm', 'mi250x'];
const precisions: readonly Precision[] = ['fp32', 'tf32', 'fp16'];
const layouts = ['channels-first', 'channels-last'];

const cases = graphs.flatMap((graph) => gpus.map((name) => [graph, name] as const));

describe.each(cases)('%s on %s', (graph, name) => {
  const opened = openModel(byteSourceOfBuffer(readFileSync(graph)), graph);
  const gpu = findGpu(name);
  if (gpu === undefined) throw new Error(name);
  const estimates = precisions.flatMap((precision) =>
    layouts.map((layout) =>
      estimateModel(opened, [
        {
          cluster: name,
          gpus: 1,
          nodes: 1,
          batch: 8,
          precision,
          framework: { name: 'pytorch-ddp', options: { 'memory-format': layout } },
        },
      ]),
    ),
  );
  const kernels = new Set<KernelWork>();
  for (const { training, scenario, cluster } of estimates) {
    if (training === undefined || scenario === undefined || cluster === undefined) throw new Error(graph);
    const plan = planStep(training, scenario, cluster);
    for (const operator of plan.lowered.operators) {
      if (operator === undefined) continue;
      for (const kernel of [...operator.forward, ...operator.backwardData, ...operator.backwardWeight]) {
        kernels.add(kernel);
      }
    }
    for (const kernel of plan.update.kernels) kernels.add(kernel);
  }

  test('no kernel is faster than everything multiplied at the peak and moved once', () => {
    const faster = [...kernels].filter(
      (kernel) => kernelTime(gpu, kernel).time < leastTime(gpu, kernel) * (1 - 1e-9),
    );
    expect(faster).toEqual([]);
  });

  test('the range holds the time', () => {
    const outside = [...kernels].filter((kernel) => {
      const { time, low, high } = kernelTime(gpu, kernel);
      return low > time || high < time;
    });
    expect(outside).toEqual([]);
  });

  test('more bandwidth never costs time', () => {
    const wider = { ...gpu, memoryBandwidth: times(gpu.memoryBandwidth, 1.5, bytesPerSecond) };
    const slower = [...kernels].filter(
      (kernel) => kernelTime(wider, kernel).time > kernelTime(gpu, kernel).time * (1 + 1e-9),
    );
    expect(slower).toEqual([]);
  });

  test('doubling every clock halves every kernel at most', () => {
    const twice = doubled(gpu);
    const wrong = [...kernels].filter((kernel) => {
      const [before, after] = [kernelTime(gpu, kernel).time, kernelTime(twice, kernel).time];
      return after > before * (1 + 1e-9) || after < (before / 2) * (1 - 1e-9);
    });
    expect(wrong).toEqual([]);
  });

  test('what times rest on adds up', () => {
    for (const { cost } of estimates) {
      const { measured = 0, transferred = 0, assumed = 0 } = cost?.totals.basis ?? {};
      expect(measured + transferred + assumed).toBeCloseTo(1, 9);
      expect(Math.min(measured, transferred, assumed)).toBeGreaterThanOrEqual(0);
    }
  });

  test('the layers add up to the step', () => {
    for (const { cost } of estimates) {
      if (cost === undefined) throw new Error(graph);
      const sum = (part: 'forward' | 'backward'): number =>
        cost.layers.reduce((total, layer) => total + (layer.time[part] ?? Number.NaN), 0);
      const { forward, backward } = cost.totals.time;
      expect(sum('forward') / (forward ?? Number.NaN)).toBeCloseTo(1, 9);
      expect(sum('backward') / (backward ?? Number.NaN)).toBeCloseTo(1, 9);
    }
  });
});

function times<Value extends number>(
  sourced: { readonly value: Value; readonly source: string },
  factor: number,
  unit: (value: number) => Value,
) {
  return { ...sourced, value: unit(sourced.value * factor) };
}

const doubled = (gpu: GpuProfile): GpuProfile => ({
  ...gpu,
  clock: gpu.clock && times(gpu.clock, 2, (value) => value),
  memoryBandwidth: times(gpu.memoryBandwidth, 2, bytesPerSecond),
  peak: new Map([...gpu.peak].map(([dtype, peak]) => [dtype, times(peak, 2, flopsPerSecond)])),
  matrixFp32: gpu.matrixFp32 && times(gpu.matrixFp32, 2, flopsPerSecond),
});
