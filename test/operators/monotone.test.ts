/**
 * Knowing more of an input never loses or changes what was known of the output, and what is known to be at most so large
 * is no larger.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundOf, type Dimension, isUnknown, unknownDimension } from '../../server/src/model/dimension.ts';
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
  { type: 'SpaceToDepth', shapes: [[1, 2, 4, 4]], attributes: { blocksize: 2 } },
  { type: 'Slice', opset: 9, shapes: [[9, 7]], attributes: { starts: [2, -3], ends: [6, -1], axes: [0, 1] } },
  { type: 'Pad', opset: 10, shapes: [[3, 4]], attributes: { pads: [1, 0, -1, 2] } },
  { type: 'Unsqueeze', opset: 11, shapes: [[3, 4]], attributes: { axes: [1] } },
  { type: 'GlobalAveragePool', shapes: [[1, 3, 8, 8]] },
  { type: 'AveragePool', shapes: [[1, 3, 8, 7]], attributes: { kernel_shape: [3, 2], pads: [1, 0, 1, 0] } },
  { type: 'Upsample', opset: 7, shapes: [[1, 2, 3, 4]], attributes: { scales: [1, 1, 2, 3] } },
  {
    type: 'RoiAlign',
    shapes: [[1, 4, 8, 8], [6, 4], [6]],
    attributes: { output_height: 3, output_width: 2 },
  },
  { type: 'OneHot', shapes: [[3, 2], [], [2]] },
  {
    type: 'GatherND',
    shapes: [
      [5, 4, 3],
      [2, 2],
    ],
  },
  {
    type: 'NonMaxSuppression',
    shapes: [
      [1, 6, 4],
      [1, 2, 6],
    ],
  },
  { type: 'Unique', shapes: [[3, 4]], outputs: 2 },
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

test.each(applications)('$type of bounded sizes is bounded by what it gives', (application) => {
  const places = application.shapes.flatMap((shape, input) => shape.map((_, axis) => `${input}.${axis}`));
  const whole = infer(application, new Set());
  fc.assert(
    fc.property(fc.subarray(places), fc.integer({ min: 0, max: 5 }), (hidden, slack) => {
      const bounded = infer(application, new Set(hidden), slack);
      for (const [index, type] of bounded.entries()) expectHolds(type, whole[index]);
    }),
    { numRuns: 60 },
  );
});

function infer(
  application: (typeof applications)[number],
  hidden: ReadonlySet<string>,
  slack?: number,
): readonly ValueType[] {
  const inputs = application.shapes.map(
    (shape, input): ValueType => ({
      kind: 'tensor',
      elementType: 'float32',
      shape: shape.map(
        (size, axis): Dimension =>
          hidden.has(`${input}.${axis}`)
            ? unknownDimension('hidden', slack === undefined ? undefined : size + slack)
            : size,
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

/** Every size is what it truly is, or no more than its bound. */
function expectHolds(type: ValueType, truth: ValueType | undefined): void {
  if (type.kind !== 'tensor' || !isKnownShape(type.shape)) return;
  if (truth?.kind !== 'tensor' || !isKnownShape(truth.shape)) return;
  for (const [axis, size] of type.shape.entries()) {
    const most = boundOf(size);
    const largest = boundOf(truth.shape[axis] ?? 0);
    if (typeof most === 'number') expect(most).toBeGreaterThanOrEqual(Number(largest));
  }
}
