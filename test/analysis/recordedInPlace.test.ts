/** Which activations a program runs in place, by the names of its calls. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { withInPlaceCalls } from '../../server/src/analysis/recordedInPlace.ts';
import { onnxModel } from '../support/onnxModel.ts';

const { graph } = analyzeOnnx(
  onnxModel({
    inputs: ['x: float32[4, 4]'],
    outputs: ['y'],
    initializers: [],
    nodes: ['a = LeakyRelu(x)', 'b = Elu(a)', 'c = Relu(b)', 'y = Sigmoid(c)'],
  }),
);

test.each([
  ['one of two', ['leaky_relu_', 'elu', 'relu'], [true, false, undefined, undefined]],
  ['another function alone', ['leaky_relu', 'elu', 'relu_'], [false, false, undefined, undefined]],
  [
    'none, as in a program that was rewritten',
    ['leaky_relu', 'elu', 'relu'],
    [undefined, undefined, undefined, undefined],
  ],
  [
    'one, and one call that is not recorded',
    ['leaky_relu_', undefined, 'relu'],
    [true, undefined, undefined, undefined],
  ],
])('%s', (_, calls, expected) => {
  const marked = withInPlaceCalls(graph, ({ index }) => {
    const name = calls[index];
    return name === undefined ? undefined : { name, function: `aten.${name}.default` };
  });
  expect(marked.operators.map(({ isInPlace }) => isInPlace)).toEqual(expected);
});
