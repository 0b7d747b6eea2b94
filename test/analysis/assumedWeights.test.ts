/** What a TorchScript export does not tell: parameters from buffers, and `max(dim)` from `amax`. */

import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';

/** A declaration with as many numbers as its sizes say. */
function withNumbers(declared: string): string {
  const sizes = /\[(.*)\]/.exec(declared)?.[1]?.split(',').map(Number) ?? [];
  const count = sizes.reduce((product, size) => product * size, 1);
  return `${declared} = {${Array.from({ length: count }, (_, index) => `${index}.5`).join(', ')}}`;
}

/** `stored`, a tensor of which `nodes` make y of x, [2, 16, 8], by the exporter of PyTorch. */
function issuesOf(stored: string, nodes: string, framework = 'pytorch'): readonly string[] {
  const text = `<ir_version: 10, opset_import: ["" : 18], producer_name: "${framework}">
m (float[2,16,8] x) => (float[2,16,8] y) <${['float[8,8] layer_weight', stored].map(withNumbers).join(', ')}> {
  h = MatMul(x, layer_weight)
  ${nodes}
}`;
  const { issues } = estimateModel(openModel(byteSourceOfBuffer(Buffer.from(text)), 'm.onnxtxt'), [
    { cluster: 'a100-sxm-80gb', framework: { name: 'pytorch-ddp', options: {} } },
  ]);
  return issues.flatMap(({ code, message }) => (/assumed-(weights|max)/.test(code) ? [message] : []));
}

test.each([
  { stored: 'float[16,8] angles', nodes: 'y = Mul(h, angles)', named: 'angles', elements: 128 },
  { stored: 'float[8] block_mix', nodes: 'y = Mul(h, block_mix)', named: 'block_mix', elements: 8 },
])('$named may be a buffer', ({ stored, nodes, named, elements }) => {
  const [said] = issuesOf(stored, nodes);
  expect(said).toContain(`whether \`${named}\` is trained: ${elements} elements`);
  expect(issuesOf(stored, nodes, 'tf2onnx')).toEqual([]);
});

test.each([
  { added: 'Add(p, "onnx::Add_7")', isSaid: true },
  { added: 'Add("onnx::Add_7", p)', isSaid: false },
])('what the exporter folded may be a buffer where the model adds it: $added', ({ added, isSaid }) => {
  const said = issuesOf('float[8] "onnx::Add_7"', `p = MatMul(h, layer_weight)\n  y = ${added}`);
  expect(said.length).toBe(isSaid ? 1 : 0);
});

test.each([
  { stored: 'float[8] norm_weight', nodes: 'y = Mul(h, norm_weight)' },
  { stored: 'float[1,16,8] pos_embed', nodes: 'y = Add(h, pos_embed)' },
  { stored: 'float[8,8] projection', nodes: 'y = MatMul(h, projection)' },
])('what its name or its use calls a weight is one: $stored', ({ stored, nodes }) => {
  expect(issuesOf(stored, nodes)).toEqual([]);
});

test('a maximum along one axis may be either, one over two axes is amax', () => {
  const issuesOfAxes = (axes: string) =>
    issuesOf(
      'float[8] norm_weight',
      `a = Constant <value_ints = [${axes}]> ()\n  m = ReduceMax <keepdims = 1> (h, a)\n  y = Sub(h, m)`,
    );
  expect(issuesOfAxes('2')[0]).toContain('1 maximum or minimum along an axis is costed');
  expect(issuesOfAxes('1, 2')).toEqual([]);
});
