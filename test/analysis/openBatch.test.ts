/** Which constant batches can be opened, as small graphs, and what the opened model then costs. */

import { describe, expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import { openBatch } from '../../server/src/analysis/openBatch.ts';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { type ModelSketch, onnxModel, onnxNode } from '../support/onnxModel.ts';

/** Shape of the first output at batch 8; `undefined` where the batch stays closed. */
function outputAtEight(sketch: ModelSketch): readonly number[] | undefined {
  const model = onnxModel(sketch);
  const opened = openBatch(model, analyzeOnnx(model))?.analysis;
  if (opened === undefined) return undefined;
  const training = bindTrainingGraph(opened, new Map([[opened.batchSymbol ?? '', 8]]), 'training');
  expect(training.batch).toBe(8);
  return training.tensors.get(opened.graph.outputs[0] ?? '')?.dimensions;
}

const weight = 'w: float32[8, 4]';

describe('a constant batch', () => {
  test('opens where nothing but the inputs says it', () =>
    expect(
      outputAtEight({
        inputs: ['x: float32[1, 2, 8]'],
        outputs: ['y: float32[1, 2, 4]'],
        valueInfos: ['y: float32[1, 2, 4]'],
        initializers: [weight],
        nodes: ['y = MatMul(x, w)'],
      }),
    ).toEqual([8, 2, 4]));

  test('opens through a Reshape to constant sizes', () =>
    expect(
      outputAtEight({
        inputs: ['x: float32[1, 2, 8]'],
        outputs: ['y'],
        initializers: [weight, 'target: int64[4] = 1, 2, 2, 4'],
        nodes: ['r = Reshape(x, target)', 'y = Relu(r)'],
      }),
    ).toEqual([8, 2, 2, 4]));

  test('opens through a Reshape that flattens the rest', () =>
    expect(
      outputAtEight({
        inputs: ['x: float32[1, 2, 4]'],
        outputs: ['y'],
        initializers: [weight, 'target: int64[2] = 1, -1'],
        nodes: ['r = Reshape(x, target)', 'y = MatMul(r, w)'],
      }),
    ).toEqual([8, 4]));

  test('opens where batch and heads were folded into one size', () =>
    expect(
      outputAtEight({
        inputs: ['x: float32[2, 3, 8]'],
        outputs: ['y'],
        initializers: [weight, 'target: int64[2] = 6, 8'],
        nodes: ['r = Reshape(x, target)', 'y = MatMul(r, w)'],
      }),
    ).toEqual([24, 4]));

  test('opens where a stored token is joined to every sample', () =>
    expect(
      outputAtEight({
        inputs: ['x: float32[1, 2, 8]'],
        outputs: ['y'],
        initializers: [weight, 'token: float32[1, 1, 8]'],
        nodes: [onnxNode('c = Concat(token, x)', { axis: { kind: 'int', value: 1 } }), 'y = MatMul(c, w)'],
      }),
    ).toEqual([8, 3, 4]));

  test('stays closed where a constant is joined along the batch', () =>
    expect(
      outputAtEight({
        inputs: ['x: float32[1, 2, 8]'],
        outputs: ['y'],
        initializers: [weight, 'token: float32[1, 2, 8]'],
        nodes: [onnxNode('c = Concat(token, x)', { axis: { kind: 'int', value: 0 } }), 'y = MatMul(c, w)'],
      }),
    ).toBeUndefined());

  test('keeps its parameters, and counts the gradient of a token once', () => {
    const model = onnxModel({
      inputs: ['x: float32[1, 2, 8]'],
      outputs: ['y'],
      initializers: [weight, 'token: float32[1, 1, 8]'],
      nodes: [onnxNode('c = Concat(token, x)', { axis: { kind: 'int', value: 1 } }), 'y = MatMul(c, w)'],
    });
    const closed = analyzeOnnx(model);
    const opened = openBatch(model, closed)?.analysis;
    expect(opened?.parameters.map(({ name, elements }) => [name, elements])).toEqual(
      closed.parameters.map(({ name, elements }) => [name, elements]),
    );
  });

  test('stays closed where the output does not depend on it', () =>
    expect(
      outputAtEight({
        inputs: ['x: float32[1, 8]'],
        outputs: ['y'],
        initializers: [weight, 'c: float32[3, 8]'],
        nodes: ['unused = Relu(x)', 'y = MatMul(c, w)'],
      }),
    ).toBeUndefined());
});

test('a batch that is open already is left alone', () => {
  const model = onnxModel({ inputs: ['x: float32[N, 8]'], outputs: ['y'], nodes: ['y = Relu(x)'] });
  expect(openBatch(model, analyzeOnnx(model))).toBeUndefined();
});

test('the default of an opened batch is that of the file', () => {
  const model = onnxModel({ inputs: ['x: float32[4, 8]'], outputs: ['y'], nodes: ['y = Relu(x)'] });
  expect(openBatch(model, analyzeOnnx(model))?.analysis.symbols).toEqual([{ name: 'batch', default: 4 }]);
});

test('layers of a spec keep their names and places, also behind nodes that are added', () => {
  const text = `name: vit
inputs:
  x: float32[1, 9, 16]
layers:
  - token: Parameter(1, 1, 16)
  - joined: concat(token, x, dim=1)
  - fc: Linear(32)
`;
  const names = (batch: number): readonly string[] => {
    const { opened, training } = estimateModel(openLayerSpec(text, 'vit.layers.yaml'), [{ batch }]);
    const last = training?.tensors.get(opened.analysis?.graph.outputs[0] ?? '');
    expect(last?.dimensions).toEqual([batch, 10, 32]);
    return (opened.analysis?.layers ?? []).map(({ name, given }) => {
      const { nodes = [] } = opened.structure?.layers[given ?? -1] ?? {};
      return `${name} ${nodes.length > 0}`;
    });
  };
  expect(names(8)).toEqual(names(1));
});
