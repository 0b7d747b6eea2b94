import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import type { Mode } from '../../server/src/model/scenario.ts';
import { type ModelSketch, onnxGraph, onnxModel, onnxNode } from '../support/onnxModel.ts';

function bind(sketch: ModelSketch, values: Readonly<Record<string, number>> = {}, mode: Mode = 'training') {
  return bindTrainingGraph(analyzeOnnx(onnxModel(sketch)), new Map(Object.entries(values)), mode);
}

/** FLOPs of each operator: forward, gradient of data, gradient of weights; the reason where unknown. */
function flopsOf({ costs }: ReturnType<typeof bind>): readonly unknown[] {
  return costs.map((cost) =>
    cost.kind === 'known'
      ? [cost.forward.flops, cost.backwardData.flops, cost.backwardWeight.flops]
      : cost.reason,
  );
}

const twoLinears: ModelSketch = {
  inputs: ['x: float32[N, 8]'],
  outputs: ['z'],
  initializers: ['a: float32[8, 16]', 'b: float32[16, 4]'],
  nodes: ['y = MatMul(x, a)', 'z = MatMul(y, b)'],
};

test('the first layer needs no gradient of its input, the second does', () => {
  const forward = [2 * 3 * 8 * 16, 2 * 3 * 16 * 4];
  expect(flopsOf(bind(twoLinears, { N: 3 }))).toEqual([
    [forward[0], 0, forward[0]],
    [forward[1], forward[1], forward[1]],
  ]);
});

test('costs grow with the batch, and the batch is what is bound', () => {
  expect(bind(twoLinears, { N: 3 }).batch).toBe(3);
  const once = bind(twoLinears, { N: 1 }).costs[0];
  const often = bind(twoLinears, { N: 5 }).costs[0];
  if (once?.kind !== 'known' || often?.kind !== 'known') throw new Error('unknown');
  expect(often.forward.flops).toBe(5 * once.forward.flops);
});

test('inference has no gradients', () => {
  const training = bind(twoLinears, { N: 3 }, 'inference');
  expect(training.requiresGradient.size).toBe(0);
  expect(flopsOf(training)).toEqual([
    [768, 0, 0],
    [384, 0, 0],
  ]);
});

test('a symbol without a value makes costs unknown, with its name', () => {
  const training = bind(twoLinears);
  expect(training.tensors.has('y')).toBe(false);
  expect(flopsOf(training)[0]).toBe('dimension `N` has no value');
});

test('gradients stop at integers, at running statistics and at what no output needs', () => {
  const { requiresGradient } = bind({
    inputs: ['x: float32[2, 4]'],
    outputs: ['y', 'i'],
    initializers: ['w: float32[4, 4]', 'unused: float32[4, 4]'],
    nodes: [
      'y = MatMul(x, w)',
      onnxNode('i = Cast(y)', { to: { kind: 'int', value: 7 } }),
      'dead = MatMul(y, unused)',
    ],
  });
  expect([...requiresGradient].sort()).toEqual(['w', 'y']);
});

test('shape arithmetic and weights in another layout cost nothing', () => {
  const { costs } = bind({
    inputs: ['x: float32[2, 4]'],
    outputs: ['y'],
    initializers: ['w: float32[8, 4]', 'target: int64[1] = -1'],
    nodes: [
      's = Shape(x)',
      onnxNode('t = Concat(s, target)', { axis: { kind: 'int', value: 0 } }),
      'r = Reshape(x, t)',
      'l = Transpose(w)',
      'y = MatMul(x, l)',
    ],
  });
  expect(costs.map((cost) => cost.kind === 'known' && [cost.class, cost.forward.kernels])).toEqual([
    ['shape', 0],
    ['shape', 0],
    ['view', 0],
    ['view', 0],
    ['matmul', 1],
  ]);
});

test('a branch that trains captured weights is costed with its backward', () => {
  const branch = onnxGraph({ outputs: ['b'], nodes: ['b = MatMul(x, w)'] });
  const training = bind({
    inputs: ['c: bool[]', 'x: float32[2, 4]'],
    outputs: ['y'],
    initializers: ['w: float32[4, 8]'],
    nodes: [
      onnxNode('y = If(c)', {
        then_branch: { kind: 'graph', value: branch },
        else_branch: { kind: 'graph', value: branch },
      }),
    ],
  });
  expect([...training.requiresGradient].sort()).toEqual(['w', 'y']);
  expect(flopsOf(training)).toEqual([[128, 0, 128]]);
});

test('a loop of known length that fills a list is written out', () => {
  const body = onnxGraph({
    inputs: ['i: int64[]', 'go: bool[]', 'list'],
    outputs: ['go', 'more'],
    nodes: ['part = Gather(parts, i)', 'taken = Add(part, x)', 'more = SequenceInsert(list, taken)'],
  });
  const training = bind({
    inputs: ['x: float32[4]'],
    outputs: ['y'],
    initializers: ['parts: float32[3, 4]', 'count: int64[] = 3', 'yes: bool[] = 1', 'last: int64[] = -1'],
    nodes: [
      'empty = SequenceEmpty()',
      onnxNode('all = Loop(count, yes, empty)', { body: { kind: 'graph', value: body } }),
      'y = SequenceAt(all, last)',
    ],
  });
  const types = training.analysis.graph.operators.map(({ type }) => type);
  expect(types.filter((type) => type === 'Add')).toHaveLength(3);
  expect(types).not.toContain('Loop');
  expect(training.tensors.get('y')?.dimensions).toEqual([4]);
});

test('a bias of unknown shape is not left out of the cost: it makes it unknown', () => {
  const sketch: ModelSketch = {
    inputs: ['x: float32[2, 8]', 'bias: float32'],
    outputs: ['y'],
    initializers: ['w: float32[8, 16]'],
    nodes: ['y = Gemm(x, w, bias)', 'z = Gemm(x, w)'],
  };
  const flops = 2 * 2 * 8 * 16;
  expect(flopsOf(bind(sketch, {}, 'inference'))).toEqual(['the file gives no shape', [flops, 0, 0]]);
});
