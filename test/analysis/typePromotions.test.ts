/** Casts that PyTorch's kernels do themselves, told from those of the program. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { issuesOfAssumedCasts, withPromotions } from '../../server/src/analysis/typePromotions.ts';
import type { Operator } from '../../server/src/model/graph.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

const { graph } = analyzeOnnx(
  onnxModel({
    inputs: ['x: float32[N, 4]', 'keep: bool[N, 4]'],
    outputs: ['y'],
    initializers: ['w: float32[4, 4]'],
    nodes: [
      'h = MatMul(x, w)',
      onnxNode('m = Cast(keep)', { to: { kind: 'int', value: 1 } }),
      'y = Mul(h, m)',
    ],
  }),
);

type Calls = Readonly<Record<string, { readonly name: string; readonly function: string } | undefined>>;
const marked = (calls: Calls): readonly string[] =>
  withPromotions(graph, ({ type }) => calls[type]).operators.flatMap(({ type, isPromotion }) =>
    isPromotion ? [type] : [],
  );

test.each<readonly [string, Calls, readonly string[]]>([
  ['nothing is recorded', {}, []],
  [
    'the default exporter promotes',
    { Cast: { name: 'convert_element_type', function: 'prims.convert_element_type.default' } },
    ['Cast'],
  ],
  [
    'the program casts',
    {
      Cast: { name: '_to_copy', function: 'aten._to_copy.default' },
      Mul: { name: 'mul', function: 'aten.mul.Tensor' },
    },
    [],
  ],
  [
    'an archive promotes in the call of the product',
    {
      Cast: { name: 'mul', function: 'aten.mul.Tensor' },
      Mul: { name: 'mul', function: 'aten.mul.Tensor' },
    },
    ['Cast'],
  ],
])('%s', (_, calls, expected) => {
  expect(marked(calls)).toEqual(expected);
});

test('without calls it is said, once; where any call is recorded, it is not', () => {
  const none = (): undefined => undefined;
  const ofProduct = ({ type }: Operator) =>
    type === 'MatMul' ? { name: 'linear', function: 'aten.linear.default' } : undefined;
  expect(issuesOfAssumedCasts(graph, none).map(({ code }) => code)).toEqual(['graph/assumed-casts']);
  expect(issuesOfAssumedCasts(graph, ofProduct)).toEqual([]);
});
