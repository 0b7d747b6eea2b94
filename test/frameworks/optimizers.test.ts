/** Optimizers: what they keep and move, which frameworks run them, and what people read of them. */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { UpdateSizes } from '../../server/src/frameworks/behaviour.ts';
import { refusedOptimizer } from '../../server/src/frameworks/optimizers/optimizerRules.ts';
import { optimizerDefinitions } from '../../server/src/frameworks/optimizers/optimizers.ts';
import { optimizerUpdate } from '../../server/src/frameworks/pytorch/optimizerUpdate.ts';
import { optimizerRules, resolveFramework } from '../../server/src/frameworks/registry.ts';
import { type Optimizer, optimizers } from '../../server/src/model/scenario.ts';

const updating = optimizers.filter((name) => name !== 'none');

/** A hidden matrix of 64 × 96, and a vector of 2,000. */
const both: UpdateSizes = {
  elements: 8144,
  tensors: [
    { elements: 6144, shape: [64, 96], isHidden: true },
    { elements: 2000, shape: [2000], isHidden: false },
  ],
};
const matrix: UpdateSizes = { elements: 6144, tensors: both.tensors.slice(0, 1) };

const vectorOf = (elements: number): UpdateSizes => ({
  elements,
  tensors: [{ elements, shape: [elements], isHidden: false }],
});

const movedBy = (optimizer: Optimizer, sizes: UpdateSizes): number =>
  optimizerUpdate(optimizer, 'foreach', 'fp32', sizes).kernels.reduce((total, { bytes }) => total + bytes, 0);

describe('state kept between steps, in bytes', () => {
  // PyTorch 2.13 on the CPU: sizes of `optimizer.state` after a step of these two parameters, but for what is derived.
  test.each([
    ['adagrad', 32_576],
    ['rmsprop', 32_576],
    ['adamw', 65_152],
    ['adafactor', 4 * (64 + 96) + 4 * 2000],
    // The matrix 24,576; the vector is AdamW's.
    ['muon', 24_576 + 8 * 2000],
    // timm's Lion has one moment, FusedLAMB two.
    ['lion', 32_576],
    ['lamb', 65_152],
    // Two bytes an element and two scales of fp32 for each of 24 blocks; fewer than 4,096 elements in fp32.
    ['adamw-8bit', 2 * 6144 + 2 * 4 * 24 + 8 * 2000],
  ] as const)('%s: %i', (optimizer, expected) => {
    expect(optimizerUpdate(optimizer, 'foreach', 'fp32', both).stateBytes).toBe(expected);
  });

  test('eight bits are eight bits whatever the weights are', () => {
    const held = { bytesPerElement: 2, copied: false, clipped: false };
    expect(optimizerUpdate('adamw-8bit', 'foreach', 'bf16', matrix, held).stateBytes).toBe(12_480);
    expect(optimizerUpdate('adagrad', 'foreach', 'bf16', matrix, held).stateBytes).toBe(12_288);
  });
});

/**
 * bitsandbytes/optim/optimizer.py, `Optimizer2State.init_state`: `p.numel() < min_8bit_size` (4,096) keeps fp32 states. Both states of
 * 4,096 elements are 8,192 bytes, and 16 blocks of 256 have a scale of 4 bytes in each.
 */
test.each([
  [1, 8],
  [4095, 8 * 4095],
  [4096, 8192 + 2 * 16 * 4],
  [4352, 8704 + 2 * 17 * 4],
])('of %i elements, states in 8 bits take %i bytes', (elements, expected) => {
  const sizes: UpdateSizes = { elements, tensors: [{ elements, shape: [elements], isHidden: false }] };
  const { stateBytes, kernels } = optimizerUpdate('adamw-8bit', 'foreach', 'fp32', sizes);
  expect(stateBytes).toBe(expected);
  // Parameter and gradient in, parameter out, states in and out.
  expect(kernels.reduce((total, { bytes }) => total + bytes, 0)).toBe(12 * elements + 2 * expected);
});

/**
 * A vector of 2,000 elements, updated by SGD without momentum: it reads parameter and gradient and writes the parameter. With an fp32 copy
 * the gradient is cast to it before (6 bytes an element) and the copy to the weights behind (6). Clipping reads gradients for their norm
 * (torch/nn/utils/clip_grad.py), and reads and writes them to scale them; GradScaler reads and writes each (torch/amp/grad_scaler.py).
 */
describe('weights as they are held', () => {
  const n = 2000;
  const vector: UpdateSizes = { elements: n, tensors: [{ elements: n, shape: [n], isHidden: false }] };
  const half = { bytesPerElement: 2, copied: false, clipped: false };
  const copy = { ...half, copied: true };
  const full = { bytesPerElement: 4, copied: false, clipped: false };
  test.each([
    ['in fp32', 'fp32', full, 12, 0, 0],
    ['in fp32 under autocast to bf16', 'bf16', full, 12, 0, 0],
    ['in fp32 under autocast to fp16, scaled', 'fp16', full, 12 + 8, 0, 0],
    ['in fp32, clipped', 'fp32', { ...full, clipped: true }, 12 + 4 + 8, 0, 0],
    ['in bf16', 'bf16', half, 6, 0, 0],
    ['in fp16, scaled', 'fp16', half, 6 + 4, 0, 0],
    ['in bf16, clipped', 'bf16', { ...half, clipped: true }, 6 + 2 + 4, 0, 0],
    ['in bf16 with an fp32 copy', 'bf16', copy, 6 + 12 + 6, 4, 4],
    ['in fp16 with an fp32 copy, scaled by the cast', 'fp16', copy, 6 + 12 + 6, 4, 4],
    ['with an fp32 copy, clipped', 'bf16', { ...copy, clipped: true }, 6 + 4 + 8 + 12 + 6, 4, 4],
    // fp32 sums of gradients are taken as they are.
    ['with an fp32 copy and fp32 gradients', 'bf16', { ...copy, wideGradients: true }, 12 + 6, 4, 0],
    // In fp32 there is nothing to copy.
    ['in fp32, with a copy asked for', 'fp32', { ...full, copied: true }, 12, 0, 0],
  ] as const)('%s', (_, precision, held, moved, state, temporary) => {
    const update = optimizerUpdate('sgd', 'foreach', precision, vector, held);
    expect([
      update.kernels.reduce((total, { bytes }) => total + bytes, 0),
      update.stateBytes,
      update.temporaryBytes,
    ]).toEqual([moved * n, state * n, temporary * n]);
    // `_maybe_opt_step` reads on the host whether there was an infinity.
    expect(update.hostWaits).toBe(precision === 'fp16' && !held.copied);
  });
});

/** The same by options of a framework, where a person asks for them; in fp32 there are no weights in half precision. */
test.each([
  [{}, 'bf16', 12],
  [{ weights: 'half' }, 'bf16', 6],
  [{ weights: 'half' }, 'fp32', 12],
  [{ weights: 'half-with-copy' }, 'bf16', 6 + 12 + 6],
  [{ weights: 'half-with-copy' }, 'fp32', 12],
  [{ 'clip-norm': 'true' }, 'bf16', 12 + 4 + 8],
  [{ 'clip-norm': 'false' }, 'bf16', 12],
  [{ weights: 'half', 'clip-norm': 'true' }, 'bf16', 6 + 2 + 4],
  [{ weights: 'half-with-copy', 'clip-norm': 'true' }, 'bf16', 6 + 4 + 8 + 12 + 6],
] as const)('pytorch-ddp with %j in %s moves %i bytes an element', (options, precision, moved) => {
  const sizes: UpdateSizes = {
    elements: 2000,
    tensors: [{ elements: 2000, shape: [2000], isHidden: false }],
  };
  const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options });
  const { kernels } = behaviour.update('sgd', precision, sizes);
  expect(kernels.reduce((total, { bytes }) => total + bytes, 0)).toBe(moved * 2000);
});

/**
 * PyTorch 2.13, documentation of `torch.optim.Muon`: it "only optimizes 2D parameters that are hidden layers"; AdamW, with two states, takes
 * the rest. Muon has one.
 */
test.each([
  ['a matrix', [64, 96], true, 4],
  ['a table or the head', [64, 96], false, 8],
  ['filters', [16, 4, 8, 12], true, 8],
  ['filters of the first layer', [16, 4, 8, 12], false, 8],
  ['a scale', [6144], true, 8],
] as const)('Muon keeps of %s of shape %j', (_, shape, isHidden, bytesPerElement) => {
  const sizes: UpdateSizes = { elements: 6144, tensors: [{ elements: 6144, shape, isHidden }] };
  expect(optimizerUpdate('muon', 'foreach', 'fp32', sizes).stateBytes).toBe(bytesPerElement * 6144);
});

/** torch/optim/_adafactor.py, `_init_group`: rows and columns of the last two dimensions, of a vector all. */
test.each([
  ['a vector', [6144], 6144],
  ['a matrix', [64, 96], 64 + 96],
  ['filters', [16, 4, 8, 12], 16 * 4 * (8 + 12)],
  ['a row', [1, 6144], 1 + 6144],
])('Adafactor keeps of %s of shape %j', (_, shape, kept) => {
  const sizes: UpdateSizes = { elements: 6144, tensors: [{ elements: 6144, shape, isHidden: true }] };
  expect(optimizerUpdate('adafactor', 'foreach', 'fp32', sizes).stateBytes).toBe(4 * kept);
});

describe('bytes that the kernels of an update move', () => {
  // Operators that a step calls, recorded under TorchDispatchMode (PyTorch 2.13), operand by operand: 4 bytes an element.
  test.each([
    // addcmul 12, sqrt 8, add 8, mul 8, addcdiv 16
    ['adagrad', both, 52 * 8144],
    // mul 8, addcmul 12, sqrt 8, add 8, addcdiv 16
    ['rmsprop', both, 52 * 8144],
    // Decay 8, mul 8, add 12, sign 8, add 12, mul 8, add 12 (timm/optim/lion.py)
    ['lion', both, 68 * 8144],
    // Norm 4, moments and update 28, norms 4 and 4, step 12 (multi_tensor_lamb.cu)
    ['lamb', both, 52 * 8144],
    // Parameter, gradient and two states in, parameter and states out
    ['adamw-8bit', matrix, 12 * 6144 + 2 * 12_480],
    // Three norms 12, mm 4, div, clamp, rsqrt 8 each, mul 12, norm 4, add 12; a square, a quotient and a mean of 64 and of 96
    // (28 each); the row and the column that mm reads; the mean of 64 and its bound.
    ['adafactor', matrix, 68 * 6144 + 28 * 160 + 4 * 160 + 4 * 64 + 8],
    // Norm 4, mul 8, lerp 12, clone 8, clamp and rsqrt 8 each, mul 12, norm 4, add 12.
    ['adafactor', vectorOf(2000), (4 + 8 + 12 + 8 + 8 + 8 + 12 + 4 + 12) * 2000],
    // lerp 12, lerp 12, cast 6, norm 2, div 4; five times mm of X and its transpose, addmm of 64 × 64 and addmm of 64 × 96,
    // each with a copy of what it adds to; decay 8, step 10.
    ['muon', matrix, 54 * 6144 + 5 * (32_768 + 16_384 + 24_576 + 24_576 + 32_768)],
  ] as const)('%s', (optimizer, sizes, expected) => {
    expect(movedBy(optimizer, sizes)).toBe(expected);
  });

  test('Muon multiplies three times in each of five iterations', () => {
    const { kernels } = optimizerUpdate('muon', 'foreach', 'fp32', matrix);
    // 2·64·64·96, 2·64³, 2·64·96·64
    expect(kernels.reduce((total, { flops }) => total + flops, 0)).toBe(5 * (786_432 + 524_288 + 786_432));
  });

  test.each(['adafactor', 'muon', 'adamw-8bit'] as const)('%s launches for each tensor', (optimizer) => {
    const launches = (count: number): number =>
      optimizerUpdate(optimizer, 'foreach', 'fp32', {
        elements: 6144 * count,
        tensors: Array.from({ length: count }, () => ({ elements: 6144, shape: [64, 96], isHidden: true })),
      }).kernels.reduce((total, kernel) => total + kernel.launches, 0);
    expect(launches(5)).toBe(5 * launches(1));
  });

  test('the host of Adafactor waits for two norms of each tensor', () => {
    const work = (sizes: UpdateSizes) => optimizerUpdate('adafactor', 'foreach', 'fp32', sizes).hostWork;
    expect([work(matrix), work(both)]).toEqual([4, 8]);
  });

  test.each([
    ['rmsprop', 5],
    ['adagrad', 1],
  ] as const)('where fused kernels are asked for, %s has %i', (optimizer, count) => {
    expect(optimizerUpdate(optimizer, 'fused', 'fp32', both).kernels).toHaveLength(count);
  });
});

describe('a framework that does not run an optimizer says what to do', () => {
  test.each([
    ['muon', 'pytorch-ddp', 1, undefined],
    ['muon', 'pytorch-ddp', 2, /tp=2.*choose `adamw`, or leave `tp` out/],
    ['muon', 'pytorch-fsdp', 1, /whole tensors.*`pytorch-ddp`/],
    ['adafactor', 'deepspeed-zero', 1, /whole tensors/],
    ['lamb', 'pytorch-fsdp', 1, /whole tensors/],
    ['lion', 'pytorch-fsdp', 1, undefined],
    ['adamw-8bit', 'pytorch-fsdp', 1, undefined],
    ['lion', 'megatron', 1, /`megatron` has no Lion; choose sgd, momentum, adam, adamw, none/],
    ['muon', 'torchtitan', 1, /has no Muon/],
    ['rmsprop', 'tensorflow', 1, undefined],
    ['adagrad', 'mxnet', 1, undefined],
    ['lamb', 'caffe-mpi', 1, /has no LAMB/],
    ['none', 'megatron', 8, undefined],
  ] as const)('%s with %s, tp=%i', (optimizer, name, tensorParallel, expected) => {
    const reason = refusedOptimizer(optimizer, name, optimizerRules({ name, options: {} }), tensorParallel);
    if (expected === undefined) expect(reason).toBeUndefined();
    else expect(reason).toMatch(expected);
  });
});

describe('one list', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
  const texts = JSON.parse(readFileSync('package.nls.json', 'utf8'));

  test('the setting has every optimizer, in their order', () => {
    const { enum: names, enumDescriptions } = manifest.contributes.configuration
      .flatMap(({ properties }: { properties: object }) => Object.entries(properties))
      .find(([key]: [string]) => key === 'layercost.optimizer')[1];
    expect(names).toEqual([...optimizers]);
    expect(enumDescriptions).toEqual(optimizers.map((name) => `%setting.optimizer.${name}%`));
  });

  test.each(updating)('%s is described alike in the setting', (name) => {
    expect(texts[`setting.optimizer.${name}`]).toBe(optimizerDefinitions[name].documentation);
  });

  test('the runner has the classes of torch.optim that are named, and no others', () => {
    const source = readFileSync('server/src/benchmark/runner/layercost_runner/update.py', 'utf8');
    const table = /_classes = \{([^}]*)\}/.exec(source)?.[1] ?? '';
    const classes = [...table.matchAll(/"([^"]+)": "([^"]+)"/g)].map(([, name, kind]) => [name, kind]);
    const named = updating.flatMap((name) => {
      const { torchClass } = optimizerDefinitions[name];
      return torchClass === undefined ? [] : [[name, torchClass]];
    });
    expect(classes).toEqual(named);
  });
});
