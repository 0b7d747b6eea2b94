/** Calls that were merged, by the calls that the operators behind them record. */

import { expect, test } from 'vitest';
import { mergedCalls } from '../../server/src/analysis/recordedMerges.ts';
import { onnxModel } from '../support/onnxModel.ts';

const parameters = [
  'layers.0.nq.weight',
  'layers.0.nk.weight',
  'layers.0.q.weight',
  'layers.0.k.weight',
  'layers.1.nk.weight',
];
const placeholderOf = (name: string) => `p_${name.replaceAll('.', '_')}`;
const signature = parameters.map((name) => `${placeholderOf(name)}: PARAMETER target='${name}'`).join('\n');

/** `call`: what an operator records; `module`: where. */
interface Row {
  readonly text: string;
  readonly call: string;
  readonly module: string;
}

const norm: Row = {
  text: 'norm = LayerNormalization(x, layers.0.nq.weight)',
  call: '%norm : args = (%x, %p_layers_0_nq_weight)',
  module: 'layers.0.nq',
};
const query: Row = {
  text: 'q = MatMul(norm, layers.0.q.weight)',
  call: '%q : args = (%norm, %p_layers_0_q_weight)',
  module: 'layers.0.q',
};
const key = (read: string, module = 'layers.0.k'): Row => ({
  text: 'k = MatMul(norm, layers.0.k.weight)',
  call: `%k : args = (%${read}, %p_layers_0_k_weight)`,
  module,
});

function graphOf(rows: readonly Row[]) {
  const { graph } = onnxModel({
    inputs: ['x: float32[4, 4]'],
    outputs: ['k'],
    initializers: parameters.map((name) => `${name}: float32[4, 4]`),
    nodes: rows.map(({ text }) => text),
  });
  const nodes = graph.nodes.map((node, index) => ({
    ...node,
    metadata: new Map([
      ['pkg.torch.onnx.fx_node', rows[index]?.call ?? ''],
      ['pkg.torch.onnx.name_scopes', `['', '${rows[index]?.module}', 'call']`],
      ['pkg.torch.onnx.class_hierarchy', "['Net', 'Module', 'aten.call']"],
    ]),
  }));
  const metadata = new Map([['pkg.torch.export.ExportedProgram.graph_signature', signature]]);
  return { ...graph, nodes, metadata };
}

test.each([
  ['a call that is gone', [norm, query, key('norm_1')], ['layers.0.nk'], ['norm_1 in layers.0.nk']],
  ['the call that is there', [norm, query, key('norm')], ['layers.0.nk'], []],
  ['a call of another function, which became no operator', [norm, query, key('clone')], ['layers.0.nk'], []],
  ['no module was lost', [norm, query, key('norm_1')], [], []],
  ['the lost module is not around the reader', [norm, query, key('norm_1')], ['layers.1.nk'], []],
  [
    'of two lost modules the one around the reader',
    [norm, query, key('norm_1')],
    ['layers.0.nk', 'layers.1.nk'],
    ['norm_1 in layers.0.nk'],
  ],
  ['two lost modules that fit alike', [norm, query, key('norm_1')], ['layers.0.nk', 'layers.0.k'], []],
] as const)('%s', (_, rows, lost, expected) => {
  const merged = mergedCalls(graphOf(rows), new Set(lost));
  expect(merged.map(({ call, module }) => `${call} in ${module}`)).toEqual(expected);
  for (const { kept, readers } of merged) {
    expect(kept.outputs).toEqual(['norm']);
    expect(readers.map(({ outputs }) => outputs[0])).toEqual(['k']);
  }
});
