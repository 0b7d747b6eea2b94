/** Frozen layers in NF4: what makes their weights whole, counted by hand for small matrices. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { LoweredOperator } from '../../server/src/frameworks/behaviour.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import type { LowRankAdapters, Mode, Precision } from '../../server/src/model/scenario.ts';

const spec = `inputs: { x: "float32[batch, 64]" }
layers:
  - first: Linear(64, 128)
  - act: ReLU()
  - second: Linear(128, 256, bias=False)
  - head: Linear(256, 10)
`;

/** Lowered products of the model's own layers by name; those of adapters are narrower than rank 8. */
function productsOf(
  lora: LowRankAdapters,
  options: Readonly<Record<string, string>>,
  precision: Precision = 'bf16',
  mode: Mode = 'training',
): ReadonlyMap<string, LoweredOperator> {
  const { training, issues } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [
    { gpus: 1, batch: 4, lora },
  ]);
  if (training === undefined) throw new Error(JSON.stringify(issues));
  const framework = { name: 'pytorch-ddp', options };
  const { operators } = resolveFramework(framework).behaviour.lower(training, precision, mode);
  const found = new Map<string, LoweredOperator>();
  for (const layer of training.analysis.layers)
    for (const index of layer.operators) {
      const operator = training.analysis.graph.operators[index];
      const lowered = operators[index];
      if (operator === undefined || lowered === undefined || operator.name?.includes('adapter')) continue;
      if (operator.type === 'MatMul' || operator.type === 'Gemm') found.set(layer.name, lowered);
    }
  return found;
}

const moved = (kernels: readonly KernelWork[] = []): readonly number[] =>
  kernels.flatMap((kernel) => (kernel.class === 'elementwise' ? [kernel.bytes] : []));
const dequantizing = (kernels: readonly KernelWork[] = []): number =>
  kernels.filter(({ dequantizes }) => dequantizes === true).length;

/** 4 bits, an eighth of a byte for 8 of them, and 32 bits for 64 · 256 of them (arXiv:2305.14314, section 3). */
const stored = 4 / 8 + 1 / 64 + 4 / (64 * 256);

test.each([
  ['bf16', { weights: 'half' }, 2],
  ['bf16', {}, 2],
  ['fp32', {}, 4],
] as const)('in %s with %o weights become whole in the type of the product', (precision, options, width) => {
  const products = productsOf({ rank: 4, base: 'nf4' }, options, precision);
  const kernelsOf = (weights: number): readonly number[] => [
    (weights / 64) * 5,
    (weights / 64) * 8,
    weights * (stored + width),
  ];
  const [first, second, head] = ['first', 'second', 'head'].map((name) => products.get(name));
  expect(moved(first?.forward).slice(0, 3)).toEqual(kernelsOf(64 * 128));
  expect(moved(second?.forward).slice(0, 3)).toEqual(kernelsOf(128 * 256));
  expect(dequantizing(second?.backwardData)).toBe(1);
  expect(moved(second?.backwardData)).toEqual(expect.arrayContaining([...kernelsOf(128 * 256)]));
  // Nothing before the first layer is trained, and the head is no layer in few bits.
  expect(dequantizing(first?.backwardData)).toBe(0);
  expect(dequantizing(head?.forward)).toBe(0);
  // What was made whole lives as long as its product.
  expect([first?.forwardTemporary, first?.backwardTemporary]).toEqual([64 * 128 * width, undefined]);
  expect([second?.forwardTemporary, second?.backwardTemporary]).toEqual([
    128 * 256 * width,
    128 * 256 * width,
  ]);
  expect(head?.forwardTemporary).toBeUndefined();
});

test('autocast casts what is in fp32, and nothing that is made whole', () => {
  const plain = productsOf({ rank: 4 }, {}).get('second');
  const quantized = productsOf({ rank: 4, base: 'nf4' }, {}).get('second');
  expect(plain?.weightCasts).toHaveLength(1);
  expect(quantized?.weightCasts).toBeUndefined();
  // A copy of a weight that is not trained is kept for the gradient of what the layer reads; one that is made whole is made again.
  expect(plain?.saved.some(({ weightCopy }) => weightCopy)).toBe(true);
  expect(quantized?.saved.some(({ weightCopy }) => weightCopy)).toBe(false);
});

test('without a format no weight is made whole, nor is one in inference', () => {
  for (const product of productsOf({ rank: 4 }, { weights: 'half' }).values())
    expect([dequantizing(product.forward), product.forwardTemporary]).toEqual([0, undefined]);
  const { training } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [
    { gpus: 1, mode: 'inference', lora: { rank: 4, base: 'nf4' } },
  ]);
  expect(training?.analysis.frozen).toEqual([]);
});

test('compiled, a weight is made whole by a kernel that the compiler writes', () => {
  const operators = [...productsOf({ rank: 4, base: 'nf4' }, { compile: 'true', weights: 'half' }).values()];
  const kernels = operators.flatMap(({ forward, backwardData }) => [...forward, ...backwardData]);
  expect(kernels.filter(({ bytes }) => bytes === 128 * 256 * (stored + 2))).toHaveLength(2);
  expect(dequantizing(kernels)).toBe(0);
});
