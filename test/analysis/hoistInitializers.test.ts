/** Weights inside the bodies of control flow are weights of the model. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import { hoistInitializers } from '../../server/src/analysis/hoistInitializers.ts';
import type { KnownCost } from '../../server/src/operators/definition.ts';
import { onnxGraph, onnxModel, onnxNode } from '../support/onnxModel.ts';

const step = onnxGraph({
  inputs: ['i: int64[]', 'go: bool[]', 'h: float32[2, 8]'],
  initializers: ['w: float32[8, 8]', 'one: int64[] = 1'],
  outputs: ['go', 'next'],
  nodes: ['next = MatMul(h, w)'],
});
const loop = (count: number) =>
  onnxModel({
    inputs: ['x: float32[2, 8]'],
    initializers: [`n: int64[] = ${count}`, 'w: float32[8, 8]'],
    outputs: ['y'],
    nodes: ['a = MatMul(x, w)', onnxNode('y = Loop(n, , a)', { body: { kind: 'graph', value: step } })],
  });

test.each([3, 40])('a weight of a body that runs %i times is one parameter, with gradients', (count) => {
  const analysis = analyzeOnnx(loop(count));
  expect(analysis.parameters.map(({ name, elements }) => `${name}: ${elements}`)).toEqual([
    'w: 64',
    'w#2: 64',
  ]);
  const { costs } = bindTrainingGraph(analysis, new Map(), 'training');
  const known = costs.filter((cost): cost is KnownCost => cost.kind === 'known');
  const product = 2 * 2 * 8 * 8;
  expect(known.reduce((sum, { forward }) => sum + forward.flops, 0)).toBe((1 + count) * product);
  expect(known.reduce((sum, { backwardWeight }) => sum + backwardWeight.flops, 0)).toBe(
    (1 + count) * product,
  );
});

test('branches that name their weights alike have weights of their own', () => {
  const branch = (size: number) =>
    onnxGraph({
      initializers: [`w: float32[8, ${size}]`, 'v: float32[4, 8]'],
      outputs: ['b'],
      nodes: ['a = MatMul(x, w)', 'b = MatMul(a, v)'],
    });
  const model = onnxModel({
    inputs: ['c: bool[]', 'x: float32[2, 8]'],
    outputs: ['y'],
    nodes: [
      onnxNode('y = If(c)', {
        then_branch: { kind: 'graph', value: branch(4) },
        else_branch: { kind: 'graph', value: branch(4) },
      }),
    ],
  });
  expect(analyzeOnnx(model).parameters.map(({ name }) => name)).toEqual(['w', 'v', 'w#2', 'v#2']);
});

test('integers stay where they are, and a graph without weights in bodies is the same object', () => {
  const graph = onnxGraph({ inputs: ['x: float32[2]'], outputs: ['y'], nodes: ['y = Relu(x)'] });
  expect(hoistInitializers(graph)).toBe(graph);
  const [, node] = hoistInitializers(loop(3).graph).nodes;
  const body = node?.attributes.get('body');
  expect(body?.kind === 'graph' && body.value.initializers.map(({ name }) => name)).toEqual(['one']);
});
