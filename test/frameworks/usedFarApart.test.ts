/**
 * Which results AOTAutograd never computes again, by hand from PyTorch 2.13, torch/_functorch/partitioners.py: `find_first_unfusible`
 * follows the readers of a value up to the last of them, and `ban_if_used_far_apart` forbids those behind where it ends.
 */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { CompiledGraph } from '../../server/src/frameworks/pytorch/compiled/compiledGraph.ts';
import { usedFarApart } from '../../server/src/frameworks/pytorch/compiled/usedFarApart.ts';
import { eagerOperators } from '../../server/src/frameworks/pytorch/lowerEager.ts';

/** Layers whose operators may not be computed again. */
function farApart(lines: readonly string[]): readonly string[] {
  const text = `inputs: { x: 'float32[8, 16]' }\nlayers:\n${lines.map((line) => `  - ${line}\n`).join('')}`;
  const { training, issues } = estimateModel(openLayerSpec(text, 'far.layers.yaml'), [
    { cluster: 'a100-sxm-80gb', gpus: 1, precision: 'fp32', loss: 'none' },
  ]);
  if (training === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  const options = { convolutionTf32: false, fusedCalls: true, fusedAttention: true, channelsLast: false };
  const eager = eagerOperators(training, 'fp32', 'training', options);
  const found = usedFarApart(new CompiledGraph(training, eager, false, true));
  const { layers } = training.analysis;
  return layers
    .filter(({ operators }) => operators.some((index) => found.has(index)))
    .map(({ name }) => name);
}

const product = (name: string, of: string) => `${name}: Linear(16, bias=False) from ${of}`;

test.each<[string, readonly string[], readonly string[]]>([
  [
    'a sum around a normalized product',
    ['a: relu() from x', 'n: LayerNorm(16) from a', product('f', 'n'), 'r: add(f, a)'],
    ['r'],
  ],
  [
    'two of them, one around the other',
    [
      ...['a: relu() from x', 'n: LayerNorm(16) from a', product('f', 'n'), 'r: add(f, a)'],
      ...['m: LayerNorm(16) from r', product('g', 'm'), 's: add(g, r)'],
    ],
    ['r', 's'],
  ],
  ['a sum that is the first behind a product', ['a: relu() from x', product('f', 'a'), 'r: add(f, a)'], []],
  [
    'a sum behind two products',
    ['a: relu() from x', product('f', 'a'), product('g', 'f'), 'r: add(g, a)'],
    ['r'],
  ],
  ['readers that are fused', ['a: relu() from x', 'b: sigmoid() from a', 'r: add(b, a)'], []],
  [
    'a product behind the last reader',
    ['a: relu() from x', 'b: sigmoid() from a', 'r: add(b, a)', product('f', 'r')],
    [],
  ],
  [
    'a reader before the product, and one behind it',
    [
      ...['a: relu() from x', 'n: LayerNorm(16) from a', 'b: sigmoid() from a'],
      ...[product('f', 'n'), 'r: add(f, a)', 's: add(r, b)'],
    ],
    ['r'],
  ],
  [
    'a last reader that is a product itself',
    ['a: relu() from x', 'n: LayerNorm(16) from a', product('f', 'n'), product('g', 'a'), 'r: add(f, g)'],
    [],
  ],
  [
    'a value with one reader',
    ['a: relu() from x', 'n: LayerNorm(16) from a', product('f', 'n'), 'r: relu() from f'],
    [],
  ],
  // What made the value would not be computed again with its reader: `is_fusible(used_node, user)`.
  [
    'the result of a product',
    [product('a', 'x'), 'n: LayerNorm(16) from a', product('f', 'n'), 'r: add(f, a)'],
    [],
  ],
  ['what goes into the model', ['n: LayerNorm(16) from x', product('f', 'n'), 'r: add(f, x)'], []],
])('%s', (_, lines, found) => {
  expect(farApart(lines)).toEqual(found);
});
