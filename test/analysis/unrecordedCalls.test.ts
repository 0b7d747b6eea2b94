/** Where a TorchScript export may have lost a `detach`, a `no_grad`, or a second call of a layer. */

import { expect, test } from 'vitest';
import { unrecordedCalls } from '../../server/src/analysis/restoration/unrecordedCalls.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

const scalar = { keepdims: { kind: 'int', value: 0 } } as const;
const network = (name: string, input: string, output: string) => [
  onnxNode(`${output}h = MatMul(${input}, ${name}.0.weight)`),
  onnxNode(`${output} = MatMul(${output}h, ${name}.1.weight)`),
];
const weightsOf = (name: string) => [`${name}.0.weight: float32[8, 8]`, `${name}.1.weight: float32[8, 8]`];
const lossOf = (left: string, right: string) => [
  onnxNode(`apart = Sub(${left}, ${right})`),
  onnxNode('y = ReduceMean(apart)', scalar),
];

const apart = [...network('student', 'x', 'a'), ...network('teacher', 'x', 'b')];
const behind = [...network('encoder', 'x', 'a'), ...network('decoder', 'a', 'b')];
const cases = [
  ['a network without a loss', network('student', 'x', 'y'), [4, 8], undefined],
  [
    'a layer that runs twice',
    [...network('f', 'x', 'a'), onnxNode('y = MatMul(a, f.0.weight)')],
    [4, 8],
    /^The file runs `f.0.weight` several/,
  ],
  ['a loss', [...network('student', 'x', 'a'), ...lossOf('a', 'x')], [], /^The file has a loss/],
  [
    'two networks that read one input',
    [...apart, ...lossOf('a', 'b')],
    [],
    /freeze `teacher\.\*` or `student/,
  ],
  ['two networks of which one reads the other', [...behind, ...lossOf('b', 'x')], [], /^(?!.*freeze)/],
] as const;

function fileOf(nodes: (typeof cases)[number][1], shape: readonly number[], producerName = 'pytorch') {
  const names = ['student', 'teacher', 'encoder', 'decoder', 'f'];
  const used = names.filter((name) => nodes.some(({ inputs }) => inputs.includes(`${name}.0.weight`)));
  return {
    ...onnxModel({
      inputs: ['x: float32[4, 8]'],
      outputs: [`y: float32[${shape.join(', ')}]`],
      initializers: used.flatMap(weightsOf),
      nodes: [...nodes],
    }),
    producerName,
  };
}

test.each(cases)('%s', (_, nodes, shape, expected) => {
  const message = unrecordedCalls(fileOf(nodes, shape))?.message;
  if (expected === undefined) expect(message).toBeUndefined();
  else expect(message).toMatch(expected);
});

test('files of other programs, and exports that record calls, say nothing', () => {
  const file = fileOf(cases[2][1], []);
  const recorded = file.graph.nodes.map((node) => ({
    ...node,
    metadata: new Map([['pkg.torch.onnx.name_scopes', "['', 'call']"]]),
  }));
  expect(unrecordedCalls({ ...file, producerName: 'tf2onnx' })).toBeUndefined();
  expect(unrecordedCalls({ ...file, graph: { ...file.graph, nodes: recorded } })).toBeUndefined();
});
