/** Which constant batches can be opened, as small graphs, and what the opened model then costs. */

import { describe, expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import type { ModelAnalysis, TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import { openBatch } from '../../server/src/analysis/openBatch.ts';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import type { OnnxModel } from '../../server/src/formats/onnx/syntax.ts';
import { type ModelSketch, onnxModel, onnxNode } from '../support/onnxModel.ts';
import { readShared, sharedModels, sharedTestName } from '../support/sharedModels.ts';

function openedBatch(model: OnnxModel, analysis: ModelAnalysis): ModelAnalysis | undefined {
  const opened = openBatch(model, analysis);
  return opened?.kind === 'opened' ? opened.analysis : undefined;
}

/** Shape of the first output at batch 8; `undefined` where the batch stays closed. */
function outputAtEight(sketch: ModelSketch): readonly number[] | undefined {
  const model = onnxModel(sketch);
  const opened = openedBatch(model, analyzeOnnx(model));
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

  test('opens a Tile and an Expand that repeat for each sample what no sample feeds', () =>
    expect(
      outputAtEight({
        inputs: ['x: float32[2, 2, 3]', 'places: int64[1, 3]'],
        outputs: ['y'],
        initializers: ['positions: float32[1, 3, 5]', 'times: int64[3] = 2, 1, 1', 'all: int64[3] = 2, 2, 3'],
        nodes: [
          'repeated = Tile(positions, times)',
          'scores = MatMul(x, repeated)',
          'index = Expand(places, all)',
          onnxNode('y = GatherElements(scores, index)', { axis: { kind: 'int', value: 2 } }),
        ],
      }),
    ).toEqual([8, 2, 3]));

  test('stays closed where a Tile makes a multiple of another size', () =>
    expect(
      outputAtEight({
        inputs: ['x: float32[2, 3]'],
        outputs: ['y'],
        initializers: ['positions: float32[1, 3]', 'times: int64[2] = 3, 1'],
        nodes: ['repeated = Tile(positions, times)', 'y = MatMul(repeated, x)'],
      }),
    ).toBeUndefined());

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
    const opened = openedBatch(model, closed);
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

const ints = (...value: number[]) => ({ kind: 'ints', value }) as const;
const int = (value: number) => ({ kind: 'int', value }) as const;

/** Forward FLOPs at this batch, of what the opened model and of what the file itself costs. */
function flopsOf(sketch: ModelSketch, batch: number): readonly [opened: number, own: number] {
  const model = onnxModel(sketch);
  const analysis = analyzeOnnx(model);
  const opened = openBatch(model, analysis);
  if (opened?.kind !== 'opened') throw new Error(opened?.reason ?? 'the batch is open already');
  return [
    forwardFlops(
      bindTrainingGraph(opened.analysis, new Map([[opened.analysis.batchSymbol ?? '', batch]]), 'training'),
    ),
    forwardFlops(bindTrainingGraph(analysis, new Map(), 'training')),
  ];
}

const forwardFlops = ({ costs }: TrainingGraph): number =>
  costs.reduce((sum, cost) => sum + (cost.kind === 'known' ? cost.forward.flops : 0), 0);

/** Attention of 2 heads over 4 positions, as exporters write it: every Reshape and Expand states the batch. */
const attention = (batch: number): ModelSketch => ({
  inputs: [`x: float32[${batch}, 4, 8]`],
  outputs: ['y'],
  initializers: [
    ...['wq: float32[8, 8]', 'wk: float32[8, 4]', 'wv: float32[8, 4]', 'wo: float32[8, 8]'],
    ...[`heads: int64[4] = ${batch}, 4, 2, 4`, `one: int64[4] = ${batch}, 4, 1, 4`],
    ...[`pair: int64[4] = ${batch}, 2, 4, 4`, `whole: int64[3] = ${batch}, 4, 8`],
  ],
  nodes: [
    ...['q0 = MatMul(x, wq)', 'k0 = MatMul(x, wk)', 'v0 = MatMul(x, wv)'],
    ...['q1 = Reshape(q0, heads)', 'k1 = Reshape(k0, one)', 'v1 = Reshape(v0, one)'],
    onnxNode('q = Transpose(q1)', { perm: ints(0, 2, 1, 3) }),
    onnxNode('k2 = Transpose(k1)', { perm: ints(0, 2, 1, 3) }),
    onnxNode('v2 = Transpose(v1)', { perm: ints(0, 2, 1, 3) }),
    ...['k3 = Expand(k2, pair)', 'v = Expand(v2, pair)'],
    onnxNode('k = Transpose(k3)', { perm: ints(0, 1, 3, 2) }),
    ...['s = MatMul(q, k)', 'p = Softmax(s)', 'a = MatMul(p, v)'],
    onnxNode('a1 = Transpose(a)', { perm: ints(0, 2, 1, 3) }),
    ...['a2 = Reshape(a1, whole)', 'y = MatMul(a2, wo)'],
  ],
});

/** Windows of 2 · 2 of an image that go into the batch and back, as in Swin. */
const windows: ModelSketch = {
  inputs: ['x: float32[1, 4, 4, 8]'],
  outputs: ['y'],
  initializers: [
    ...['w: float32[8, 8]', 'parts: int64[6] = 1, 2, 2, 2, 2, 8', 'rows: int64[3] = 4, 4, 8'],
    ...['mask: float32[4, 4, 8]', 'masked: int64[4] = 1, 4, 4, 8', 'image: int64[4] = 1, 4, 4, 8'],
  ],
  nodes: [
    'x1 = Reshape(x, parts)',
    onnxNode('x2 = Transpose(x1)', { perm: ints(0, 1, 3, 2, 4, 5) }),
    ...['x3 = Reshape(x2, rows)', 'x4 = MatMul(x3, w)', 'x5 = Reshape(x4, masked)', 'x6 = Add(x5, mask)'],
    ...['x7 = Reshape(x6, parts)'],
    onnxNode('x8 = Transpose(x7)', { perm: ints(0, 1, 3, 2, 4, 5) }),
    'y = Reshape(x8, image)',
  ],
};

/** Heads beside the batch, positions in front, and rows of both at the end, as torch.nn.MultiheadAttention. */
const positionsFirst: ModelSketch = {
  inputs: ['x: float32[1, 4, 8]'],
  outputs: ['y'],
  initializers: [
    ...[
      'w: float32[8, 8]',
      'heads: int64[3] = 4, 2, 4',
      'rows: int64[2] = 4, 8',
      'whole: int64[3] = 4, 1, 8',
    ],
  ],
  nodes: [
    onnxNode('x1 = Transpose(x)', { perm: ints(1, 0, 2) }),
    'x2 = Reshape(x1, heads)',
    onnxNode('x3 = Transpose(x2)', { perm: ints(1, 0, 2) }),
    onnxNode('x4 = Transpose(x3)', { perm: ints(1, 0, 2) }),
    ...['x5 = Reshape(x4, rows)', 'x6 = Gemm(x5, w)', 'x7 = Reshape(x6, whole)'],
    onnxNode('y = Transpose(x7)', { perm: ints(1, 0, 2) }),
  ],
};

test.each([
  ['attention of one sample', attention(1), 1],
  ['attention of three samples', attention(3), 3],
  ['windows', windows, 1],
  ['positions in front', positionsFirst, 1],
] as const)('FLOPs grow with the batch: %s', (_, sketch, own) => {
  for (const batch of [1, 5, 8]) {
    const [opened, before] = flopsOf(sketch, batch);
    expect(before).toBeGreaterThan(0);
    expect(opened * own).toBe(before * batch);
  }
});

test.each([
  [
    'one sample is looked up',
    {
      nodes: [onnxNode('s = Gather(x, i)', { axis: int(0) }), 'y = MatMul(s, w)'],
      initializers: ['i: int64[1] = 0'],
    },
    'Gather `s`: the batch of `x` does not pass through it',
  ],
  [
    'samples meet in a softmax',
    { nodes: [onnxNode('s = Softmax(x)', { axis: int(0) }), 'y = MatMul(s, w)'] },
    'Softmax `s`: the batch of `x` does not pass through it',
  ],
  [
    'stored values have one for each sample',
    { nodes: ['s = Add(x, c)', 'y = MatMul(s, w)'], initializers: ['c: float32[3, 8]'] },
    'Add `s`: the batch of `x` does not pass through it',
  ],
  [
    'the operator is not known',
    { nodes: ['s = com.example.Mystery(x)', 't = Add(s, x)', 'y = MatMul(t, w)'] },
    'no output has a leading dimension',
  ],
] as const)('a batch stays closed and says why: %s', (_, { nodes, ...rest }, reason) => {
  const initializers = [weight, ...('initializers' in rest ? rest.initializers : [])];
  const model = onnxModel({ inputs: ['x: float32[3, 8]'], outputs: ['y'], initializers, nodes });
  expect(openBatch(model, analyzeOnnx(model))).toEqual({ kind: 'fixed', reason });
});

/** Share of FLOPs that the file computes once for any batch: tables of relative positions, which exporters fold. */
const shared: Readonly<Record<string, number>> = {
  'timm/swinv2_tiny_window8_256': 0.0031,
  'timm/xcit_small_12_p16_224': 0.001,
  'transformers/xlnet_base_s128': 0.1364,
};

describe.each(
  sharedModels('torch-export').filter((path) =>
    /(transformers.*_s128|whisper|swin_t|mvit_v1|vit_b_16|tnt|botnet|mobilevit|twins|xcit|swinv2)[^.]*\.onnx/.test(
      path,
    ),
  ),
)(sharedTestName('%s'), (path) => {
  test('costs eight samples as eight times one', () => {
    const { model } = readOnnx(byteSourceOfBuffer(readShared(path)));
    if (model === undefined) throw new Error(`${path} cannot be read`);
    const analysis = analyzeOnnx(model);
    const opened = openBatch(model, analysis);
    if (opened?.kind !== 'opened') throw new Error(opened?.reason ?? 'the batch is open already');
    const name = path.replace('torch-export/', '').replace(/\.onnx(\.gz)?$/, '');
    expect(opened.shared).toBeCloseTo(shared[name] ?? 0, 4);
    const own = forwardFlops(bindTrainingGraph(analysis, new Map(), 'training'));
    const eight = forwardFlops(
      bindTrainingGraph(opened.analysis, new Map([[opened.analysis.batchSymbol ?? '', 8]]), 'training'),
    );
    expect(eight / own).toBeCloseTo(8 - 7 * opened.shared, 6);
  });
});

test('a batch that is open already is left alone', () => {
  const model = onnxModel({ inputs: ['x: float32[N, 8]'], outputs: ['y'], nodes: ['y = Relu(x)'] });
  expect(openBatch(model, analyzeOnnx(model))).toBeUndefined();
});

test('the default of an opened batch is that of the file', () => {
  const model = onnxModel({ inputs: ['x: float32[4, 8]'], outputs: ['y'], nodes: ['y = Relu(x)'] });
  expect(openedBatch(model, analyzeOnnx(model))?.symbols).toEqual([{ name: 'batch', default: 4 }]);
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
