/** What all kernels of a step have in common, by its options: how images lie, whether autocast is on, which library computes. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import type { KernelEnvironment } from '../../server/src/hardware/kernelEnvironment.ts';
import type { Mode, Precision } from '../../server/src/model/scenario.ts';

/** Different ones of all kernels, forward and backward. */
function environmentsOf(
  layers: readonly string[],
  precision: Precision,
  mode: Mode,
  options: Readonly<Record<string, string>>,
): readonly (KernelEnvironment | undefined)[] {
  const lines = layers.map((layer) => `  - ${layer}\n`).join('');
  const text = `dims: { batch: 2 }\ninputs:\n  x: float32[batch, 8, 6, 6]\nlayers:\n${lines}`;
  const { training } = estimateModel(openLayerSpec(text, 'net.layers.yaml'), [
    { cluster: 'a100-sxm-80gb', gpus: 1, precision, mode, loss: 'none' },
  ]);
  if (training === undefined) throw new Error('not costed');
  const { operators } = resolveFramework({ name: 'pytorch-ddp', options }).behaviour.lower(
    training,
    precision,
    mode,
  );
  const found = operators
    .flatMap((each) => [
      ...(each?.forward ?? []),
      ...(each?.backwardData ?? []),
      ...(each?.backwardWeight ?? []),
    ])
    .map(({ environment }) => JSON.stringify(environment ?? null));
  return [...new Set(found)].map((each) => JSON.parse(each));
}

const layers = [
  'c: Conv2d(8, 16, 3, padding=1)',
  'n: BatchNorm2d()',
  'r: SiLU()',
  'd: Conv2d(16, 16, 1)',
  's: add(d, r)',
];
/** Of the newest PyTorch: gradients of layer normalization share rows out (pull request 148605). */
const usual = { attention: 'newest', sharesRows: true, layout: 'channels-first' };
const { sharesRows: _, ...before } = usual;

test.each<[Precision, Mode, Readonly<Record<string, string>>, object]>([
  ['fp32', 'training', {}, { ...usual, mixed: false }],
  ['tf32', 'training', {}, { ...usual, mixed: false }],
  ['fp16', 'training', {}, { ...usual, mixed: true }],
  // PyTorch 2.8 has the shared rows, 2.7 the cuBLAS of CUDA 12.6.
  ['fp32', 'training', { torch: '2.8' }, { ...usual, attention: 'flash-attention-2', mixed: false }],
  ['fp32', 'training', { torch: '2.7' }, { ...before, attention: 'flash-attention-2', mixed: false }],
  [
    'fp32',
    'training',
    { torch: '2.6' },
    { ...before, attention: 'flash-attention-2', olderMatmuls: true, mixed: false },
  ],
  // cuDNN normalizes no batches in bf16 (aten/src/ATen/native/Normalization.cpp, `use_cudnn`).
  ['bf16', 'training', {}, { ...usual, mixed: true, bf16: true }],
  ['fp32', 'inference', {}, { ...usual, mixed: false, inference: true }],
  [
    'fp32',
    'training',
    { 'memory-format': 'channels-last' },
    { ...usual, layout: 'channels-last', mixed: false },
  ],
  [
    'bf16',
    'training',
    { 'memory-format': 'channels-last' },
    { ...usual, layout: 'channels-last', mixed: true, bf16: true },
  ],
])('%s, %s, %j', (precision, mode, options, environment) => {
  expect(environmentsOf(layers, precision, mode, options)).toEqual([environment]);
});

test('images that lie channels last in a model that is not have kernels of that layout', () => {
  const last = [
    'p: permute(x, 0, 2, 3, 1)',
    'l: LayerNorm(8)',
    'i: permute(0, 3, 1, 2)',
    'c: Conv2d(8, 16, 1)',
  ];
  expect(environmentsOf(last, 'fp32', 'training', {})).toEqual([
    { ...usual, mixed: false },
    { ...usual, layout: 'channels-last', mixed: false },
  ]);
});
