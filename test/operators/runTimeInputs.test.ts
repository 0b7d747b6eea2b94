/**
 * Inputs that tell a shape (axes, sizes, repeats, counts) and are known only when the model runs.
 *
 * What is certain is what every possible content of the input gives: all of them, within a range, are tried. A size they
 * agree on is known, one they do not agree on is open, and its bound holds for each.
 */

import { describe, expect, test } from 'vitest';
import { boundOf, type Dimension, equalDimensions, isUnknown } from '../../server/src/model/dimension.ts';
import { isKnownShape, type ValueType } from '../../server/src/model/graph.ts';
import { type Application, inferText, outputsOf } from './check.ts';

interface Open extends Omit<Application, 'inputs'> {
  /** Types of all inputs; integers are contents. */
  readonly inputs: readonly (string | readonly number[] | undefined)[];
  /** The inputs that are open, with the values that an element may have. */
  readonly open: Readonly<Record<number, readonly number[]>>;
}

const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

const sizes = range(1, 12);
const image = 'float32[2, 3, 1, 4]';

const table: readonly Open[] = [
  { type: 'Expand', inputs: ['float32[3, 1, 2]', 'int64[3]'], open: { 1: range(1, 4) } },
  { type: 'Expand', inputs: ['float32[3, 1]', 'int64[3]'], open: { 1: range(1, 4) } },
  { type: 'Expand', inputs: ['float32[3, 1, 2]', 'int64[1]'], open: { 1: range(1, 4) } },
  { type: 'Reshape', inputs: ['float32[2, 6]', 'int64[1]'], open: { 1: range(-1, 12) } },
  { type: 'Reshape', inputs: ['float32[2, 6]', 'int64[2]'], open: { 1: range(-1, 12) } },
  { type: 'Squeeze', inputs: ['float32[1, 3, 4, 5]', 'int64[1]'], open: { 1: range(-4, 3) } },
  { type: 'Squeeze', inputs: ['float32[1, 3, 1, 5]', 'int64[1]'], open: { 1: range(-4, 3) } },
  { type: 'Squeeze', inputs: ['float32[3, 1, 5, 1, 1]', 'int64[2]'], open: { 1: range(0, 4) } },
  { type: 'Unsqueeze', inputs: ['float32[3, 3]', 'int64[1]'], open: { 1: range(-3, 2) } },
  { type: 'Unsqueeze', inputs: ['float32[1, 1]', 'int64[2]'], open: { 1: range(0, 3) } },
  { type: 'Tile', inputs: ['float32[0, 2]', 'int64[2]'], open: { 1: range(0, 3) } },
  { type: 'ReduceSum', inputs: ['float32[2, 1, 4]', 'int64[1]'], open: { 1: range(-3, 2) } },
  {
    type: 'ReduceSum',
    inputs: ['float32[2, 2, 4]', 'int64[1]'],
    attributes: { keepdims: 0 },
    open: { 1: range(-3, 2) },
  },
  { type: 'ReduceMax', inputs: ['float32[2, 4]', 'int64[2]'], open: { 1: range(0, 1) } },
  { type: 'TopK', inputs: ['float32[3, 4]', 'int64[1]'], outputs: 2, open: { 1: range(0, 4) } },
  {
    type: 'Slice',
    inputs: ['float32[5, 4]', 'int64[1]', 'int64[1]'],
    open: { 1: range(-6, 6), 2: range(-6, 6) },
  },
  {
    type: 'Slice',
    inputs: ['float32[3, 4]', 'int64[1]', 'int64[1]', 'int64[1]'],
    open: { 1: range(-5, 5), 2: range(-5, 5), 3: range(-2, 1) },
  },
  {
    type: 'Pad',
    inputs: ['float32[3, 4]', 'int64[2]', undefined, [1]],
    open: { 1: range(-2, 3) },
  },
  {
    type: 'CenterCropPad',
    inputs: ['float32[3, 4, 5]', 'int64[1]'],
    attributes: { axes: [1] },
    open: { 1: sizes },
  },
  { type: 'Split', inputs: ['float32[6, 2]', 'int64[2]'], outputs: 2, open: { 1: range(0, 6) } },
  { type: 'Split', inputs: ['float32[6, 2]', 'int64[1]'], outputs: 1, open: { 1: range(0, 6) } },
  { type: 'Resize', inputs: [image, undefined, 'float32[4]'], open: { 2: range(1, 3) } },
  {
    type: 'Resize',
    inputs: [image, undefined, 'float32[2]'],
    attributes: { axes: [2, 3] },
    open: { 2: range(1, 3) },
  },
  {
    type: 'Resize',
    inputs: [image, undefined, undefined, 'int64[2]'],
    attributes: { axes: [-1, 2] },
    open: { 3: sizes },
  },
  { type: 'AffineGrid', inputs: ['float32[2, 2, 3]', 'int64[4]'], open: { 1: range(1, 3) } },
  { type: 'Col2Im', inputs: ['float32[1, 6, 8]', 'int64[2]', [2, 1]], open: { 1: range(2, 6) } },
  { type: 'Col2Im', inputs: ['float32[1, 12, 8]', [9, 9], 'int64[2]'], open: { 2: range(1, 3) } },
  { type: 'MaxUnpool', inputs: [image, 'int64[2, 3, 1, 4]', 'int64[4]'], open: { 2: [2, 3, 4, 8] } },
  { type: 'ConstantOfShape', inputs: ['int64[2]'], open: { 0: range(0, 3) } },
  { type: 'OneHot', inputs: ['int64[3]', 'int64[]', 'float32[2]'], open: { 1: sizes } },
];

/** Operators that take each axis once. */
const takesDistinct = (row: Open): boolean => /^(Squeeze|Unsqueeze|Reduce\w+)$/.test(row.type);

/** Every combination of contents. */
function* contentsOf(row: Open): Generator<ReadonlyMap<number, readonly number[]>> {
  const inputs = Object.entries(row.open).map(([index, values]) => {
    const text = row.inputs[Number(index)];
    const length = typeof text === 'string' ? Number(/\[(\d*)\]/.exec(text)?.[1] || '1') : 0;
    return { index: Number(index), length, values };
  });
  const places = inputs.reduce((sum, { length }) => sum + length, 0);
  const counts = inputs.flatMap(({ length, values }) => Array.from({ length }, () => values.length));
  const total = counts.reduce((product, count) => product * count, 1);
  for (let number = 0; number < total; number += 1) {
    let rest = number;
    const picks = Array.from({ length: places }, (_, place) => {
      const count = counts[place] ?? 1;
      const pick = rest % count;
      rest = Math.floor(rest / count);
      return pick;
    });
    yield new Map(
      inputs.map(({ index, length, values }) => [
        index,
        picks.splice(0, length).map((pick) => values[pick] ?? 0),
      ]),
    );
  }
}

const shapeOf = (type: ValueType | undefined): readonly Dimension[] | undefined =>
  type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : undefined;

/** Whether a run could produce it: −1 is only an axis or a size left open, and MaxUnpool keeps batch and channels. */
const isPossible = (row: Open, shape: readonly Dimension[]): boolean =>
  shape.every((size) => typeof size === 'number' && size >= 0) &&
  (row.type !== 'MaxUnpool' || (shape[0] === 2 && shape[1] === 3)) &&
  (row.type !== 'AffineGrid' || shape[0] === 2);

describe('what every content agrees on is known', () => {
  test.each(table.map((row) => [`${row.type} ${JSON.stringify(row.inputs)}`, row] as const))(
    '%s',
    (_, row) => {
      const open = inferText(row);
      const outputs = open.outputs.map((output, index) => {
        const all: (readonly Dimension[])[] = [];
        for (const contents of contentsOf(row)) {
          const { outputs: types, problem } = inferText({
            ...row,
            inputs: row.inputs.map((input, position) => contents.get(position) ?? input),
          });
          const shape = shapeOf(types[index]);
          if (takesDistinct(row) && [...contents.values()].some((list) => new Set(list).size < list.length))
            continue;
          if (problem === undefined && shape !== undefined && isPossible(row, shape)) all.push(shape);
        }
        return { shape: shapeOf(output), all };
      });
      for (const { shape, all } of outputs) {
        const [first, ...others] = all;
        expect(all.length).toBeGreaterThan(0);
        const agreed = first?.map((size, axis) =>
          others.every((other) => equalDimensions(other[axis] ?? -1, size)) ? size : '?',
        );
        expect(shape?.map((size) => (isUnknown(size) ? '?' : size))).toEqual(agreed);
        for (const [axis, size] of (shape ?? []).entries()) {
          const most = boundOf(size);
          const largest = Math.max(...all.map((each) => Number(each[axis])));
          if (typeof most === 'number') expect(most).toBeGreaterThanOrEqual(largest);
        }
      }
    },
  );
});

test.each<[string, Application, readonly string[]]>([
  [
    'factors that are known of some axes',
    { type: 'Resize', inputs: ['float32[N, 3, 8, 8]', undefined, ['1', '1', '?', '2']] },
    ['float32[N, 3, ?, 16]'],
  ],
  ['one open size', { type: 'Reshape', inputs: ['float32[6, N, 4]', ['?', 'N', 12]] }, ['float32[2, N, 12]']],
  [
    'an open size beside −1',
    { type: 'Reshape', inputs: ['float32[6, 4]', ['?', -1, 2]] },
    ['float32[?, ?, 2]'],
  ],
  ['no axes', { type: 'ReduceSum', inputs: ['float32[2, 3]', 'int64[0]'] }, ['float32[1, 1]']],
  ['a symbol that may be 1', { type: 'Expand', inputs: ['float32[N, 3]', 'int64[2]'] }, ['float32[?, 3]']],
  ['an unknown rank', { type: 'Expand', inputs: ['float32[2, 3]', 'int64[n]'] }, ['float32[…]']],
  [
    'a joined tensor of unknown rank',
    { type: 'Concat', inputs: ['float32[…]', 'float32[2, 3]'], attributes: { axis: 1 } },
    ['float32[2, ?]'],
  ],
  [
    'pads of a known axis',
    { type: 'Pad', inputs: ['float32[2, 3, 4]', 'int64[2]', undefined, [-1]] },
    ['float32[2, 3, ?]'],
  ],
  [
    'the rest of an axis',
    { type: 'Split', inputs: ['float32[9]', [2, '?']], outputs: 2 },
    ['float32[2]', 'float32[7]'],
  ],
])('%s', (_, application, expected) => {
  expect(outputsOf(application)).toEqual(expected);
});
