import { describe, expect, test } from 'vitest';
import type { ProfiledStep, WorkerGroup } from '../../server/src/frameworks/exchange.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import { bytes, seconds } from '../../server/src/model/units.ts';

const group = (gpus: number, nodes = 1): WorkerGroup => ({
  gpus,
  nodes,
  gpusPerNode: gpus / nodes,
  operators: 1,
  precision: 'bf16',
});

const first = { adds: false, sends: false };
const middle = { adds: true, sends: false };
const last = { adds: true, sends: true };
const only = { adds: false, sends: true };

/** Bytes per element, each tensor read or written counted once, and launches per gradient; nodes, where not one. */
const cases = [
  // Nothing is added to and nobody is sent to.
  ['pytorch-ddp', {}, 1, only, 0, 0],
  // accumulate_grad.h: two fp32 tensors are read, one is written.
  ['pytorch-ddp', {}, 1, last, 12, 1],
  ['pytorch-ddp', { weights: 'half' }, 1, last, 6, 1],
  // reducer.cpp: divided into the bucket (4 + 4), copied back (4 + 4).
  ['pytorch-ddp', {}, 8, only, 16, 2],
  ['pytorch-ddp', {}, 8, first, 0, 0],
  ['pytorch-ddp', {}, 8, middle, 12, 1],
  ['pytorch-ddp', {}, 8, last, 28, 3],
  ['pytorch-ddp', { 'gradient-as-bucket-view': 'true' }, 8, only, 8, 1],
  // fp16_compress_hook: cast (4 + 2), divided (2 + 2), cast back (2 + 4).
  ['pytorch-ddp', { 'gradient-dtype': 'fp16' }, 8, only, 16 + 16, 2],
  // nanotron's gradient_accumulator.py: half read, fp32 read and written, in every pass.
  ['pytorch-ddp', { weights: 'half', gradients: 'fp32-sums' }, 1, first, 10, 1],
  // FSDP: put together (2 + 2), divided (2 + 2).
  ['pytorch-fsdp', {}, 8, only, 8, 0],
  // Cast to fp32 besides (2 + 4), and divided there (4 + 4).
  ['pytorch-fsdp', { 'reduce-dtype': 'fp32' }, 8, only, 18, 0],
  // The shard of 8 is added to: 12 / 8.
  ['pytorch-fsdp', { 'reduce-dtype': 'fp32' }, 8, last, 19.5, 0],
  ['pytorch-fsdp', {}, 1, only, 4, 0],
  // On two nodes of 4 a shard is one of 4: 12 / 4; with full sharding one of 8.
  ['pytorch-fsdp', { sharding: 'hybrid' }, 8, last, 8 + 3, 0, 2],
  ['pytorch-fsdp', {}, 8, last, 8 + 1.5, 0, 2],
  // DeepSpeed: copied into the buffer (2 + 2), divided there (2 + 2).
  ['deepspeed-zero', {}, 8, only, 8, 2],
  ['deepspeed-zero', { stage: '1' }, 8, last, 14, 3],
  ['deepspeed-zero', { stage: '3' }, 8, last, 8, 2],
  // Megatron-LM: a product reads and writes an fp32 sum (8) in the place of a gradient (2), which is scaled (8) before it is sent.
  ['megatron', {}, 1, first, 6, 0],
  // Nobody is sent to.
  ['megatron', {}, 1, last, 6, 0],
  ['megatron', {}, 8, middle, 6, 0],
  ['megatron', {}, 8, last, 14, 0],
  ['megatron', { 'gradient-dtype': 'half' }, 8, last, 2 + 4, 0],
  ['megatron', { 'gradient-accumulation-fusion': 'false' }, 8, middle, 10, 1],
  // FSDP2: twice gathered, copied out (2 + 2); gradients cast into what is scattered (2 + 4); NCCL divides.
  ['torchtitan', {}, 8, only, 14, 0],
  ['torchtitan', { 'reshard-after-forward': 'never' }, 8, only, 10, 0],
  ['torchtitan', {}, 8, last, 15.5, 0],
  ['torchtitan', { 'reshard-after-forward': 'always' }, 8, only, 14, 0],
  ['torchtitan', { 'reshard-after-forward': 'always' }, 8, middle, 15.5, 0],
  // Shards of the 4 GPUs of a node: 12 / 4.
  ['torchtitan', { sharding: 'hybrid' }, 8, last, 14 + 3, 0, 2],
  ['torchtitan', { sharding: 'full' }, 8, last, 14 + 1.5, 0, 2],
  // One GPU has no FSDP: two fp32 tensors are read, one is written.
  ['torchtitan', {}, 1, only, 0, 0],
  ['torchtitan', {}, 1, last, 12, 1],
] as const;

test('a stage of torchtitan adds up micro-batches in fp32, and copies what it gathers and scatters once in a step', () => {
  const { behaviour } = resolveFramework({ name: 'torchtitan', options: {} });
  const stage = { ...group(8), pipelined: true } as const;
  // Cast (2 + 4); added (2 + 4 + 4); copied out (2 + 2), added, and cast into what is scattered (2 + 4).
  const passes = [first, middle, last, only];
  expect(passes.map((pass) => behaviour.handleGradients?.(stage, pass, 'bf16').bytesPerElement)).toEqual([
    6, 10, 20, 10,
  ]);
  // In fp32 all of these are 4 bytes: 8; 12; 8, 12 and 8; 8 and 8.
  expect(passes.map((pass) => behaviour.handleGradients?.(stage, pass, 'fp32').bytesPerElement)).toEqual([
    8, 12, 28, 16,
  ]);
});

/** fsdp_reshard_after_forward: `always` gives blocks up beside a pipeline too, which `default` does not. */
test.each([
  ['always', false, 4],
  ['always', true, 4],
  ['default', false, 4],
  ['default', true, 2],
  ['never', false, 2],
  ['never', true, 2],
] as const)(
  'torchtitan with reshard-after-forward=%s, pipelined %s: gathers %d bytes per element',
  (asked, pipelined, gathered) => {
    const { behaviour } = resolveFramework({
      name: 'torchtitan',
      options: { 'reshard-after-forward': asked },
    });
    const stage = { ...group(8), operators: 2, ...(pipelined ? { pipelined } : {}) };
    const parameter = {
      parameter: 'layers.0.w',
      index: 0,
      elements: 1000,
      bytes: bytes(4000),
      readyAfter: 1,
      usedFrom: 0,
    };
    const more = { ...parameter, parameter: 'layers.1.w', index: 1, readyAfter: 0, usedFrom: 1 };
    const profiled: ProfiledStep = {
      backwardEnds: () => Float64Array.of(1),
      backwardLaunches: () => Float64Array.of(1),
      batchPerGpu: () => 1,
      timeOf: () => seconds(1),
    };
    const { messages, shards } = behaviour.exchange([parameter, more], stage, profiled);
    const gathers = messages.filter(({ stages }) =>
      stages.some(
        ({ operation }) => operation.kind === 'collective' && operation.collective === 'all-gather',
      ),
    );
    // bf16, of two blocks of 1,000 elements.
    expect(gathers.reduce((sum, message) => sum + message.bytes, 0)).toBe(gathered * 2000);
    // Gradients of a stage lie whole, in fp32, until the last micro-batch.
    const isWhole = pipelined && asked !== 'always';
    expect(shards).toEqual({ parameters: 8, gradients: isWhole ? 1 : 8, optimizerState: 8 });
  },
);

/** Half precision is that of weights that a model was cast to; TF32 is how products read fp32. */
test.each([
  ['fp32', 4],
  ['tf32', 4],
  ['fp16', 2],
  ['bf16', 2],
  ['fp8', 2],
] as const)('weights of a model that is half precision throughout, in %s: %d bytes', (precision, bytes) => {
  const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options: { weights: 'half' } });
  expect(behaviour.weightBytesPerElement?.(precision)).toBe(bytes);
  const { behaviour: usual } = resolveFramework({ name: 'pytorch-ddp', options: {} });
  expect(usual.weightBytesPerElement?.(precision)).toBe(4);
});

/** megatron/training/arguments.py: bf16 alone sets `accumulate_allreduce_grads_in_fp32`. */
test.each([
  ['auto', 'bf16', 4, 6],
  ['auto', 'fp8', 4, 6],
  ['auto', 'fp16', 2, 2],
  ['fp32', 'fp16', 4, 6],
  ['half', 'bf16', 2, 2],
  ['auto', 'fp32', 4, 4],
] as const)(
  'Megatron-LM with gradient-dtype=%s adds up gradients of %s in %d bytes',
  (text, precision, sum, moved) => {
    const { behaviour } = resolveFramework({ name: 'megatron', options: { 'gradient-dtype': text } });
    expect(behaviour.gradientSumBytesPerElement?.(precision)).toBe(sum);
    // A product reads and writes the sum in the place of a gradient.
    expect(behaviour.handleGradients?.(group(8), first, precision).bytesPerElement).toBe(moved);
  },
);

describe('bytes per element that a pass moves of its gradients', () => {
  test.each(cases)(
    '%s %j, %d GPUs, %j',
    (name, options, gpus, pass, bytesPerElement, launches, nodes?: number) => {
      const { behaviour } = resolveFramework({ name, options });
      const handled = behaviour.handleGradients?.(group(gpus, nodes), pass, 'bf16');
      expect(handled).toEqual({ bytesPerElement, launches });
    },
  );
});
