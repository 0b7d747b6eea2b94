/** Knowing more of an input never loses or changes what was known of the output. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Dimension, isUnknown, unknownDimension } from '../../server/src/model/dimension.ts';
import { isKnownShape, type ValueType } from '../../server/src/model/graph.ts';
import { attributesOf, makeInferenceContext } from '../../server/src/operators/context.ts';
import { type Application, definitionOf } from './check.ts';

const applications: readonly (Omit<Application, 'inputs'> & {
  readonly shapes: readonly (readonly number[])[];
})[] = [
  {
    type: 'Conv',
    shapes: [
      [2, 3, 9, 9],
      [4, 3, 3, 3],
    ],
    attributes: { pads: [1, 1, 1, 1], strides: [2, 2] },
  },
  {
    type: 'ConvTranspose',
    shapes: [
      [2, 3, 9, 9],
      [3, 4, 2, 2],
    ],
    attributes: { strides: [2, 2] },
  },
  {
    type: 'MaxPool',
    shapes: [[2, 3, 9, 9]],
    attributes: { kernel_shape: [2, 2], ceil_mode: 1, strides: [2, 2] },
  },
  {
    type: 'MatMul',
    shapes: [
      [5, 2, 3],
      [5, 3, 4],
    ],
  },
  { type: 'Gemm', shapes: [[2, 3], [3, 4], [4]] },
  {
    type: 'Add',
    shapes: [
      [2, 1, 4],
      [3, 1],
    ],
  },
  {
    type: 'Einsum',
    shapes: [
      [2, 3, 4],
      [2, 4, 5],
    ],
    attributes: { equation: 'bij,bjk->bik' },
  },
  {
    type: 'Concat',
    shapes: [
      [2, 3],
      [2, 5],
    ],
    attributes: { axis: 1 },
  },
  { type: 'Split', shapes: [[4, 6]], attributes: { axis: 1 }, outputs: 2 },
  { type: 'Transpose', shapes: [[2, 3, 4]] },
  { type: 'Flatten', shapes: [[2, 3, 4]] },
  { type: 'ReduceMean', shapes: [[2, 3, 4]], attributes: { keepdims: 1 } },
  { type: 'LayerNormalization', shapes: [[2, 3, 4], [4]], outputs: 2 },
  {
    type: 'Gather',
    shapes: [
      [7, 4],
      [2, 3],
    ],
  },
  {
    type: 'Where',
    shapes: [
      [3, 1],
      [1, 4],
      [3, 4],
    ],
  },
  {
    type: 'LSTM',
    shapes: [
      [5, 2, 3],
      [1, 16, 3],
      [1, 16, 4],
    ],
    attributes: { hidden_size: 4 },
    outputs: 3,
  },
  {
    type: 'Attention',
    opset: 23,
    shapes: [
      [2, 4, 6, 8],
      [2, 4, 7, 8],
      [2, 4, 7, 8],
    ],
  },
  { type: 'DepthToSpace', shapes: [[1, 8, 2, 2]], attributes: { blocksize: 2 } },
];

test.each(applications)('$type', (application) => {
  const places = application.shapes.flatMap((shape, input) => shape.map((_, axis) => `${input}.${axis}`));
  const whole = infer(application, new Set());
  fc.assert(
    fc.property(fc.subarray(places), fc.subarray(places), (some, others) => {
      const less = infer(application, new Set([...some, ...others]));
      const more = infer(application, new Set(some));
      for (const [index, type] of less.entries()) {
        expectKept(type, more[index]);
        expectKept(type, whole[index]);
      }
    }),
    { numRuns: 60 },
  );
});

function infer(
  application: (typeof applications)[number],
  hidden: ReadonlySet<string>,
): readonly ValueType[] {
  const inputs = application.shapes.map(
    (shape, input): ValueType => ({
      kind: 'tensor',
      elementType: 'float32',
      shape: shape.map(
        (size, axis): Dimension => (hidden.has(`${input}.${axis}`) ? unknownDimension('hidden') : size),
      ),
    }),
  );
  const inference = definitionOf({ ...application, inputs: [] }).infer(
    makeInferenceContext({
      opset: application.opset ?? 22,
      inputs,
      outputCount: application.outputs ?? 1,
      attributes: attributesOf(application.attributes ?? {}),
    }),
  );
  expect(inference.problem).toBeUndefined();
  return inference.outputs;
}

function expectKept(less: ValueType, more: ValueType | undefined): void {
  if (less.kind !== 'tensor' || !isKnownShape(less.shape)) return;
  expect(more?.kind === 'tensor' && isKnownShape(more.shape)).toBe(true);
  if (more?.kind !== 'tensor' || !isKnownShape(more.shape)) return;
  expect(more.shape.length).toBe(less.shape.length);
  for (const [axis, dimension] of less.shape.entries()) {
    if (!isUnknown(dimension)) expect(more.shape[axis]).toEqual(dimension);
  }
}
