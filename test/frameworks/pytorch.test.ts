import { describe, expect, test } from 'vitest';
import { backwardAt } from '../../server/src/frameworks/exchange.ts';
import { packBuckets } from '../../server/src/frameworks/packBuckets.ts';
import { optimizerUpdate } from '../../server/src/frameworks/pytorch/optimizerUpdate.ts';
import { frameworks, resolveFramework } from '../../server/src/frameworks/registry.ts';
import type { Precision } from '../../server/src/model/scenario.ts';
import { bytes, seconds } from '../../server/src/model/units.ts';
import { type ChainLayer, chain } from '../support/trainingGraph.ts';
import { vectors } from '../support/updateSizes.ts';

const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options: {} });

function lowered(layers: readonly ChainLayer[], precision: Precision) {
  return behaviour.lower(chain(layers), precision, 'training').operators;
}

describe('autocast', () => {
  const layers: readonly ChainLayer[] = [
    { name: 'conv', class: 'convolution', type: 'Conv', flops: 100, parameters: 10, output: 8 },
    { name: 'relu', class: 'elementwise', type: 'Relu', output: 8 },
    { name: 'softmax', class: 'normalization', type: 'Softmax', output: 8 },
    { name: 'scale', class: 'elementwise', type: 'Mul', output: 8 },
    { name: 'linear', class: 'matmul', type: 'MatMul', flops: 100, parameters: 10, output: 8 },
  ];
  /** A linear layer that gives the scores stays out of fp8. */
  const followed: typeof layers = [...layers, { name: 'act', class: 'elementwise', type: 'Relu', output: 8 }];

  test.each([
    ['fp32', ['tf32', 'fp32', 'fp32', 'fp32', 'fp32', 'fp32'], [4, 4, 4, 4, 4, 4]],
    ['tf32', ['tf32', 'fp32', 'fp32', 'fp32', 'tf32', 'fp32'], [4, 4, 4, 4, 4, 4]],
    ['fp16', ['fp16', 'fp32', 'fp32', 'fp32', 'fp16', 'fp32'], [2, 2, 4, 4, 2, 2]],
    ['bf16', ['bf16', 'fp32', 'fp32', 'fp32', 'bf16', 'fp32'], [2, 2, 4, 4, 2, 2]],
    ['fp8', ['bf16', 'fp32', 'fp32', 'fp32', 'fp8', 'fp32'], [2, 2, 4, 4, 2, 2]],
  ] as const)(
    '%s: matmul types and bytes per element follow the published lists',
    (precision, dtypes, elementBytes) => {
      const operators = lowered(followed, precision);
      expect(operators.map((operator) => operator?.dtype)).toEqual(dtypes);
      expect(operators.map((operator) => operator?.bytesPerElement)).toEqual(elementBytes);
    },
  );

  test.each([
    ['fp16', ['fp16', 'fp32', 'fp32', 'fp32', 'fp16', 'fp32']],
    ['bf16', ['bf16', 'fp32', 'fp32', 'fp32', 'bf16', 'fp32']],
    // Transformer Engine has linear layers in fp8, and no convolution.
    ['fp8', ['bf16', 'fp32', 'fp32', 'fp32', 'fp8', 'fp32']],
  ] as const)(
    '%s where the weights are narrow too: matmuls in it, all tensors of two bytes',
    (precision, dtypes) => {
      const narrow = resolveFramework({ name: 'pytorch-ddp', options: { weights: 'half' } }).behaviour;
      const { operators } = narrow.lower(chain(followed), precision, 'training');
      expect(operators.map((operator) => operator?.dtype)).toEqual(dtypes);
      expect(operators.map((operator) => operator?.bytesPerElement)).toEqual([2, 2, 2, 2, 2, 2]);
    },
  );

  test('weights are cast once, activations where the type changes, and gradients back', () => {
    const casts = (kernels: readonly { readonly class: string }[] | undefined, own: string) =>
      kernels?.filter((kernel) => kernel.class === 'elementwise' && kernel.class !== own).length;
    const operators = lowered(layers, 'bf16');
    // conv: its input x and its weight; softmax: up to fp32; linear: activation and weight down to bf16.
    expect(casts(operators[0]?.forward, 'convolution')).toBe(2);
    expect(casts(operators[2]?.forward, 'normalization')).toBe(1);
    expect(casts(operators[4]?.forward, 'matmul')).toBe(2);
    expect(casts(operators[4]?.backwardWeight, 'matmul')).toBe(1);
  });

  test('half the bytes per element saves half the activations; weights keep a copy', () => {
    const saved = (precision: Precision) =>
      lowered(layers, precision)
        .flatMap((operator) => operator?.saved ?? [])
        .map(({ key, bytes: size }) => [key, size]);
    expect(saved('fp32')).toContainEqual(['conv.out:4', 32]);
    expect(saved('bf16')).toContainEqual(['conv.out:2', 16]);
  });

  test('fp32 convolutions stay fp32 where conv-tf32=false', () => {
    const plain = resolveFramework({ name: 'pytorch-ddp', options: { 'conv-tf32': 'false' } }).behaviour;
    expect(plain.lower(chain(layers), 'fp32', 'training').operators[0]?.dtype).toBe('fp32');
  });
});

describe('buckets', () => {
  const gradient = (index: number, mebibytes: number) => ({
    parameter: `p${index}`,
    index,
    elements: mebibytes * 2 ** 18,
    bytes: bytes(mebibytes * 2 ** 20),
    readyAfter: index,
    usedFrom: 9 - index,
  });
  const group = {
    nodes: 1,
    gpusPerNode: 8,
    gpus: 8,
    operators: 10,
    precision: 'fp32' as const,
  };
  const profiled = {
    backwardEnds: () => new Float64Array(10),
    backwardLaunches: () => new Float64Array(10),
    batchPerGpu: () => 1,
    timeOf: () => seconds(0),
  };

  test('the first closes at 1 MiB, the others at 25, the last holds the rest', () => {
    const gradients = [0.5, 0.6, 10, 10, 10, 30, 3].map((size, index) => gradient(index, size));
    const { messages } = behaviour.exchange(gradients, group, profiled);
    const sizes = messages.map(({ bytes: size }) => size / 2 ** 20);
    expect(sizes.map((size) => Number(size.toFixed(3)))).toEqual([1.1, 30, 30, 3]);
    expect(messages.map(({ after }) => after)).toEqual([1, 4, 5, 6].map(backwardAt));
  });

  test('gradient-dtype=fp16 halves what is sent, not what is kept', () => {
    const half = resolveFramework({ name: 'pytorch-ddp', options: { 'gradient-dtype': 'fp16' } }).behaviour;
    const { messages, buffers } = half.exchange([gradient(0, 2)], group, profiled);
    expect(messages[0]?.bytes).toBe(2 ** 20);
    expect(buffers).toBe(2 * 2 ** 20);
  });

  test('gradient-as-bucket-view saves the copies', () => {
    const views = resolveFramework({
      name: 'pytorch-ddp',
      options: { 'gradient-as-bucket-view': 'true' },
    }).behaviour;
    expect(views.exchange([gradient(0, 2)], group, profiled).buffers).toBe(0);
  });

  test('naive sends one message after backward', () => {
    const gradients = [40, 40, 40, 40].map((size, index) => gradient(index, size));
    const { behaviour: naive } = resolveFramework({ name: 'naive', options: {} });
    const { messages } = naive.exchange(gradients, group, profiled);
    expect(messages.map(({ after }) => after)).toEqual([backwardAt(9)]);
  });

  test('a single GPU sends nothing', () => {
    const alone = { ...group, gpusPerNode: 1, gpus: 1 };
    for (const { name } of frameworks) {
      const { behaviour: own } = resolveFramework({ name, options: {} });
      expect(own.exchange([gradient(0, 40)], alone, profiled).messages).toEqual([]);
    }
  });

  test('nothing to send is no message', () => {
    expect(packBuckets([], [1])).toEqual([]);
  });
});

describe('names and options', () => {
  test.each([
    ['caffe', {}, 'scenario/unknown-framework', /pytorch-ddp, pytorch-fsdp, .*caffe-mpi/],
    ['pytorch-ddp', { 'bucket-mb': 'many' }, 'scenario/invalid', /takes a positive number/],
    ['pytorch-ddp', { 'bucket-mb': '' }, 'scenario/invalid', /takes a positive number/],
    [
      'pytorch-ddp',
      { bucket: '3' },
      'scenario/invalid',
      /has no option `bucket` \(did you mean `bucket-mb`.*\?\); it has `bucket-mb`/,
    ],
    ['pytorch-ddp', { 'gradient-dtype': 'fp8' }, 'scenario/invalid', /fp32 or fp16 or bf16/],
  ])('%s %j is reported', (name, options, code, message) => {
    const { issues } = resolveFramework({ name, options });
    expect(issues).toHaveLength(1);
    expect(issues[0]?.code).toBe(code);
    expect(issues[0]?.message).toMatch(message);
  });
});

describe('optimizer', () => {
  const fourTensors = vectors([250, 250, 250, 250]);
  // Bytes per parameter, operand by operand; `fused` is one pass over everything.
  test.each([
    ['sgd', 'foreach', 12, 0],
    ['momentum', 'foreach', 32, 4],
    ['momentum', 'fused', 20, 4],
    ['adam', 'foreach', 72, 8],
    ['adam', 'fused', 28, 8],
    ['adamw', 'foreach', 80, 8],
    ['adamw', 'fused', 28, 8],
    ['none', 'foreach', 0, 0],
  ] as const)('%s, %s: %i bytes per parameter moved, %i kept', (optimizer, kernels, moved, kept) => {
    const update = optimizerUpdate(optimizer, kernels, 'fp32', fourTensors);
    expect(update.kernels.reduce((sum, kernel) => sum + kernel.bytes, 0)).toBe(moved * 1000);
    expect(update.stateBytes).toBe(kept * 1000);
  });

  // A temporary of 4 bytes in passes over lists (`_multi_tensor_adam`: √v), none where one pass has all.
  test.each([
    ['adam', 'foreach', 4],
    ['adamw', 'foreach', 4],
    ['momentum', 'foreach', 0],
    ['adam', 'fused', 0],
    ['adamw', 'loop', 0],
  ] as const)('%s, %s: a temporary of %i bytes per parameter', (optimizer, kernels, width) => {
    const update = optimizerUpdate(optimizer, kernels, 'fp32', fourTensors);
    expect(update.temporaryBytes).toBe(width * 1000);
  });

  // MultiTensorApply.cuh in 4 KiB: 36 tensors of four lists, or 320 chunks of 65,536 elements, in a launch; `loop` launches for each.
  test.each([
    ['fused', 1000, 4, 1],
    ['fused', 3600, 36, 1],
    ['fused', 3700, 37, 2],
    ['fused', 320 * 65_536, 1, 1],
    ['fused', 320 * 65_536 + 1, 1, 2],
    ['loop', 100e6, 49, 49],
  ] as const)(
    '%s, %i elements in %i tensors: %i launches of a pass',
    (kernels, elements, tensors, launches) => {
      const update = optimizerUpdate(
        'adam',
        kernels,
        'fp32',
        vectors(Array.from({ length: tensors }, () => elements / tensors)),
        { bytesPerElement: 4, copied: false, clipped: false, kernelArguments: '4 KiB' },
      );
      for (const kernel of update.kernels) expect(kernel.launches).toBe(launches);
    },
  );

  // `GradScaler.step` reads on the host whether a gradient is infinite, unless the optimizer looks itself (`_maybe_opt_step`).
  test.each([
    ['fp16', 'foreach', false, true],
    ['fp16', 'loop', false, true],
    ['fp16', 'fused', false, false],
    ['fp16', 'foreach', true, false],
    ['bf16', 'foreach', false, false],
  ] as const)('%s, %s, with an fp32 copy %s: the host waits %s', (precision, kernels, copied, waits) => {
    const held = { bytesPerElement: copied ? 2 : 4, copied, clipped: false };
    const update = optimizerUpdate('adam', kernels, precision, fourTensors, held);
    expect(update.hostWaits).toBe(waits);
  });

  test.each([
    ['half', 2],
    ['fp32', 4],
  ] as const)('a fused update of weights in %s is one kernel of the whole update', (_, bytesPerElement) => {
    const held = { bytesPerElement, copied: false, clipped: false };
    const { kernels } = optimizerUpdate('adamw', 'fused', 'bf16', fourTensors, held);
    expect(kernels.map(({ lists }) => lists?.kind)).toEqual(['fused']);
  });

  test.each(['tensorflow', 'mxnet', 'caffe-mpi'])('%s updates one tensor after another', (name) => {
    const { behaviour: other } = resolveFramework({ name, options: {} });
    const { kernels } = other.update('momentum', 'fp32', fourTensors);
    expect(kernels.map(({ lists, launches }) => [lists, launches])).toEqual([[undefined, 4]]);
  });

  test('fp16 unscales gradients first', () => {
    const count = (precision: Precision) =>
      optimizerUpdate('adamw', 'fused', precision, fourTensors).kernels.length;
    expect(count('fp16') - count('bf16')).toBe(1);
  });

  // Gradients 2 → 4, their norm 4, clipped 8, Adam 28, the copy back 4 → 2 bytes.
  test.each([
    ['half', { bytesPerElement: 2, copied: false, clipped: false }, [4, 14]],
    ['half with a copy', { bytesPerElement: 2, copied: true, clipped: false }, [6, 28, 6]],
    ['half with a copy, clipped', { bytesPerElement: 2, copied: true, clipped: true }, [6, 4, 8, 28, 6]],
    ['fp32, clipped', { bytesPerElement: 4, copied: true, clipped: true }, [8, 4, 8, 28]],
  ] as const)('passes of fused Adam in fp16, weights in %s', (_, held, passes) => {
    const { kernels } = optimizerUpdate('adam', 'fused', 'fp16', fourTensors, held);
    expect(kernels.map((kernel) => kernel.bytes / 1000)).toEqual(passes);
  });
});
