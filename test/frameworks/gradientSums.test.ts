import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';

/** Kernels of backward that are not there when no value is read twice: of additions of gradients, by layer. */
function backward(layers: string, mode: 'training' | 'inference' = 'training', options = {}) {
  const text = `dims: { batch: 2 }\ninputs:\n  x: float32[batch, 8]\n\nlayers:\n${layers}`;
  const opened = openModel(byteSourceOfBuffer(Buffer.from(text)), 'net.layers.yaml');
  const { training, scenario, cluster, issues } = estimateModel(opened, [
    {
      cluster: 'dgx-1-v100',
      gpus: 1,
      precision: 'fp32',
      optimizer: 'none',
      mode,
      framework: { name: 'pytorch-ddp', options },
    },
  ]);
  expect(opened.analysis?.issues ?? issues).toEqual([]);
  if (training === undefined || scenario === undefined || cluster === undefined) throw new Error(text);
  return { training, plan: planStep(training, scenario, cluster) };
}

function sums(layers: string) {
  const { training, plan } = backward(layers);
  return plan.lowered.operators.flatMap((operator, index) =>
    (operator?.backwardData ?? [])
      .filter((kernel) => kernel.class === 'elementwise' && kernel.bytes === 3 * 2 * 8 * 4)
      .map(() => training.analysis.graph.operators[index]?.type),
  );
}

test.each([
  ['read once: none', '  - a: Linear(8)\n  - b: Linear(8)\n', []],
  // Backward passes the sum first, then `b`, whose gradient is the second to arrive.
  ['a residual connection: one', '  - a: Linear(8)\n  - b: Linear(8)\n  - s: add(b, a)\n', ['Gemm']],
  // The way to the sum is the longer one, whatever the names of what is on it.
  ['the same, in other names: one', '  - z: Linear(8)\n  - y: Linear(8)\n  - a: add(y, z)\n', ['Gemm']],
  [
    'read three times: two',
    '  - a: Linear(8)\n  - b: Linear(8)\n  - c: Linear(8) from a\n  - d: add(b, c)\n  - s: add(d, a)\n',
    ['Gemm', 'Gemm'],
  ],
  ['read twice by one operator: one', '  - a: Linear(8)\n  - s: add(a, a)\n', ['Add']],
  [
    'a weight that a line gives to two others: one, where the second gradient arrives',
    '  - w: Parameter(2, 8)\n  - a: add(x, w)\n  - b: add(a, w)\n',
    ['Add'],
  ],
  ['what has no gradient: none', '  - a: Linear(8)\n  - s: add(a, x)\n  - t: add(s, x)\n', []],
])('%s', (_, layers, where) => {
  expect(sums(layers)).toEqual(where);
});

/** Of branches side by side only the program tells which comes first in backward: the order of lines in a file does not. */
test('what adds up gradients of branches does not depend on the order of lines', () => {
  const branches = ['  - b: Linear(8) from a\n', '  - c: ReLU() from a\n', '  - d: Sigmoid() from a\n'];
  const placed = (order: readonly number[]) => {
    const lines = order.map((each) => branches[each]).join('');
    const { training, plan } = backward(`  - a: Linear(8)\n${lines}  - s: cat((b, c, d), dim=1)\n`);
    return plan.lowered.operators
      .flatMap((operator, index) =>
        (operator?.backwardData ?? [])
          .filter(({ purpose }) => purpose === 'gradient sum')
          .map(() => training.analysis.graph.operators[index]?.type ?? ''),
      )
      .toSorted();
  };
  const [first, ...others] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ].map(placed);
  expect(first).toHaveLength(2);
  for (const other of others) expect(other).toEqual(first);
});

test('gradients added to old ones are filled with zeros and added, tensor by tensor; not in inference', () => {
  const kernels = (mode: 'training' | 'inference', gradients: string) =>
    backward('  - a: Linear(8)\n', mode, { gradients }).plan.update.kernels.filter(({ bytes }) => bytes > 0);
  expect(kernels('training', 'new')).toEqual([]);
  expect(kernels('inference', 'added')).toEqual([]);
  expect(kernels('training', 'added').map(({ bytes, launches }) => [bytes, launches])).toEqual([
    [72 * 4, 2],
    [72 * 12, 2],
  ]);
});

test('of what has no size yet, sums have none', () => {
  const text = `<ir_version: 9, opset_import: ["" : 20]>
model (float[N, S, 8] x) => (float[1, 16] z)
<float[8, 8] w = {...}, int64[2] sizes = {1, 16}>
{
  p = MatMul (x, w)
  a = Reshape (p, sizes)
  b = Reshape (p, sizes)
  z = Add (a, b)
}
`;
  const opened = openModel(byteSourceOfBuffer(Buffer.from(text)), 'net.onnxtxt');
  const { cost } = estimateModel(opened, [{ cluster: 'dgx-1-v100', gpus: 1, precision: 'fp32' }]);
  expect(cost?.totals.exact).toBe(false);
});
