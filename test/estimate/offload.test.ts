/** State in host memory: what leaves the GPU, what is copied, and how long the optimizer takes on the host. */

import { describe, expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { wide } from '../support/wideSpec.ts';

/** Parameters of `wide`. */
const count = 24 * 8192 ** 2;

const estimate = (name: string, options: Record<string, string>, request: ScenarioRequest = {}) =>
  estimateModel(openLayerSpec(wide, 'wide.layers.yaml'), [
    {
      cluster: 'dgx-a100',
      gpus: 1,
      precision: 'bf16',
      optimizer: 'adamw',
      framework: { name, options },
      ...request,
    },
  ]);

const totals = (name: string, options: Record<string, string>, request: ScenarioRequest = {}) => {
  const { cost } = estimate(name, options, request);
  if (cost === undefined) throw new Error('not costed');
  return cost.totals;
};

const zeroOffload = { 'offload-optimizer': 'cpu' };
const allOffload = { stage: '3', 'offload-optimizer': 'cpu', 'offload-param': 'cpu' };
const fsdpOffload = { 'cpu-offload': 'true', 'optimizer-kernels': 'fused' };

describe('bytes of a parameter that stay on a GPU', () => {
  // Ren et al., "ZeRO-Offload", section 3: 2 of 16 bytes stay, the parameters in half precision.
  test.each<[string, Record<string, string>, number, number]>([
    ['deepspeed-zero', zeroOffload, 1, 2],
    ['deepspeed-zero', zeroOffload, 8, 2],
    ['deepspeed-zero', { ...zeroOffload, stage: '3' }, 8, 2 / 8],
    ['deepspeed-zero', allOffload, 8, 0],
    ['pytorch-fsdp', fsdpOffload, 1, 0],
    ['pytorch-fsdp', fsdpOffload, 8, 0],
  ])('%s %o on %i GPUs: %f', (name, options, gpus, parameters) => {
    const { memory } = totals(name, options, { gpus });
    expect(memory.parameters / count).toBeCloseTo(parameters, 9);
    expect(memory.gradients).toBe(0);
    expect(memory.optimizerState).toBe(0);
  });

  test('gradients that others update stay in stage 1', () => {
    expect(totals('deepspeed-zero', { ...zeroOffload, stage: '1' }, { gpus: 8 }).memory.gradients).toBe(
      2 * count,
    );
  });
});

describe('the update on the host', () => {
  const memoryBandwidth = 0.8 * (findCluster('dgx-a100')?.host?.memoryBandwidth?.value ?? 0);
  /** Bytes that a step of AdamW in one pass moves for each parameter, on all GPUs of a node together. */
  test.each<[string, Record<string, string>, string, number]>([
    // Parameter, gradient and two moments in, all but the gradient out; unscaling 8; the cast to bf16 6.
    ['deepspeed-zero', zeroOffload, 'bf16', 28 + 8 + 6],
    ['deepspeed-zero', allOffload, 'bf16', 28 + 8 + 6],
    ['pytorch-fsdp', fsdpOffload, 'bf16', 28],
    ['pytorch-fsdp', { ...fsdpOffload, weights: 'half' }, 'bf16', 14],
    // The norm reads gradients, clipping reads and writes them.
    ['pytorch-fsdp', { ...fsdpOffload, 'clip-norm': 'true' }, 'bf16', 28 + 4 + 8],
    // Decay, lerp, β₂·v, + g², √v, ÷ bias, + ε, the step: tensor after tensor.
    ['pytorch-fsdp', { 'cpu-offload': 'true' }, 'bf16', 8 + 12 + 8 + 12 + 8 + 8 + 8 + 16],
  ])('%s %o in %s: %i bytes', (name, options, _, moved) => {
    for (const gpus of [1, 8]) {
      const { time } = totals(name, options, { gpus });
      // Each of eight processes that torchrun starts has one thread (AnandTech: 18.6 GB/s of a Xeon E5-2699 v4).
      const rate = name === 'pytorch-fsdp' && gpus === 8 ? 8 * 18.6e9 : memoryBandwidth;
      expect((time.update ?? 0) / ((moved * count) / rate)).toBeCloseTo(1, 6);
    }
  });

  test('is no faster than the memory of which each process has a share', () => {
    // Four fifths of 153.6 GB/s. In fp16 gradients are read and written once more, to divide them by the scale of the loss.
    const { time } = totals('pytorch-fsdp', fsdpOffload, {
      cluster: 'dgx-1-v100',
      gpus: 8,
      precision: 'fp16',
    });
    expect((time.update ?? 0) / (((28 + 8) * count) / (0.8 * 153.6e9))).toBeCloseTo(1, 6);
  });

  test('takes as many parts of it as there are nodes', () => {
    const on = (gpus: number): number => totals('pytorch-fsdp', fsdpOffload, { gpus }).time.update ?? 0;
    expect(on(16) / on(8)).toBeCloseTo(1 / 2, 6);
  });

  test('is as sure as the bandwidth of the host is known', () => {
    const widthOn = (cluster: string): number => {
      const { range } = totals('pytorch-fsdp', fsdpOffload, { cluster }).time;
      if (range === null) throw new Error('no range');
      return range.high / range.low;
    };
    expect(widthOn('a100-sxm-80gb')).toBeGreaterThan(1.5 * widthOn('dgx-a100'));
    const codes = (cluster: string) =>
      estimate('pytorch-fsdp', fsdpOffload, { cluster }).issues.map(({ code }) => code);
    expect(codes('a100-sxm-80gb')).toContain('scenario/assumed-host-memory');
    expect(codes('dgx-a100')).not.toContain('scenario/assumed-host-memory');
  });
});

describe('copies over the host link', () => {
  const link = findCluster('dgx-a100')?.gpu.hostLink?.value ?? 0;
  const startup = 10e-6;
  test.each<[string, Record<string, string>, number, number]>([
    // fp32 gradients down in buckets of seven matrices, bf16 parameters up.
    ['deepspeed-zero', zeroOffload, 6, 4 + 1],
    // Parameters go up for forward and for backward, but for the block that is there still.
    ['pytorch-fsdp', { ...fsdpOffload, weights: 'half', sharding: 'shard-grad-op' }, 2 + 2, 48],
  ])('%s %o: %i bytes of a parameter in %i copies', (name, options, moved, copies) => {
    const { time } = totals(name, options);
    expect(time.communication).toBeCloseTo((moved * count) / link + copies * startup, 6);
  });

  test('go down in every pass, and up once in a step', () => {
    const of = (accumulate: number): number =>
      totals('deepspeed-zero', zeroOffload, { accumulate }).time.communication ?? 0;
    expect(of(4) - of(1)).toBeCloseTo(3 * ((4 * count) / link + 4 * startup), 6);
  });
});

describe('out of memory', () => {
  const fixOf = (name: string, options: Record<string, string>, cluster = 'rtx-3090'): string =>
    estimate(name, options, { cluster }).cost?.findings.find(({ code }) => code === 'findings/out-of-memory')
      ?.fix ?? '';

  test('keeps state on the host where the framework can', () => {
    expect(fixOf('deepspeed-zero', {})).toContain(
      'eep gradients and optimizer state in host memory (offload-optimizer=cpu), which needs ',
    );
    expect(fixOf('pytorch-fsdp', {})).toContain('in host memory (cpu-offload=true), which needs ');
    expect(fixOf('pytorch-ddp', {})).not.toContain('host memory');
  });

  test('its advice holds', () => {
    for (const [name, options] of [
      ['deepspeed-zero', zeroOffload],
      ['pytorch-fsdp', fsdpOffload],
    ] as const) {
      expect(fixOf(name, options)).toBe('');
    }
  });
});

test.each<[Record<string, string>, string]>([
  [{ ...zeroOffload, stage: '1', 'grad-accum-dtype': 'fp32' }, 'offload-optimizer=cpu'],
  [{ 'offload-param': 'cpu' }, 'offload-param=cpu'],
  [{ ...zeroOffload, 'offload-param': 'cpu' }, 'offload-param=cpu'],
])('%o is refused', (options, text) => {
  expect(
    estimate('deepspeed-zero', options)
      .issues.map(({ message }) => message)
      .join(),
  ).toContain(text);
});

test('a single GPU that copies all is why the efficiency is over 100 %', () => {
  const { scalingEfficiency, efficiencyNotes } = totals('pytorch-fsdp', fsdpOffload, { gpus: 8, batch: 64 });
  expect(scalingEfficiency).toBeGreaterThan(1.005);
  expect(efficiencyNotes[0]).toMatch(
    /^over 100 %, because a single GPU copies all state to and from its host, and waits \S+ m?s for it; here each waits \S+ [mµ]?s$/,
  );
});
