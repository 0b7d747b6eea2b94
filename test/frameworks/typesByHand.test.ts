/** Which type each operator runs in under autocast, and what its own casts and numbers launch, by PyTorch's rules. */

import { describe, expect, test } from 'vitest';
import { openModel, openOnnxText } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { LoweredOperator } from '../../server/src/frameworks/behaviour.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import type { Mode, Precision } from '../../server/src/model/scenario.ts';

const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options: {} });

function loweredOf(
  opened: ReturnType<typeof openModel>,
  precision: Precision,
  mode: Mode = 'training',
): readonly (LoweredOperator | undefined)[] {
  const { training, issues } = estimateModel(opened, [
    { cluster: 'a100-sxm-80gb', gpus: 1, precision, mode },
  ]);
  if (training === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  return behaviour.lower(training, precision, mode).operators;
}

/** `a`, and `b` where it is asked for, are products in half precision; the operators of `lines` come behind them. */
function graph(
  lines: readonly string[],
  stored: readonly string[] = [],
  precision: Precision = 'bf16',
  mode: Mode = 'training',
): readonly (LoweredOperator | undefined)[] {
  const text = `<ir_version: 10, opset_import: ["" : 21]>
g (float[8, 64] x, int64[8] ids) => (float[8, 64] y)
<${['float[64, 64] w = {...}', ...stored].join(', ')}> {
${['a = MatMul (x, w)', ...lines].join('\n')}
}
`;
  return loweredOf(openOnnxText(text, 'types.onnxtxt'), precision, mode);
}

/**
 * docs.pytorch.org/docs/stable/tensor_attributes.html, "type promotion": a tensor with dimensions widens what it meets; one without, and a
 * number of Python, do not. Whole numbers never widen floating-point ones.
 */
test.each([
  ['another product', 'y = Add (a, a)', [], 2],
  ['an input in fp32', 'y = Add (a, x)', [], 4],
  ['a number of the program', 'y = Mul (a, s)', ['float s = {2.0}'], 2],
  ['a list of numbers', 'y = Mul (a, s)', ['float[2, 1, 1] s = {2.0, 3.0}'], 4],
  ['a trained vector', 'y = Mul (a, s)', ['float[64] s = {...}'], 4],
  ['a list of one number', 'y = Mul (a, s)', ['float[1] s = {2.0}'], 2],
  [
    'a stored choice by true and false',
    'y = Where (s, a, a)',
    ['bool[8, 1] s = {1, 0, 1, 0, 1, 0, 1, 0}'],
    2,
  ],
  ['a trained list of one number', 'y = Mul (a, s)', ['float[1] s = {...}'], 4],
  ['a trained number', 'y = Mul (a, s)', ['float s = {...}'], 2],
  ['places of rows', 'y = Gather (a, s)', ['int64[2] s = {0, 1}'], 2],
  ['a choice by true and false', 'm = Greater (a, a)\ny = Where (m, a, a)', [], 2],
  // torchvision, timm and transformers draw in the type of what they change; `randn_like` in that of what it is like.
  ['noise that is drawn for it', 'r = RandomNormal <shape = [8, 64]> ()\ny = Add (a, r)', [], 2],
  ['noise like a product', 'r = RandomNormalLike (a)\ny = Add (a, r)', [], 2],
  ['noise like an input in fp32', 'r = RandomNormalLike (x)\ny = Add (a, r)', [], 4],
  ['sizes', 'n = Shape (x)\ny = Reshape (a, n)', [], 2],
])('what a product meets decides its type: %s', (_, lines, stored, bytesPerElement) => {
  expect(graph(lines.split('\n'), stored).at(-1)?.bytesPerElement).toBe(bytesPerElement);
});

const elements = 8 * 64;

describe('a cast that the program writes', () => {
  const cast = (lines: readonly string[], mode: Mode = 'training') => {
    const operator = graph(lines, [], 'bf16', mode).at(-1);
    return [operator?.forward, operator?.backwardData].map((kernels) => kernels?.map(({ bytes }) => bytes));
  };
  test('reads two bytes and writes four, and the other way round for its gradient', () => {
    expect(cast(['y = Cast <to = 1> (a)'])).toEqual([[elements * 6], [elements * 6]]);
  });
  test('of what has no gradient goes one way', () => {
    expect(cast(['y = Cast <to = 1> (ids)'])?.[1]).toEqual([]);
    expect(cast(['y = Cast <to = 1> (a)'], 'inference')).toEqual([[elements * 6], []]);
  });
});

/** PyTorch 2.13 aten/src/ATen/native/TensorCompare.cpp, `where` of scalars: each number is filled into a tensor first. */
test.each([
  ['two numbers', 'y = Where (m, s, t)', 2],
  ['a number and a tensor', 'y = Where (m, s, a)', 0],
  ['a tensor and a number', 'y = Where (m, a, t)', 0],
  ['two tensors', 'y = Where (m, a, a)', 0],
  ['a list of numbers and a number', 'y = Where (m, l, t)', 0],
])('numbers that are filled for a choice: %s', (_, line, fills) => {
  const stored = [
    'float s = {0.0}',
    'float t = {1.0}',
    `float[64] l = {${Array.from({ length: 64 }, (__, index) => `${index}.0`).join(', ')}}`,
  ];
  const kernels = graph(['m = Greater (a, a)', line], stored).at(-1)?.forward ?? [];
  expect(kernels.filter(({ bytes }) => bytes === 8).reduce((sum, { launches }) => sum + launches, 0)).toBe(
    fills,
  );
});

/** The first ReLU reads an input in fp32, the second a product in half precision: what they compute is the same. */
test('operators of repeated blocks run in the type of what each is given', () => {
  const text = `inputs: { x: 'float32[8, 64]' }
blocks:
  step(width):
    - act: ReLU()
    - fc: Linear(width, width)
layers:
  - steps: step(64) * 3
`;
  const opened = openModel(byteSourceOfBuffer(Buffer.from(text)), 'steps.layers.yaml');
  const bytesOf = (precision: Precision) =>
    loweredOf(opened, precision)
      .flatMap((operator) =>
        (operator?.forward ?? []).filter(
          (kernel) => kernel.bytes === elements * 8 || kernel.bytes === elements * 4,
        ),
      )
      .map(({ bytes }) => bytes);
  expect(bytesOf('fp32')).toEqual([elements * 8, elements * 8, elements * 8]);
  expect(bytesOf('bf16')).toEqual([elements * 8, elements * 4, elements * 4]);
});

/** `torch.autocast` around one layer: it is given two casts, of what it reads and of its weight, and what is outside launches one kernel. */
test.each<[Precision, string, readonly [number | undefined, number | undefined]]>([
  ['fp32', 'bf16', [1, 3]],
  ['fp32', 'fp32', [1, 1]],
  ['bf16', 'bf16', [3, 2]],
])('in %s, a layer in %s', (precision, own, launched) => {
  const text = `inputs: { x: 'float32[8, 64]' }
layers:
  - a: Linear(64, 64, bias=False)
  - b: Linear(64, 64, bias=False) precision=${own}
`;
  const opened = openModel(byteSourceOfBuffer(Buffer.from(text)), 'marked.layers.yaml');
  const [first, second] = loweredOf(opened, precision);
  expect([first?.forward.length, second?.forward.length]).toEqual(launched);
  expect([first?.bytesPerElement, second?.bytesPerElement]).toEqual(
    [precision, own].map((each) => (each === 'bf16' ? 2 : 4)),
  );
});

test('in bf16, a layer in fp32 takes what is cast for it, and the others are cast for as before', () => {
  const text = `inputs: { x: 'float32[8, 64]' }
layers:
  - a: Linear(64, 64, bias=False)
  - b: Linear(64, 64, bias=False) precision=fp32
  - c: Linear(64, 64, bias=False)
`;
  const opened = openModel(byteSourceOfBuffer(Buffer.from(text)), 'marked.layers.yaml');
  const types = loweredOf(opened, 'bf16').map((operator) => [operator?.dtype, operator?.forward.length]);
  // What it reads is widened; what it gives is narrowed again, beside the weight of the next.
  expect(types).toEqual([
    ['bf16', 3],
    ['fp32', 2],
    ['bf16', 3],
  ]);
});
