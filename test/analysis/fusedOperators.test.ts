/** Operators that were fused for inference are trained like those they were made of, which are written out here by hand. */

import { describe, expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { runtimeOptimized } from '../../server/src/analysis/restoration/runtimeOptimized.ts';
import { writeOutFused } from '../../server/src/analysis/restoration/writeOutFused.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { Mode } from '../../server/src/model/scenario.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

const imports = '"" : 23, "com.microsoft" : 1, "com.microsoft.nchwc" : 1';

const opened = (body: string, mode: Mode = 'training') =>
  estimateModel(
    openModel(
      byteSourceOfBuffer(Buffer.from(`<ir_version: 10, opset_import: [${imports}]>\n${body}`)),
      'fused.onnxtxt',
    ),
    [{ mode, cluster: 'dgx-a100', precision: 'bf16' }],
  );

function figures(body: string, mode?: Mode) {
  const { cost, issues } = opened(body, mode);
  expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
  const { totals } = cost ?? {};
  return {
    time: totals?.time.step,
    flops: totals?.flops,
    memory: [totals?.memory.activations, totals?.memory.parameters],
    messages: cost?.messages?.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

const image = 'float[8, 16, 32, 32] x, float[32, 16, 3, 3] w, float[32] b, float[8, 32, 30, 30] z';
const tokens = 'float[4, 64, 256] x, float[4, 64, 256] s, float[256] g, float[256] h, float[256] b';
const heads = 'float[4, 64, 256] x, float[256] g, float[256, 768] w, float[768] b, float[4, 1, 64, 64] m';

test('a tensor that is rounded and scaled back hands its gradient on in training, and not in inference', () => {
  const body = `g (float[8, 4, 6, 6] x, float[2, 4, 3, 3] w, float s, int8 z) => (y) {
    q = QuantizeLinear(w, s, z) d = DequantizeLinear(q, s, z) y = Conv(x, d) }`;
  const { cost, issues } = opened(body);
  expect(issues.map(({ code }) => code)).toContain('graph/fake-quantization');
  // 2 · (8 · 2 · 4 · 4) · (4 · 3 · 3), and as many for the gradient of w; x has none.
  expect(cost?.totals.flops).toMatchObject({ forward: 18432, backward: 18432 });
  expect(cost?.layers.reduce((sum, { parameters }) => sum + parameters, 0)).toBe(72);
  expect(opened(body, 'inference').issues.map(({ code }) => code)).not.toContain('graph/fake-quantization');
});

describe('trains like what it was made of', () => {
  test.each([
    [
      'a convolution with an activation',
      `g (${image}) => (y) { y = com.microsoft.FusedConv<kernel_shape = [3, 3], activation = "Relu">(x, w, b) }`,
      `g (${image}) => (y) { c = Conv<kernel_shape = [3, 3]>(x, w, b) y = Relu(c) }`,
    ],
    [
      'a convolution with a residual and an activation',
      `g (${image}) => (y) { y = com.microsoft.FusedConv<kernel_shape = [3, 3], activation = "LeakyRelu", activation_params = [0.1]>(x, w, b, z) }`,
      `g (${image}) => (y) { c = Conv<kernel_shape = [3, 3]>(x, w, b) a = Add(c, z) y = LeakyRelu<alpha = 0.1>(a) }`,
    ],
    [
      'a convolution of blocked channels',
      `g (${image}) => (y) {
        c = com.microsoft.nchwc.Conv<kernel_shape = [3, 3], activation = "Relu">(x, w, b)
        p = com.microsoft.nchwc.MaxPool<kernel_shape = [2, 2]>(c)
        y = com.microsoft.nchwc.ReorderOutput<channels = 32>(p)
      }`,
      `g (${image}) => (y) { c = Conv<kernel_shape = [3, 3]>(x, w, b) r = Relu(c) y = MaxPool<kernel_shape = [2, 2]>(r) }`,
    ],
    [
      'a matmul with an activation',
      'g (float[64, 128] x, float[128, 256] w, float[256] b) => (y) { y = com.microsoft.FusedGemm<activation = "Tanh">(x, w, b) }',
      'g (float[64, 128] x, float[128, 256] w, float[256] b) => (y) { c = Gemm(x, w, b) y = Tanh(c) }',
    ],
    [
      'a matmul of a transposed operand',
      'g (float[4, 128, 64] x, float[128, 256] w) => (y) { y = com.microsoft.FusedMatMul<transA = 1>(x, w) }',
      'g (float[4, 128, 64] x, float[128, 256] w) => (y) { t = Transpose<perm = [0, 2, 1]>(x) y = MatMul(t, w) }',
    ],
    [
      'a GELU with a bias',
      'g (float[4, 64, 128] x, float[128, 256] w, float[256] b) => (y) { c = MatMul(x, w) y = com.microsoft.BiasGelu(c, b) }',
      'g (float[4, 64, 128] x, float[128, 256] w, float[256] b) => (y) { c = MatMul(x, w) a = Add(c, b) y = Gelu(a) }',
    ],
    [
      'a SiLU',
      'g (float[64, 128] x, float[128, 256] w) => (y) { c = MatMul(x, w) y = com.microsoft.QuickGelu<alpha = 1.0>(c) }',
      'g (float[64, 128] x, float[128, 256] w) => (y) { c = MatMul(x, w) s = Sigmoid(c) y = Mul(c, s) }',
    ],
    [
      'a normalization of a sum',
      `g (${tokens}) => (y, t) { y, , , t = com.microsoft.SkipLayerNormalization(x, s, g, h, b) }`,
      `g (${tokens}) => (y, t) { a = Add(x, b) t = Add(a, s) y = LayerNormalization(t, g, h) }`,
    ],
    [
      'a normalization of embeddings',
      `g (int32[4, 64] i, int32[4, 64] p, float[1000, 256] w, float[64, 256] q, float[256] g, float[256] h) => (y) {
        y = com.microsoft.EmbedLayerNormalization(i, , w, q, , g, h, , p)
      }`,
      `g (int32[4, 64] i, int32[4, 64] p, float[1000, 256] w, float[64, 256] q, float[256] g, float[256] h) => (y) {
        a = Gather(w, i) c = Gather(q, p) t = Add(a, c) y = LayerNormalization(t, g, h)
      }`,
    ],
    [
      'attention with a packed projection',
      `g (${heads}) => (y) { n = LayerNormalization(x, g, g) y = com.microsoft.Attention<num_heads = 8>(n, w, b, , , m) }`,
      `g (${heads}) => (y) {
        n = LayerNormalization(x, g, g) c = MatMul(n, w) a = Add(c, b) q, k, v = Split<axis = -1, num_outputs = 3>(a)
        y = Attention<q_num_heads = 8, kv_num_heads = 8>(q, k, v, m)
      }`,
    ],
    [
      'attention of three inputs',
      'g (float[4, 64, 256] q, float[4, 64, 256] k, float[4, 64, 256] v) => (y) { y = com.microsoft.MultiHeadAttention<num_heads = 8>(q, k, v) }',
      'g (float[4, 64, 256] q, float[4, 64, 256] k, float[4, 64, 256] v) => (y) { y = Attention<q_num_heads = 8, kv_num_heads = 8>(q, k, v) }',
    ],
  ])('%s', (_, fused, written) => expect(figures(fused)).toEqual(figures(written)));
});

test('says so in training, and takes the file as it is in inference', () => {
  const fused = `g (${image}) => (y) { y = com.microsoft.FusedConv<kernel_shape = [3, 3], activation = "Relu">(x, w, b) }`;
  const codes = (mode: Mode) => opened(fused, mode).issues.map(({ code }) => code);
  expect(codes('training')).toContain('graph/restored-operators');
  expect(codes('inference')).not.toContain('graph/restored-operators');
});

test('says so on one line, whatever the operator is called', () => {
  const fused = `g (${image}) => ("y\u001b") { "y\u001b" = com.microsoft.FusedConv<kernel_shape = [3, 3], activation = "Relu">(x, w, b) }`;
  const said = opened(fused, 'training').issues.find(({ code }) => code === 'graph/restored-operators');
  expect(said?.message).toContain('first FusedConv `y\\u001b`;');
});

test('leaves what no rule knows', () => {
  const unknown = `g (${image}) => (y) { y = com.microsoft.FusedConv<kernel_shape = [3, 3], activation = "Snake">(x, w, b) }`;
  expect(opened(unknown).issues.map(({ code }) => code)).not.toContain('graph/restored-operators');
});

describe('channels that were added for blocks', () => {
  const graph = (behind: string) =>
    onnxModel({
      inputs: ['x: float32[8, 16, 32, 32]'],
      outputs: ['y'],
      initializers: ['reorder: float32[32, 16, 3, 3]', 'reorder_token_1: float32[32]'],
      nodes: [
        onnxNode('c_nchwc: reorder_token_2 = com.microsoft.nchwc.Conv(x, reorder, reorder_token_1)', {
          kernel_shape: { kind: 'ints', value: [3, 3] },
        }),
        onnxNode(behind, { channels: { kind: 'int', value: 20 } }),
      ],
    });

  test.each([
    [
      'are left out where the graph says how many',
      'y = com.microsoft.nchwc.ReorderOutput(reorder_token_2)',
      20,
      0,
    ],
    ['stay where it does not', 'y = Relu(reorder_token_2)', 32, 1],
  ])('%s', (_, behind, channels, padded) => {
    const model = {
      ...graph(behind),
      operatorSets: [
        { domain: '', version: 20 },
        { domain: 'com.microsoft.nchwc', version: 1 },
      ],
    };
    const written = writeOutFused(model, analyzeOnnx(model));
    expect(written?.padded).toBe(padded);
    expect(written?.model.graph.initializers.map(({ dimensions }) => dimensions)).toEqual([
      [channels, 16, 3, 3],
      [channels],
    ]);
    expect(runtimeOptimized(model, padded)?.message.includes('1 convolution has channels')).toBe(
      padded === 1,
    );
  });
});
