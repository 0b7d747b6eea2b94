/** What the kernels of an operator of its own say of themselves beside bytes: sums of channels and columns, windows, and what bags keep. */

import { describe, expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { LoweredOperator } from '../../server/src/frameworks/behaviour.ts';
import { operatorKernels } from '../../server/src/frameworks/pytorch/operatorKernels.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import type { Layout } from '../../server/src/hardware/kernelEnvironment.ts';
import type { Dtype } from '../../server/src/model/dtype.ts';
import type { Mode, Precision } from '../../server/src/model/scenario.ts';

interface Asked {
  readonly precision?: Precision;
  readonly mode?: Mode;
  readonly options?: Readonly<Record<string, string>>;
}

/** The last operator behind a convolution, which hands gradients on. Images are [4, 8, 6, 6]. */
function lastOf(
  line: string,
  { precision = 'fp32', mode = 'training', options = {} }: Asked = {},
): LoweredOperator {
  const text = `inputs: { x: 'float32[4, 8, 6, 6]' }\nlayers:\n  - h: Conv2d(8, 8, 1, bias=False)\n  - last: ${line}\n`;
  const { training, issues } = estimateModel(openLayerSpec(text, 'last.layers.yaml'), [
    { cluster: 'a100-sxm-80gb', gpus: 1, precision, mode, loss: 'none' },
  ]);
  if (training === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options });
  const last = behaviour.lower(training, precision, mode).operators.at(-1);
  if (last === undefined) throw new Error(`${line} is not costed`);
  return last;
}

const image = 4 * 8 * 36;

/**
 * PyTorch 2.13 aten/src/ATen/native/cuda/Normalization.cuh: a block sums a channel of channels-first images, which forward reads twice and
 * backward four times. cuDNN takes no bf16 (aten/src/ATen/native/Normalization.cpp, `use_cudnn`): the native kernel has planes of its own.
 */
describe('channels that a block sums alone', () => {
  const channelSums = (asked: Asked) => {
    const { forward, backwardData } = lastOf('BatchNorm2d(8)', asked);
    return [...forward, ...backwardData].map((kernel) => kernel.channelSums);
  };
  const [forward, backward] = [
    { pass: 'forward', channels: 8, loads: (2 * image) / 8 },
    { pass: 'backward', channels: 8, loads: (4 * image) / 8 },
  ];
  test.each<[string, Asked, readonly unknown[]]>([
    ['in fp32', {}, [forward, backward]],
    ['in fp16', { precision: 'fp16' }, [forward, backward]],
    [
      'in bf16',
      { precision: 'bf16' },
      [
        { ...forward, ownPlanes: 4 * 8 },
        { ...backward, ownPlanes: 4 * 8 },
      ],
    ],
    ['channels last', { options: { 'memory-format': 'channels-last' } }, [undefined, undefined]],
    [
      'channels last in bf16',
      { precision: 'bf16', options: { 'memory-format': 'channels-last' } },
      [
        { ...forward, ownPlanes: 4 * 8 },
        { ...backward, ownPlanes: 4 * 8 },
      ],
    ],
    ['in inference', { mode: 'inference' }, [undefined]],
  ])('%s', (_, asked, expected) => expect(channelSums(asked)).toEqual(expected));

  test('of no other layer', () => {
    for (const line of ['ReLU()', 'GroupNorm(2, 8)', 'MaxPool2d(2)'])
      expect(lastOf(line).forward.map((kernel) => kernel.channelSums)).toEqual([undefined]);
  });
});

describe('windows', () => {
  test.each([
    ['MaxPool2d(2)', 'max'],
    ['AvgPool2d(3)', 'average'],
  ] as const)('of %s read every number of the image', (line, kind) => {
    const { forward, backwardData } = lastOf(line);
    expect(forward.map(({ pooling }) => pooling)).toEqual([{ kind, pass: 'forward', inputs: image }]);
    expect(backwardData.map(({ pooling }) => pooling)).toEqual([{ kind, pass: 'backward', inputs: image }]);
  });
  test('are none where a layer has no windows', () => {
    for (const line of ['AdaptiveAvgPool2d(1)', 'ReLU()'])
      expect(lastOf(line).forward.map(({ pooling }) => pooling)).toEqual([undefined]);
  });
});

/**
 * aten/src/ATen/native/cuda/layer_norm_kernel.cu, `GammaBetaBackwardCUDAKernelTemplate`: a block has 32 columns, and reads all rows of the
 * gradient and of the input.
 */
test.each([
  ['LayerNorm(6)', 6, 1],
  ['LayerNorm((6, 6))', 36, 2],
  ['LayerNorm((8, 6, 6))', 288, 9],
])('columns of %s', (line, columns, blocks) => {
  const sums = lastOf(line).backwardWeight.flatMap((kernel) => kernel.columnSums ?? []);
  expect(sums).toHaveLength(1);
  const [{ rows = 0, elements = 0, blocks: found = 0 } = {}] = sums;
  expect(found).toBe(blocks);
  // Scale and shift are written beside, two numbers of each column.
  expect(rows).toBeGreaterThanOrEqual(image / columns);
  expect(rows).toBeLessThanOrEqual(image / columns + 1);
  expect(elements / rows).toBeCloseTo(columns, 9);
});

/**
 * `embedding_bag` keeps the bag of each row, where bags begin and how long they are, and places of maxima, in 8 bytes each (PyTorch 2.13
 * aten/src/ATen/native/cuda/EmbeddingBag.cu, `_embedding_bag_cuda`).
 */
test.each([
  ['sum', 8 * (64 + 2 * 16)],
  ['max', 8 * (64 + 2 * 16 + 16 * 32)],
])('a bag by %s keeps %i bytes beside its indices', (mode, expected) => {
  const text = `inputs: { ids: 'int64[64]', offsets: 'int64[16]' }
layers:
  - bag: EmbeddingBag(1000, 32, mode='${mode}') from ids, offsets
`;
  const { training } = estimateModel(openLayerSpec(text, 'bag.layers.yaml'), [
    { cluster: 'a100-sxm-80gb', gpus: 1, precision: 'fp32', loss: 'none' },
  ]);
  if (training === undefined) throw new Error('not costed');
  const { operators } = resolveFramework({ name: 'pytorch-ddp', options: {} }).behaviour.lower(
    training,
    'fp32',
    'training',
  );
  const kept = operators.flatMap((operator) => operator?.saved ?? []).filter(({ key }) => /^\d+\//.test(key));
  expect(kept.map(({ bytes: size }) => Number(size))).toEqual([expected]);
});

/** Operators of repeated blocks share a cost, and may run in other types and lie otherwise. */
test('kernels are those of the type and the layout that each operator of a shared cost has', () => {
  const text = "inputs: { x: 'float32[4, 8, 6, 6]' }\nlayers:\n  - r: ReLU()\n";
  const { training } = estimateModel(openLayerSpec(text, 'shared.layers.yaml'), [
    { cluster: 'a100-sxm-80gb', gpus: 1, precision: 'fp32', loss: 'none' },
  ]);
  const [operator] = training?.analysis.graph.operators ?? [];
  const [cost] = training?.costs ?? [];
  if (training === undefined || operator === undefined || cost?.kind !== 'known')
    throw new Error('not costed');
  const kernelsOf = operatorKernels(training, 'inference');
  const typed = (bytesPerElement: number, layout: Layout, mixed = false, dtype: Dtype = 'fp32') => {
    const environment = { layout, mixed, attention: 'newest' } as const;
    const { forward } = kernelsOf({ operator, cost, type: { dtype, bytesPerElement, mixed }, environment });
    return forward.map((kernel) => [
      kernel.bytes,
      kernel.environment?.layout,
      kernel.environment?.mixed,
      kernel.dtype,
    ]);
  };
  for (let time = 0; time < 2; time += 1) {
    expect(typed(4, 'channels-first')).toEqual([[8 * image, 'channels-first', false, 'fp32']]);
    expect(typed(4, 'channels-last')).toEqual([[8 * image, 'channels-last', false, 'fp32']]);
    expect(typed(2, 'channels-last', true)).toEqual([[4 * image, 'channels-last', true, 'fp32']]);
    expect(typed(2, 'channels-first', true)).toEqual([[4 * image, 'channels-first', true, 'fp32']]);
    expect(typed(2, 'channels-first', true, 'bf16')).toEqual([[4 * image, 'channels-first', true, 'bf16']]);
    expect(typed(2, 'channels-first', false)).toEqual([[4 * image, 'channels-first', false, 'fp32']]);
  }
});
