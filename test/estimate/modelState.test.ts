/** Bytes of weights, gradients and optimizer state by precision, optimizer, framework and its options. */

import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { addedGradients } from '../../server/src/estimate/memory/backwardMemory.ts';
import { beforeShards } from '../../server/src/estimate/memory/heldParameters.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { chain } from '../support/trainingGraph.ts';

// 2 × (1,024 × 1,024 + 1,024) parameters.
const elements = 2 * (1024 * 1024 + 1024);
const specOf = (x: string, ...layers: readonly string[]) =>
  openModel(
    byteSourceOfBuffer(
      Buffer.from(
        `name: m\ninputs:\n  x: ${x}\nlayers:\n${layers.map((layer) => `  - ${layer}\n`).join('')}`,
      ),
    ),
    'm.layers.yaml',
  );
const opened = specOf('float32[8, 1024]', 'h: Linear(1024, 1024) * 2');

function memoryOf(framework: string, request: ScenarioRequest = {}, model = opened) {
  const [name = '', ...pairs] = framework.split(',');
  const options = Object.fromEntries(pairs.map((pair) => pair.split('=')));
  const { cost, issues } = estimateModel(model, [
    { cluster: 'dgx-a100', gpus: 1, precision: 'bf16', ...request, framework: { name, options } },
  ]);
  if (cost === undefined) throw new Error(JSON.stringify(issues));
  return cost.totals.memory;
}

/**
 * Sources: PyTorch 2.x torch/optim/{sgd,adam,adamw}.py (`momentum_buffer`; `exp_avg` and `exp_avg_sq` like the parameter);
 * "Automatic Mixed Precision" (weights stay fp32); Rajbhandari et al., ZeRO, section 3 (what is split over the ranks).
 */
describe('bytes per parameter on each GPU: weights, gradients, state', () => {
  test.each<[string, ScenarioRequest, number, number, number]>([
    ['pytorch-ddp', { precision: 'fp32', optimizer: 'sgd' }, 4, 4, 0],
    ['pytorch-ddp', { precision: 'fp32', optimizer: 'momentum' }, 4, 4, 4],
    ['pytorch-ddp', { precision: 'fp32', optimizer: 'adam' }, 4, 4, 8],
    ['pytorch-ddp', { precision: 'fp32', optimizer: 'none' }, 4, 4, 0],
    ['pytorch-ddp,weights=half', {}, 2, 2, 4],
    ['pytorch-ddp,weights=half', { precision: 'fp32' }, 4, 4, 8],
    // Apex O2 and Megatron: both moments and the copy are fp32 (ZeRO, section 3.1: K = 12).
    ['pytorch-ddp,weights=half-with-copy', {}, 2, 2, 12],
    ['pytorch-ddp,weights=half-with-copy', { precision: 'fp32' }, 4, 4, 8],
    // Megatron-LM, docs/user-guide/features/dist_optimizer.md: 18 and 6 + 12/d bytes with bf16, 16 with fp32. Of the 20 with fp16 four are
    // gradients in fp32 that the update makes and frees.
    ['megatron', { gpus: 8 }, 2, 4, 12],
    ['megatron,distributed-optimizer=true', { gpus: 8 }, 2, 4, 12 / 8],
    ['megatron,gradient-dtype=half', { gpus: 8 }, 2, 2, 12],
    ['megatron', { precision: 'fp16', gpus: 8 }, 2, 2, 12],
    ['megatron,gradient-dtype=fp32', { precision: 'fp16', gpus: 8 }, 2, 4, 12],
    ['megatron', { precision: 'fp32' }, 4, 4, 8],
    ['torchtitan', { gpus: 8 }, 4 / 8, 4 / 8, 8 / 8],
    ['pytorch-ddp', { mode: 'inference', precision: 'fp32' }, 4, 0, 0],
    ['pytorch-ddp,weights=half', { mode: 'inference' }, 2, 0, 0],
    // FSDP gathers in half precision what lies in fp32 shards.
    ['pytorch-fsdp', { gpus: 8 }, 4 / 8, 4 / 8, 8 / 8],
    ['pytorch-fsdp,weights=half', { gpus: 8 }, 2 / 8, 2 / 8, 4 / 8],
    // The whole that stays to backward is a buffer, in half precision.
    ['pytorch-fsdp,sharding=shard-grad-op', { gpus: 8 }, 4 / 8, 4 / 8, 8 / 8],
  ])('%s %j', (framework, request, weights, gradients, state) => {
    const memory = memoryOf(framework, request);
    expect([memory.parameters, memory.gradients, memory.optimizerState]).toEqual(
      [weights, gradients, state].map((width) => width * elements),
    );
  });
});

test.each([
  // Of the two layers one is frozen: it is held, and has neither gradient nor state.
  ['pytorch-ddp', 1, 4],
  ['pytorch-fsdp', 8, 4 / 8],
  ['deepspeed-zero,stage=3,persistence-threshold=0', 8, 2 / 8],
  ['deepspeed-zero,stage=2', 8, 2],
])('frozen weights of %s lie with the others over %i GPUs', (framework, gpus, width) => {
  const all = memoryOf(framework, { gpus });
  const half = memoryOf(framework, { gpus, freeze: ['h[1]'] });
  const copies = (memory: typeof all) => memory.parameters - width * elements;
  expect(half.gradients * 2).toBe(all.gradients);
  // What is cast for backward is the same at most.
  expect(copies(half)).toBeGreaterThanOrEqual(0);
  expect(copies(half)).toBeLessThanOrEqual(copies(all));
});

/** CublasHandlePool.cpp, `parseChosenWorkspaceSize`, of an A100. */
const library = 4096 * 1024 * 2 + 16 * 1024 * 8;

test('a temporary of the foreach update is as large as the weights; a fused one needs none', () => {
  const at = (options: string) => memoryOf(`pytorch-ddp${options}`, { precision: 'fp32' }).peakAt;
  expect(at('').phase).toBe('update');
  expect(at('').workspace - library).toBe(4 * elements);
  expect(at(',optimizer-kernels=fused').phase).not.toBe('update');
});

test('autocast keeps the half-precision copies of weights that backward multiplies by', () => {
  // The first layer has no gradient to give to its input.
  expect(memoryOf('pytorch-ddp').parameters).toBe(4 * elements + 2 * 1024 * 1024);
});

test('DDP sends gradients from copies, as wide as they are; views of the buckets need none', () => {
  const at = (options: string) => memoryOf(`pytorch-ddp${options}`, { gpus: 8 }).communicationBuffers;
  expect([at(''), at(',weights=half'), at(',gradient-as-bucket-view=true')]).toEqual([
    4 * elements,
    2 * elements,
    0,
  ]);
});

test('activations are stored in half precision where the model is', () => {
  const half = memoryOf('pytorch-ddp,weights=half').activations;
  expect(half).toBe(memoryOf('pytorch-ddp', { precision: 'fp32' }).activations / 2);
});

test('a training loop holds its batch while it updates', () => {
  // A mean keeps nothing of what it reads.
  const model = specOf('float32[8, 16, 1024]', 'm: mean(dim=1)', 'h: Linear(1024, 1024) * 2');
  const { phase, activations } = memoryOf('pytorch-ddp', { precision: 'fp32' }, model).peakAt;
  expect([phase, activations]).toEqual(['update', 8 * 16 * 1024 * 4]);
});

// In bf16 the gradient that `nll_loss` gives in fp32 is cast, and gone, before there is one of the scores.
test.each([
  ['fp32', 8],
  ['bf16', 4],
] as const)(
  '%s: gradients of scores and of their log-softmax take %i bytes an element, with that of the loss',
  (precision, width) => {
    const model = specOf('float32[64, 64]', 'h: Linear(64, 100000, bias=False)');
    const request = { precision, loss: 'cross-entropy', optimizer: 'sgd' } as const;
    const { layer, workspace } = memoryOf('pytorch-ddp', request, model).peakAt;
    expect(layer).toBe('loss');
    expect(workspace - library).toBe(width * 64 * 100_000 + 4);
  },
);

test('a gradient that is added to a sum is there beside it, unless a shard of it is sent', () => {
  const training = chain([{ parameters: 10 }, { parameters: 30 }]);
  const sizes = Float64Array.of(40, 120);
  expect([...addedGradients(training, 160, sizes, 1)]).toEqual([160 + 40, 160 + 120]);
  expect([...addedGradients(training, 160, sizes, 4)]).toEqual([160 / 4, 160 / 4]);
});

test('experts that 4 workers divide are sharded over the others of 16 alone', () => {
  // 10 bytes of each: one parameter of all 16 GPUs, and of experts what one of 4 workers holds, over 16 ÷ 4 of them.
  const sizes = beforeShards([{}, { expertWays: 4 }], Float64Array.of(10, 10), 16);
  expect([...sizes].map((size) => size / 16)).toEqual([10 / 16, 10 / 4]);
  expect([...beforeShards([{ expertWays: 4 }], Float64Array.of(10), 1)]).toEqual([10]);
  expect([...beforeShards([{ expertWays: 32 }], Float64Array.of(10), 16)].map((size) => size / 16)).toEqual([
    10,
  ]);
});

test('the matrix library works in 32 MiB on Hopper', () => {
  const { workspace } = memoryOf('pytorch-ddp', { cluster: 'dgx-h100', mode: 'inference' });
  expect(workspace).toBe(32 * 2 ** 20);
});
