/**
 * Arbitrary graphs, inferred once with symbols and computed on small arrays: every shape that is known is that of the
 * array once the symbols have values, and every shape is known.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import type { OnnxNode } from '../../server/src/formats/onnx/syntax.ts';
import { evaluateDimension } from '../../server/src/model/dimension.ts';
import { isKnownShape } from '../../server/src/model/graph.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

type Nested = number | readonly Nested[];

const shapeOf = (array: Nested): readonly number[] =>
  typeof array === 'number' ? [] : [array.length, ...shapeOf(array[0] ?? 0)];

const at = (array: Nested, index: readonly number[]): Nested => {
  const [first, ...rest] = index;
  return first === undefined || typeof array === 'number' ? array : at(array[first] ?? Number.NaN, rest);
};

const build = (
  shape: readonly number[],
  element: (index: readonly number[]) => Nested,
  index: readonly number[] = [],
): Nested => {
  const [size, ...rest] = shape;
  if (size === undefined) return element(index);
  return Array.from({ length: size }, (_, position) => build(rest, element, [...index, position]));
};

const entries = (array: Nested): readonly Nested[] => (typeof array === 'number' ? [array] : array);

/** `undefined` where the sizes do not go together. */
function add(left: Nested, right: Nested): Nested | undefined {
  const [a, b] = [shapeOf(left), shapeOf(right)];
  if (a.length < b.length)
    return add(
      build([1], () => left),
      right,
    );
  if (b.length < a.length)
    return add(
      left,
      build([1], () => right),
    );
  if (typeof left === 'number' || typeof right === 'number') return Number(left) + Number(right);
  if (left.length !== right.length && left.length !== 1 && right.length !== 1) return undefined;
  const sums = Array.from({ length: Math.max(left.length, right.length) }, (_, position) =>
    add(left[left.length === 1 ? 0 : position] ?? 0, right[right.length === 1 ? 0 : position] ?? 0),
  );
  const known = sums.filter((sum) => sum !== undefined);
  return known.length === sums.length ? known : undefined;
}

/** Works on one axis by working on the first axis of every array before it. */
const onAxis = (array: Nested, axis: number, change: (inner: Nested) => Nested): Nested =>
  axis === 0 ? change(array) : entries(array).map((inner) => onAxis(inner, axis - 1, change));

interface Step {
  readonly kind:
    | 'add'
    | 'concat'
    | 'transpose'
    | 'slice'
    | 'sum'
    | 'unsqueeze'
    | 'pick'
    | 'flatten'
    | 'restore';
  readonly left: number;
  readonly right: number;
  readonly axis: number;
  readonly low: number;
  readonly high: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    'add',
    'concat',
    'transpose',
    'slice',
    'sum',
    'unsqueeze',
    'pick',
    'flatten',
    'restore',
  ),
  left: fc.nat(20),
  right: fc.nat(20),
  axis: fc.nat(4),
  low: fc.integer({ min: -3, max: 2 }),
  high: fc.integer({ min: -1, max: 4 }),
});

const int = (value: number) => ({ kind: 'int', value }) as const;
const ints = (...value: readonly number[]) => ({ kind: 'ints', value }) as const;

/** What a step gives, and the nodes that say it; `undefined` where it cannot be applied. */
function apply(
  { kind, left, right, axis: anyAxis, low, high }: Step,
  values: readonly Nested[],
  output: string,
): { readonly value: Nested; readonly nodes: readonly OnnxNode[] } | undefined {
  const [first, second] = [left % values.length, right % values.length];
  const [a, b] = [values[first] ?? 0, values[second] ?? 0];
  const shape = shapeOf(a);
  const [x, y] = [`v${first}`, `v${second}`];
  const axis = shape.length === 0 ? 0 : anyAxis % shape.length;
  const give = (value: Nested | undefined, ...nodes: readonly OnnxNode[]) =>
    value === undefined || shapeOf(value).length > 5 || shapeOf(value).includes(0)
      ? undefined
      : { value, nodes };
  if (kind === 'add') return give(add(a, b), onnxNode(`${output} = Add(${x}, ${y})`));
  if (kind === 'unsqueeze') {
    const value = onAxis(a, axis, (inner) => [inner]);
    return give(value, onnxNode(`${output} = Unsqueeze(${x})`, { axes: ints(axis) }));
  }
  if (shape.length === 0) return undefined;
  switch (kind) {
    case 'concat': {
      const others = shapeOf(b);
      const fits =
        others.length === shape.length && others.every((size, i) => i === axis || size === shape[i]);
      const joined = shape.with(axis, (shape[axis] ?? 0) + (others[axis] ?? 0));
      return give(
        fits ? build(joined, () => 1) : undefined,
        onnxNode(`${output} = Concat(${x}, ${y})`, { axis: int(axis) }),
      );
    }
    case 'transpose': {
      const value = build(shape.toReversed(), (index) => at(a, index.toReversed()));
      return give(value, onnxNode(`${output} = Transpose(${x})`));
    }
    case 'slice': {
      const value = onAxis(a, axis, (inner) => entries(inner).slice(low, high));
      const names = [`${output}_low`, `${output}_high`, `${output}_axis`];
      const constants = [low, high, axis].map((number, i) =>
        onnxNode(`${names[i]} = Constant()`, { value_ints: ints(number) }),
      );
      return give(value, ...constants, onnxNode(`${output} = Slice(${[x, ...names].join(', ')})`));
    }
    case 'sum': {
      const keeps = low < 0;
      const value = onAxis(a, axis, (inner) => {
        const total = entries(inner).reduce<Nested>((sum, entry) => add(sum, entry) ?? sum, 0);
        return keeps ? [total] : total;
      });
      return give(
        value,
        onnxNode(`${output} = ReduceSum(${x})`, { axes: ints(axis), keepdims: int(keeps ? 1 : 0) }),
      );
    }
    case 'pick': {
      const value = onAxis(a, axis, (inner) => entries(inner).at(0) ?? Number.NaN);
      const constant = onnxNode(`${output}_at = Constant()`, { value_int: int(0) });
      return give(value, constant, onnxNode(`${output} = Gather(${x}, ${output}_at)`, { axis: int(axis) }));
    }
    case 'flatten': {
      const count = (sizes: readonly number[]): number => sizes.reduce((product, size) => product * size, 1);
      const value = build([count(shape.slice(0, axis)), count(shape.slice(axis))], () => 1);
      return give(value, onnxNode(`${output} = Flatten(${x})`, { axis: int(axis) }));
    }
    case 'restore':
      return give(
        build(shape, () => 1),
        onnxNode(`${output}_shape = Shape(${x})`),
        onnxNode(`${output}_flat = Flatten(${x})`),
        onnxNode(`${output} = Reshape(${output}_flat, ${output}_shape)`),
      );
  }
}

test('symbols, once they have values, give the sizes of computed arrays', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
      const [n, m] = [5, 7];
      const values: Nested[] = [build([n, m, 4], () => 1), build([m, 4], () => 1), build([1, 4], () => 1)];
      const nodes: OnnxNode[] = [];
      for (const one of steps) {
        const made = apply(one, values, `v${values.length}`);
        if (made === undefined) continue;
        values.push(made.value);
        nodes.push(...made.nodes);
      }
      const inputs = ['v0: float32[n, m, 4]', 'v1: float32[m, 4]', 'v2: float32[1, 4]'];
      const { graph, issues } = analyzeOnnx(
        onnxModel({ opset: 12, inputs, outputs: [`v${values.length - 1}`], nodes }),
      );
      expect(issues).toEqual([]);
      const bindings = new Map(Object.entries({ n, m }));
      values.forEach((value, index) => {
        const type = graph.values.get(`v${index}`)?.type;
        const shape = type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : undefined;
        expect(shape?.map((size) => evaluateDimension(size, bindings))).toEqual(shapeOf(value));
      });
    }),
    { numRuns: 400 },
  );
});
