import { describe, expect, test } from 'vitest';
import type { TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { planCosting } from '../../server/src/analysis/planCosting.ts';
import { findComposites } from '../../server/src/composites/findComposites.ts';
import { compositePatterns } from '../../server/src/composites/patterns.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { fusedGroups } from '../../server/src/frameworks/pytorch/fusedGroups.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import type { Graph, Value } from '../../server/src/model/graph.ts';
import type { BoundTensor, OperatorCost, SavedTensor } from '../../server/src/operators/definition.ts';

/** softmax(q·kᵀ / s + mask)·v for 2 sequences of 64, 4 heads of 8, in a layer of this type; a mask with a gradient is trained. */
function attention(
  layerType: string,
  mask: { readonly shape: readonly number[]; readonly trained: boolean } = {
    shape: [64, 64],
    trained: false,
  },
): TrainingGraph {
  const activation = [2, 4, 64, 8];
  const scores = [2, 4, 64, 64];
  const nodes: readonly Node[] = [
    ['Transpose', ['k'], 'kt', [2, 4, 8, 64], known('movement', 0, [])],
    ['MatMul', ['q', 'kt'], 'scores', scores, known('matmul', 2 * 2 * 4 * 64 * 64 * 8, [0, 1])],
    ['Div', ['scores', 's'], 'scaled', scores, known('elementwise', 0, [])],
    ['Add', ['scaled', 'mask'], 'masked', scores, known('elementwise', 0, [])],
    ['Softmax', ['masked'], 'weights', scores, known('normalization', 0, [], [0])],
    ['MatMul', ['weights', 'v'], 'out', activation, known('matmul', 2 * 2 * 4 * 64 * 64 * 8, [0, 1])],
  ];
  const inputs: readonly Input[] = [
    ['q', activation, 'activation'],
    ['k', activation, 'activation'],
    ['v', activation, 'activation'],
    ['s', [], 'constant'],
    ['mask', mask.shape, mask.trained ? 'parameter' : 'buffer'],
  ];
  return graphOf(layerType, inputs, nodes, [
    ...(mask.trained ? ['mask'] : []),
    'q',
    'k',
    'kt',
    'v',
    'scores',
    'scaled',
    'masked',
    'weights',
    'out',
  ]);
}

/** GroupNorm of 2 groups over 8 images of 4 channels, 6 × 6, as it is exported. */
function groupNormalization(): TrainingGraph {
  const image = [8, 4, 6, 6];
  const nodes: readonly Node[] = [
    ['Reshape', ['x'], 'grouped', [8, 2, 72], known('view', 0, [])],
    ['InstanceNormalization', ['grouped', 'one'], 'normal', [8, 2, 72], known('normalization', 0, [0])],
    ['Reshape', ['normal'], 'plain', image, known('view', 0, [])],
    ['Mul', ['plain', 'scale'], 'scaled', image, known('elementwise', 0, [0])],
    ['Add', ['scaled', 'shift'], 'out', image, known('elementwise', 0, [])],
  ];
  const inputs: readonly Input[] = [
    ['x', image, 'activation'],
    ['one', [2], 'constant'],
    ['scale', [4, 1, 1], 'constant'],
    ['shift', [4, 1, 1], 'constant'],
  ];
  return graphOf('GroupNorm', inputs, nodes, ['x', 'grouped', 'normal', 'plain', 'scaled', 'out']);
}

type Node = readonly [string, readonly string[], string, readonly number[], OperatorCost];
type Input = readonly [string, readonly number[], Value['role']];

function graphOf(
  layerType: string,
  inputs: readonly Input[],
  nodes: readonly Node[],
  learned: readonly string[],
): TrainingGraph {
  const values = new Map<string, Value>();
  const tensors = new Map<string, BoundTensor>();
  const define = (name: string, shape: readonly number[], role: Value['role'], producer?: number): void => {
    values.set(name, {
      name,
      role,
      type: { kind: 'tensor', elementType: 'float32', shape },
      consumers: nodes.flatMap(([, used], index) => (used.includes(name) ? [index] : [])),
      ...(producer === undefined ? {} : { producer }),
    });
    const elements = shape.reduce((product, size) => product * size, 1);
    tensors.set(name, { elementType: 'float32', dimensions: shape, elements });
  };
  for (const [name, shape, role] of inputs) define(name, shape, role);
  for (const [index, [, , output, shape]] of nodes.entries()) define(output, shape, 'activation', index);
  const graph: Graph = {
    name: layerType,
    inputs: inputs.flatMap(([name, , role]) => (role === 'activation' ? [name] : [])),
    outputs: ['out'],
    operators: nodes.map(([type, used, output], index) => ({
      index,
      source: index,
      name: output,
      type,
      domain: '',
      inputs: used,
      outputs: [output],
      attributes: new Map(
        type === 'Transpose' ? [['perm', { kind: 'ints' as const, value: [0, 1, 3, 2] }]] : [],
      ),
      scope: [],
    })),
    values,
    operatorSets: new Map([['', 21]]),
  };
  return {
    analysis: {
      graph,
      composites: findComposites(graph, compositePatterns, () => ({})),
      layers: [{ name: 'layer', type: layerType, ancestors: [], operators: nodes.map((_, index) => index) }],
      parameters: [],
      frozen: [],
      batchSymbol: undefined,
      fixedBatch: 2,
      symbols: [],
      issues: [],
      costing: planCosting(graph),
    },
    batch: 2,
    costs: nodes.map(([, , , , cost]) => cost),
    tensors,
    requiresGradient: new Set(learned),
  };
}

function known(
  kernelClass: 'matmul' | 'elementwise' | 'normalization' | 'movement' | 'view',
  flops: number,
  savedInputs: readonly number[],
  savedOutputs: readonly number[] = [],
): OperatorCost {
  const traffic = { float32Elements: 1, fixedBytes: 0 };
  const forward = { flops, operations: 1, traffic, kernels: 1 };
  const saved: SavedTensor[] = [
    ...savedInputs.map((index) => ({ kind: 'input' as const, index })),
    ...savedOutputs.map((index) => ({ kind: 'output' as const, index })),
  ];
  return {
    kind: 'known',
    class: kernelClass,
    forward,
    backwardData: { ...forward, flops: 2 * flops },
    backwardWeight: { flops: 0, operations: 0, traffic: { float32Elements: 0, fixedBytes: 0 }, kernels: 0 },
    saved,
  };
}

/** The softmax of attention that is not fused, as exporters write it: a row without anything to read gives zeros. */
function safeSoftmax(): TrainingGraph {
  const scores = [2, 4, 64, 64];
  const nodes: readonly Node[] = [
    ['Softmax', ['x'], 'weights', scores, known('normalization', 0, [], [0])],
    ['IsNaN', ['weights'], 'empty', scores, known('elementwise', 0, [])],
    ['Where', ['empty', 'zero', 'weights'], 'out', scores, known('elementwise', 0, [0])],
  ];
  const inputs: readonly Input[] = [
    ['x', scores, 'activation'],
    ['zero', [], 'constant'],
  ];
  return graphOf('Attention', inputs, nodes, ['x', 'weights', 'out']);
}

const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options: {} });
const written = resolveFramework({ name: 'pytorch-ddp', options: { 'fused-calls': 'false' } }).behaviour;
const fused = resolveFramework({ name: 'pytorch-ddp', options: { attention: 'fused' } }).behaviour;
const tensor = 2 * 4 * 64 * 8;
const products = 2 * (2 * 2 * 4 * 64 * 64 * 8);

describe('attention in one call', () => {
  test('spans both products and what lies between; the transpose is a view', () => {
    const groups = fusedGroups(attention('ScaledDotProductAttention'), true);
    expect([...groups.keys()]).toEqual([1, 2, 3, 4, 5]);
    expect(groups.get(1)?.inputs).toEqual(['q', 'kt', 's', 'mask', 'v']);
    expect(groups.get(1)?.outputs).toEqual(['out']);
  });

  test('reads q, k, v and the mask, writes the output, and recomputes the scores in backward', () => {
    const { operators } = fused.lower(attention('ScaledDotProductAttention'), 'bf16', 'training');
    const kernels = operators.flatMap((operator) => operator?.forward ?? []);
    expect(kernels.at(-1)).toMatchObject({ class: 'attention', dtype: 'bf16', launches: 1, flops: products });
    expect(kernels.at(-1)?.bytes).toBe((4 * tensor + 64 * 64) * 2);
    const backward = operators.flatMap((operator) => operator?.backwardData ?? []);
    expect(backward.at(-1)?.flops).toBe((2 * products * 5) / 4);
  });

  test.each([
    // A square that is stored is a lower triangle as exporters fold it.
    ['a triangle', [64, 64], { causal: true }],
    ['a mask of keys', [2, 1, 1, 64], { causal: false, mask: { elements: 2 * 64, trained: false } }],
  ] as const)('says sequences and heads, queries, keys, elements of a head, and %s', (_, mask, masked) => {
    const graph = attention('ScaledDotProductAttention', { shape: mask, trained: false });
    const { operators } = fused.lower(graph, 'fp32', 'training');
    const shape = { sequences: 2 * 4, queries: 64, keys: 64, size: 8, ...masked };
    for (const [kernels, pass] of [
      [operators.flatMap((operator) => operator?.forward ?? []), 'forward'],
      [operators.flatMap((operator) => operator?.backwardData ?? []), 'backward'],
    ] as const)
      expect(kernels.map((kernel) => kernel.attention)).toEqual([{ ...shape, pass }]);
  });

  /**
   * PyTorch 2.x tools/autograd/derivatives.yaml, `_scaled_dot_product_efficient_attention_backward`: its kernel writes the gradient of
   * the mask as the scores have it. Where the mask was repeated, `expand` sums it: scores are read, the mask's gradient is written.
   */
  test.each([
    ['one for all sequences and heads', [64, 64], 64 * 64],
    ['one for each head', [1, 4, 64, 64], 4 * 64 * 64],
    ['one of its own for each sequence and head', [2, 4, 64, 64], undefined],
  ] as const)('gives a mask that is trained its gradient: %s', (_, shape, repeated) => {
    const graph = attention('ScaledDotProductAttention', { shape, trained: true });
    const kernels = fused
      .lower(graph, 'fp32', 'training')
      .operators.flatMap((operator) => operator?.backwardData ?? []);
    const scores = 2 * 4 * 64 * 64;
    const elements = shape.reduce((product: number, size) => product * size, 1);
    // Queries, keys, values, output and its gradient are read, with the mask; gradients of the first three and of scores are written.
    const attended = (5 * tensor + elements + 3 * tensor + scores) * 4;
    const summed = repeated === undefined ? [] : [(scores + repeated) * 4];
    expect(kernels.map(({ bytes }) => bytes)).toEqual([attended, ...summed]);
    expect(kernels[0]?.attention?.mask).toEqual({ elements, trained: true });
  });

  test('is given q, k and v in half precision: autocast casts each, and its gradient back', () => {
    const count = (precision: 'fp32' | 'bf16', pass: 'forward' | 'backwardData') =>
      fused
        .lower(attention('ScaledDotProductAttention'), precision, 'training')
        .operators.flatMap((operator) => operator?.[pass] ?? []).length;
    expect([count('fp32', 'forward'), count('bf16', 'forward')]).toEqual([1, 1 + 3]);
    expect([count('fp32', 'backwardData'), count('bf16', 'backwardData')]).toEqual([1, 1 + 3]);
  });

  test('keeps q, k, v, the output and one statistic per row, never the scores', () => {
    const saved = fused
      .lower(attention('ScaledDotProductAttention'), 'bf16', 'training')
      .operators.flatMap((operator) => operator?.saved ?? []);
    expect(saved.map(({ key }) => key)).toEqual(['q:2@5', 'k:2@5', 'v:2@5', 'out:2', '1/statistics']);
    expect(saved.at(-1)?.bytes).toBe(2 * 4 * 64 * 4);
  });

  test('written out where fused-calls=false, or where nothing is said: the scale stands on the scores', () => {
    const count = (graph: TrainingGraph, how: typeof behaviour) =>
      how.lower(graph, 'fp32', 'training').operators.flatMap((operator) => operator?.forward ?? []).length;
    expect(count(attention('ScaledDotProductAttention'), written)).toBe(5);
    expect(count(attention('ScaledDotProductAttention'), behaviour)).toBe(5);
    expect(count(attention('Linear'), fused)).toBe(1);
  });
});

test('x · sigmoid(x) is one kernel, which reads its input once and keeps it alone', () => {
  const image = [8, 4, 6, 6];
  const silu = graphOf(
    'layer',
    [['x', image, 'activation']],
    [
      ['Sigmoid', ['x'], 'gate', image, known('elementwise', 0, [], [0])],
      ['Mul', ['gate', 'x'], 'out', image, known('elementwise', 0, [0, 1])],
    ],
    ['x', 'gate', 'out'],
  );
  const { operators } = behaviour.lower(silu, 'fp32', 'training');
  const bytes = 8 * 4 * 6 * 6 * 4;
  expect(operators.flatMap((operator) => operator?.forward ?? [])).toMatchObject([{ bytes: 2 * bytes }]);
  expect(operators.flatMap((operator) => operator?.saved ?? [])).toMatchObject([{ key: 'x:4', bytes }]);
});

describe('group normalization', () => {
  const image = 8 * 4 * 6 * 6 * 4;
  const channelsLast = resolveFramework({
    name: 'pytorch-ddp',
    options: { 'memory-format': 'channels-last' },
  });
  const kernels = (how: typeof behaviour) => {
    const { operators } = how.lower(groupNormalization(), 'fp32', 'training');
    const pass = (name: 'forward' | 'backwardData') =>
      operators.flatMap((operator) => operator?.[name] ?? []);
    return {
      forward: pass('forward'),
      backward: pass('backwardData'),
      saved: operators.flatMap((operator) => operator?.saved ?? []),
    };
  };

  test('gathers its statistics in a pass of its own: it has no rows, and reads whole tensors twice', () => {
    const { forward, backward } = kernels(behaviour);
    expect(forward).toMatchObject([{ class: 'normalization', launches: 3, bytes: 3 * image }]);
    expect(backward).toMatchObject([{ class: 'normalization', launches: 5, bytes: 5 * image }]);
    expect([...forward, ...backward].every((kernel) => kernel.rowLength === undefined)).toBe(true);
  });

  test('is the same where it is one operator', () => {
    const text =
      'inputs:\n  x: float32[8, 4, 6, 6]\nlayers:\n  - in: Conv2d(4, 4, 1)\n  - norm: GroupNorm(2, 4)\n';
    const opened = openModel(byteSourceOfBuffer(new TextEncoder().encode(text)), 'net.layers.yaml');
    const { training } = estimateModel(opened, [{ cluster: 'dgx-a100' }]);
    if (training === undefined) throw new Error('not costed');
    const norm = behaviour.lower(training, 'fp32', 'training').operators.at(-1);
    expect(norm?.forward).toMatchObject([{ class: 'normalization', launches: 3 }]);
    expect(norm?.backwardData).toMatchObject([{ class: 'normalization', launches: 5 }]);
    expect(norm?.saved.map((kept) => kept.bytes)).toEqual([image, 8 * 2 * 8]);
  });

  test('keeps mean and deviation of each group of each image', () => {
    expect(kernels(behaviour).saved.at(-1)).toMatchObject({ bytes: 8 * 2 * 8 });
  });

  test('puts an image in order that lies across, and gives one that lies in order', () => {
    const text =
      'inputs:\n  x: float32[8, 6, 6, 4]\nlayers:\n  - wide: Linear(4)\n  - image: permute(0, 3, 1, 2)\n  - norm: GroupNorm(2, 4)\n  - again: GroupNorm(2, 4)\n';
    const opened = openModel(byteSourceOfBuffer(new TextEncoder().encode(text)), 'net.layers.yaml');
    const { training } = estimateModel(opened, [{ cluster: 'dgx-a100' }]);
    if (training === undefined) throw new Error('not costed');
    const [first, second] = behaviour.lower(training, 'fp32', 'training').operators.slice(-2);
    expect(first?.forward.map(({ launches }) => launches)).toEqual([3, 1]);
    expect(first?.forward[1]).toMatchObject({ class: 'elementwise', bytes: 2 * image });
    expect(first?.backwardData).toHaveLength(1);
    expect(second?.forward.map(({ launches }) => launches)).toEqual([3]);
  });

  /**
   * What computes element by element, pools or convolves gives images as it was given them (TensorIterator.cpp, `reorder_dimensions`;
   * Pool.h, ConvUtils.h, `suggest_memory_format`), and so do views. A kernel of group normalization gives them in order.
   */
  test.each([
    ['nothing', [], 1],
    ['ReLU', ['a: ReLU()'], 1],
    ['dropout', ['a: Dropout(0.1)'], 1],
    ['pooling', ['a: MaxPool2d(3, 1, 1)'], 1],
    ['a convolution', ['a: Conv2d(4, 3, padding=1)'], 1],
    ['a view', ['a: Identity()'], 1],
    ['two of them', ['a: ReLU()', 'b: Conv2d(4, 1)'], 1],
    ['another group normalization', ['a: GroupNorm(2, 4)'], 0],
    ['one, and then ReLU', ['a: GroupNorm(2, 4)', 'b: ReLU()'], 0],
    ['rolling, which puts in order', ['a: roll(1, 2)'], 0],
  ])('an image that lies across is put in order behind %s', (_, layers, copies) => {
    const lines = ['wide: Linear(4)', 'image: permute(0, 3, 1, 2)', ...layers, 'norm: GroupNorm(2, 4)'];
    const text = `inputs:\n  x: float32[8, 6, 6, 4]\nlayers:\n${lines.map((line) => `  - ${line}\n`).join('')}`;
    const opened = openModel(byteSourceOfBuffer(new TextEncoder().encode(text)), 'net.layers.yaml');
    const { training } = estimateModel(opened, [{ cluster: 'dgx-a100' }]);
    if (training === undefined) throw new Error('not costed');
    const norm = behaviour.lower(training, 'fp32', 'training').operators.at(-1);
    expect(norm?.forward.slice(1).map(({ bytes }) => bytes)).toEqual(Array(copies).fill(2 * image));
  });

  test('copies between layouts where images are channels-last', () => {
    const { forward, backward } = kernels(channelsLast.behaviour);
    const copies = { class: 'elementwise', launches: 2, bytes: 4 * image };
    expect(forward[1]).toMatchObject(copies);
    expect(backward[1]).toMatchObject(copies);
  });
});

test('a softmax that gives zeros where nothing is left is one kernel, which keeps its result', () => {
  const { operators } = behaviour.lower(safeSoftmax(), 'fp32', 'training');
  expect(operators.flatMap((operator) => operator?.forward ?? [])).toHaveLength(1);
  const kept = operators.flatMap((operator) => operator?.saved ?? []);
  expect(kept).toMatchObject([{ key: 'out:4', bytes: 2 * 4 * 64 * 64 * 4 }]);
});
