/** `x[mask] = values`, written as the exporter of PyTorch 2.13 with onnxscript 0.7 writes it. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

const repeated = (values: string, count: string) => [
  'flat = Reshape(mask, row)',
  'ones = Cast(flat)',
  'count = ReduceSum(ones)',
  ...(count === 'count' ? [] : ['rows = Concat(count, width)']),
  `spread = Expand(${values}, ${count})`,
  'updates = Reshape(spread, row)',
];
const places = (mask: string) => [`found = NonZero(${mask})`, 'places = Transpose(found)'];
const ofElements = [...places('mask'), ...repeated('number', 'count')];
const ofRows = (values: string) => [
  'column = Unsqueeze(mask, row)',
  'held = Expand(column, sizes)',
  ...places('held'),
  ...repeated(values, 'rows'),
];

const result = 'y = ScatterND(x, places, updates)';
const attributesOf = (text: string) => ({
  ...(text.startsWith('ones') ? { to: { kind: 'int' as const, value: 7 } } : {}),
  ...(text.startsWith('rows') ? { axis: { kind: 'int' as const, value: 0 } } : {}),
  ...(text.startsWith('count') ? { keepdims: { kind: 'int' as const, value: 1 } } : {}),
});

function operatorsOf(mask: string, nodes: readonly string[], last = onnxNode(result)) {
  const model = onnxModel({
    inputs: ['x: float32[2, 8, 4]', `mask: bool[${mask}]`, 'rows_in_order: float32[5, 4]'],
    outputs: ['y'],
    initializers: [
      ...['row: int64[1] = -1', 'sizes: int64[3] = 2, 8, 4', 'width: int64[1] = 4'],
      ...['number: float32[] = 0.5', 'one_row: float32[4]'],
    ],
    nodes: [...nodes.map((text) => onnxNode(text, attributesOf(text))), last],
  });
  return analyzeOnnx(model).graph.operators.map(({ type, inputs }) => `${type}(${inputs.join(', ')})`);
}

test.each([
  ['a number for each element', '2, 8, 4', ofElements, ['Where(mask, number, x)']],
  ['a number for each row', '2, 8', ofRows('number'), ['Unsqueeze(mask, row)', 'Where(column, number, x)']],
  ['one row for all', '2, 8', ofRows('one_row'), ['Unsqueeze(mask, row)', 'Where(column, one_row, x)']],
  [
    'rows in their order',
    '2, 8',
    ofRows('rows_in_order'),
    ['Unsqueeze(mask, row)', 'Expand(column, sizes)', 'MaskedScatter(x, held, rows_in_order)'],
  ],
])('%s is one call', (_, mask, nodes, expected) => {
  expect(operatorsOf(mask, nodes)).toEqual(expected);
});

test('other writes stay as they are', () => {
  // Added to what is there.
  const added = onnxNode(result, { reduction: { kind: 'string', value: 'add' } });
  expect(operatorsOf('2, 8, 4', ofElements, added).at(-1)).toBe('ScatterND(x, places, updates)');
  // Whole rows by places of the first axes.
  const rows = [...places('mask'), 'updates = Expand(one_row, width)'];
  expect(operatorsOf('2, 8', rows).at(-1)).toBe('ScatterND(x, places, updates)');
});

test('what something else reads stays', () => {
  const both = [...ofElements, 'other = Identity(places)'];
  const kept = operatorsOf('2, 8, 4', both);
  expect(kept.filter((operator) => operator.startsWith('NonZero'))).toEqual(['NonZero(mask)']);
});
