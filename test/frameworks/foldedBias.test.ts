/**
 * Which additions are the bias of the product before them. PyTorch 2.x aten/src/ATen/native/Linear.cpp: `linear` with a bias is one `addmm`
 * where its input lies in order; a sum of anything else is a kernel of its own.
 */

import { expect, test } from 'vitest';
import { openOnnxText } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';

const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options: {} });

/** `a` is a product of [2, 4, 8] and [8, 8]; `y` is what is asked about, `v` a vector that comes in. */
function launchesOf(lines: readonly string[], outputs = 'y'): number | undefined {
  const text = `<ir_version: 10, opset_import: ["" : 21]>
g (float[2, 4, 8] x, float[8] v) => (${outputs})
<float[8, 8] w = {...}, float[8] b = {...}, float[4] half = {...}, float[1, 8] row = {...}, float[8] c = {1, 2, 3, 4, 5, 6, 7, 8}> {
${['a = MatMul (x, w)', ...lines].join('\n')}
}
`;
  const { training, issues } = estimateModel(openOnnxText(text, 'bias.onnxtxt'), [
    { cluster: 'a100-sxm-80gb', gpus: 1, precision: 'fp32', loss: 'none' },
  ]);
  if (training === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  const index = training.analysis.graph.operators.findIndex(({ outputs: [name] }) => name === 'y');
  return behaviour.lower(training, 'fp32', 'training').operators[index]?.forward.length;
}

test.each<[string, readonly string[], number]>([
  ['a trained vector', ['y = Add (a, b)'], 0],
  ['from the other side', ['y = Add (b, a)'], 0],
  ['what is joined of trained vectors', ['j = Concat <axis = 0> (half, half)', 'y = Add (a, j)'], 0],
  ['a vector that comes in', ['y = Add (a, v)'], 1],
  ['what is joined of one that comes in', ['j = Concat <axis = 0> (v)', 'y = Add (a, j)'], 1],
  ['a trained row', ['y = Add (a, row)'], 1],
  ['a difference', ['y = Sub (a, b)'], 1],
  ['what is computed of a product', ['r = Relu (a)', 'y = Add (r, b)'], 1],
  ['what comes in', ['y = Add (x, b)'], 1],
  ['a product that is read beside it', ['y = Add (a, b)', 'z = Relu (a)', 'q = Add (y, z)'], 1],
  [
    'a product of what lies otherwise',
    ['t = Transpose <perm = [1, 0, 2]> (x)', 'p = MatMul (t, w)', 'y = Add (p, b)'],
    1,
  ],
])('%s', (_, lines, expected) => expect(launchesOf(lines)).toBe(expected));
