import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { analyzeOnnx } from '../../../server/src/analysis/analyzeOnnx.ts';
import { readLayerSpec } from '../../../server/src/formats/layer-spec/readLayerSpec.ts';
import { layerDefinitions } from '../../../server/src/lowering/layer-spec/layerDefinitions.ts';
import { lowerLayerSpec } from '../../../server/src/lowering/lowerLayerSpec.ts';
import { printDimension } from '../../../server/src/model/dimension.ts';
import { isKnownShape } from '../../../server/src/model/graph.ts';
import { annotate, textOf } from '../../formats/layer-spec/caretFixture.ts';

function lower(text: string, overrides: Readonly<Record<string, number>> = {}) {
  const { spec, issues } = readLayerSpec(text);
  if (spec === undefined) throw new Error('the spec was not read');
  const lowered = lowerLayerSpec(spec, { dimensions: new Map(Object.entries(overrides)) });
  return { ...lowered, issues: [...issues, ...lowered.issues] };
}

function check(fixture: string): void {
  const text = textOf(fixture);
  expect(annotate(text, lower(text).issues)).toBe(fixture);
}

/** The output of the last layer, and the trained elements. */
function outcome(text: string): string {
  const { model, structure, issues } = lower(text);
  const wrong = issues.filter(({ severity }) => severity !== 'information');
  if (wrong.length > 0) return wrong.map((issue) => `[${issue.code}] ${issue.message}`).join('\n');
  const analysis = analyzeOnnx(model, structure);
  const type = analysis.graph.values.get(analysis.graph.outputs[0] ?? '')?.type;
  const shape = type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape.map(printDimension) : ['?'];
  const elements = analysis.parameters.reduce((sum, parameter) => sum + parameter.elements, 0);
  const problems = analysis.issues.map((issue) => `[${issue.code}] ${issue.message}`);
  return [`${shape.join('×')}, ${elements}`, ...problems].join('\n');
}

const image = 'float32[n, 3, 32, 32]';
const words = 'float32[n, 16, 64]';
const vector = 'float32[n, 64]';

// Output shapes and counts as PyTorch 2.13 gives them.
it.each([
  [vector, 'Linear(64, 10)', 'n×10, 650'],
  [vector, 'Linear(10)', 'n×10, 650'],
  [vector, 'Linear(10, bias=False)', 'n×10, 640'],
  [words, 'Linear(out_features=10)', 'n×16×10, 650'],
  ['int64[n, 16]', 'Embedding(100, 8)', 'n×16×8, 800'],
  ['float32[n, 3, 100]', 'Conv1d(3, 8, 5, stride=2)', 'n×8×48, 128'],
  [image, 'Conv2d(3, 8, 3)', 'n×8×30×30, 224'],
  [image, 'Conv2d(8, kernel_size=3, padding=1)', 'n×8×32×32, 224'],
  [image, "Conv2d(8, kernel_size=3, padding='same')", 'n×8×32×32, 224'],
  [image, 'Conv2d(8, kernel_size=(3, 5), stride=(2, 1))', 'n×8×15×28, 368'],
  [image, 'Conv2d(6, kernel_size=3, groups=3, bias=False)', 'n×6×30×30, 54'],
  [image, 'Conv2d(8, kernel_size=3, dilation=2)', 'n×8×28×28, 224'],
  ['float32[n, 3, 8, 8, 8]', 'Conv3d(4, kernel_size=3)', 'n×4×6×6×6, 328'],
  [image, 'MaxPool2d(2)', 'n×3×16×16, 0'],
  [image, 'MaxPool2d(3, 2)', 'n×3×15×15, 0'],
  [image, 'MaxPool2d(3, 2, ceil_mode=True)', 'n×3×16×16, 0'],
  [image, 'AvgPool2d(4)', 'n×3×8×8, 0'],
  [image, 'AdaptiveAvgPool2d(1)', 'n×3×1×1, 0'],
  [image, 'AdaptiveAvgPool2d((4, 8))', 'n×3×4×8, 0'],
  [image, 'BatchNorm2d()', 'n×3×32×32, 6'],
  [image, 'BatchNorm2d(3, affine=False)', 'n×3×32×32, 0'],
  ['float32[n, 8, 4, 4]', 'GroupNorm(2)', 'n×8×4×4, 16'],
  [image, 'LocalResponseNorm(5)', 'n×3×32×32, 0'],
  [words, 'LayerNorm(64)', 'n×16×64, 128'],
  [words, 'LayerNorm()', 'n×16×64, 128'],
  [words, 'LayerNorm((16, 64))', 'n×16×64, 2048'],
  [words, 'LayerNorm(64, bias=False)', 'n×16×64, 64'],
  [words, 'RMSNorm(64)', 'n×16×64, 64'],
  [words, 'Dropout(0.1)', 'n×16×64, 0'],
  [words, 'ReLU()', 'n×16×64, 0'],
  [words, 'ReLU6()', 'n×16×64, 0'],
  [words, "GELU('tanh')", 'n×16×64, 0'],
  [words, 'SiLU()', 'n×16×64, 0'],
  [words, 'Tanh()', 'n×16×64, 0'],
  [words, 'Sigmoid()', 'n×16×64, 0'],
  [words, 'LeakyReLU(0.2)', 'n×16×64, 0'],
  [words, 'Softmax(dim=-1)', 'n×16×64, 0'],
  [words, 'log_softmax(dim=-1)', 'n×16×64, 0'],
  [words, 'MultiheadAttention(64, 4)', 'n×16×64, 16640'],
  [words, 'MultiheadAttention(4)', 'n×16×64, 16640'],
  [words, 'MultiheadAttention(64, 4, fused=False, causal=True)', 'n×16×64, 16640'],
  // q 64×64, k and v 32×64 each, out 64×64.
  [words, 'MultiheadAttention(64, 4, bias=False, num_kv_heads=2)', 'n×16×64, 12288'],
  [
    words,
    'MultiheadAttention(64, 4, bias=False, num_kv_heads=2, rotary=True, fused=False)',
    'n×16×64, 12288',
  ],
  [words, 'MultiheadAttention(64, 4, bias=False, head_dim=32)', 'n×16×64, 32768'],
  [image, 'Flatten()', 'n×3072, 0'],
  [image, 'Flatten(2)', 'n×3×1024, 0'],
  [image, 'Flatten(0, 1)', '3*n×32×32, 0'],
  [words, 'add(x, x)', 'n×16×64, 0'],
  [words, 'add(x)', 'n×16×64, 0'],
  [words, 'add() from x, x', 'n×16×64, 0'],
  [words, 'mul(x, x)', 'n×16×64, 0'],
  [words, 'mul(0.5)', 'n×16×64, 0'],
  [words, 'mul(x, 0.5)', 'n×16×64, 0'],
  [words, 'sub(1, x)', 'n×16×64, 0'],
  [words, 'concat((x, x), dim=-1)', 'n×16×128, 0'],
  [words, 'concat(x, x, x, dim=1)', 'n×48×64, 0'],
  [words, 'reshape(n, 16, 4, 16)', 'n×16×4×16, 0'],
  [words, 'reshape(-1, 64)', '16*n×64, 0'],
  [words, 'reshape((n, 1024))', 'n×1024, 0'],
  [words, 'permute(0, 2, 1)', 'n×64×16, 0'],
  [words, 'transpose(-2, -1)', 'n×64×16, 0'],
  [words, 'select(1, 0)', 'n×64, 0'],
  [words, 'mean(dim=1)', 'n×64, 0'],
  [words, 'mean(dim=(1, 2), keepdim=True)', 'n×1×1, 0'],
  [words, 'Parameter(16, 64)', '16×64, 1024'],
  ['float32[n, 4, 16, 8]', 'scaled_dot_product_attention(x, x, x, is_causal=True)', 'n×4×16×8, 0'],
  // Operators of ONNX by name.
  [words, 'Softplus()', 'n×16×64, 0'],
  [words, 'LeakyRelu(alpha=0.2)', 'n×16×64, 0'],
  [words, 'Transpose(perm=(0, 2, 1))', 'n×64×16, 0'],
])('%s → %s', (type, call, expected) => {
  expect(outcome(`inputs:\n  x: ${type}\nlayers:\n  - y: ${call}\n`)).toBe(expected);
});

it.each([
  ['a: Linear(10)\n  - y: matmul(x, z)', 'n×16×16, 650'],
  ['y: MultiheadAttention(64, 4, bias=False) from x, memory', 'n×16×64, 16384'],
  ['a: select(1, 0)\n  - y: CrossEntropyLoss() from a, label', ', 0'],
])('several inputs: %s', (layers, expected) => {
  const inputs =
    'x: float32[n, 16, 64]\n  z: float32[n, 64, 16]\n  memory: float32[n, 8, 64]\n  label: int64[n]';
  expect(outcome(`inputs:\n  ${inputs}\nlayers:\n  - ${layers}\n`)).toBe(expected);
});

describe('issues stand at the argument that is wrong', () => {
  it("padding='same' beside a stride along one axis", () =>
    check(`
inputs: { image: 'float32[batch, 3, 32, 32]' }
layers:
  - conv: Conv2d(8, kernel_size=3, stride=(1, 2), padding='same')
#                                                 ^^^^^^^^^^^^^^ [spec/argument] padding='same' is for a stride of 1, not 1 × 2; give the padding as a number
`));

  it('sizes that contradict the input', () =>
    check(`
inputs: { image: 'float32[batch, 3, 32, 32]' }
layers:
  - conv: Conv2d(4, 64, kernel_size=3)
#                ^ [shape/mismatch] \`in_channels\` is 4, but the input's channel count is 3 (the input is float32[batch, 3, 32, 32])
  - norm: BatchNorm2d(32)
#                     ^^ [shape/mismatch] \`num_features\` is 32, but the input's channel count is 64 (the input is float32[batch, 64, 30, 30])
  - group: Conv2d(63, kernel_size=3, groups=3)
#                                    ^^^^^^^^ [shape/mismatch] 64 input and 63 output channels do not divide into 3 groups
`));

  it('unknown names, with the nearest known', () =>
    check(`
dims: { width: 8 }
inputs: { x: 'float32[batch, 8]' }
layers:
  - a: Linaer(8)
#      ^^^^^^ [spec/unknown-layer] \`Linaer\` is not a layer; did you mean \`Linear\`?
  - b: Linear(widht)
#             ^^^^^ [spec/dimension] \`widht\` is not a dimension; did you mean \`width\`?
  - c: Linear(width, bais=False) from x
#                    ^^^^ [spec/argument] Linear has no argument \`bais\`; did you mean \`bias\`?
  - sum: add(c, xx)
#               ^^ [spec/unknown-source] no layer above or input is named \`xx\`; did you mean \`x\`?
  - d: GELU() from cc
#                  ^^ [spec/unknown-source] no layer above or input is named \`cc\`; did you mean \`c\`?
`));

  it('sources that stand further down, or are the line itself', () =>
    check(`
inputs: { x: 'float32[batch, 8]' }
layers:
  - a: add(x, b)
#             ^ [spec/unknown-source] \`b\` stands further down, and a layer reads only what is above it; move one of them
  - b: add(b, x)
#          ^ [spec/unknown-source] \`b\` cannot read itself; name a layer above it
`));

  it('what a table is not looked up by, and shapes of other sizes though some are open', () =>
    check(`
dims: { d: 64 }
inputs: { x: 'float32[batch, 16, d]' }
layers:
  - e: Embedding(10, 4)
#      ^^^^^^^^^ [shape/mismatch] a table is looked up by whole numbers, such as int64, and the input is float32[batch, 16, 64]
  - r: reshape(x, batch, 17, d)
#                 ^^^^^^^^^^^^ [shape/mismatch] float32[batch, 16, 64] has another number of elements than [batch, 17, 64]
  - s: reshape(x, batch, 5, -1)
#                 ^^^^^^^^^^^^ [shape/mismatch] float32[batch, 16, 64] has another number of elements than [batch, 5, -1]
  - t: reshape(x, batch, 4, -1)
  - u: reshape(x, 16*d, batch)
  - v: reshape(x, -1, 3*d)
`));

  it('a positional argument behind a named one', () =>
    check(`
inputs: { x: 'float32[batch, 8]' }
layers:
  - a: Linear(in_features=8, 4)
#                            ^ [spec/argument] an argument behind a named one needs a name, as in Python; write it, such as \`out_features=…\`
`));

  it('arguments that are missing, twice, or of another kind', () =>
    check(`
inputs: { x: 'float32[batch, 8]' }
layers:
  - a: Linear()
#      ^^^^^^ [spec/argument] Linear needs \`out_features\`: Linear(in_features, out_features, bias=True, weight=None)
  - b: Linear(8, 8, bias=3) from x
#                        ^ [spec/argument] \`bias\` takes True or False, not 3
  - c: Linear(8, 8, out_features=8) from x
#                ^ [spec/argument] \`out_features\` is given twice
  - d: Linear(8, 8, True, x, 5) from x
#                         ^ [spec/unknown-source] no layer above named \`x\` has a \`weight\` to share
#                            ^ [spec/argument] Linear takes at most 4 arguments here; it is Linear(in_features, out_features, bias=True, weight=None)
  - e: Dropout(2) from x
#              ^ [spec/argument] \`p\` is at most 1, not 2
`));

  it('blocks', () =>
    check(`
inputs: { x: 'float32[batch, 8]' }
blocks:
  mlp(hidden, act=1):
    - up: Linear(hidden)
    - down: Linear(8)
  loop:
    - again: loop()
#            ^^^^ [spec/structure] block \`loop\` contains itself; take this line out, or call another block
layers:
  - a: mlp()
#      ^^^ [spec/argument] mlp needs \`hidden\`: mlp(hidden, act)
  - b: mlp(32, depth=3)
#              ^^^^^ [spec/argument] mlp has no argument \`depth\`; it is mlp(hidden, act)
  - c: loop()
  - d: mlp(32) * 0
#                ^ [spec/call] a layer is repeated a whole number of times, at least once, not 0; put \`#\` before the line to leave it out
`));

  it('dims', () =>
    check(`
dims:
  d: 8
  e: d*2
  f:
# ^ [spec/dimension] \`f\` has no value: write one here
  g: d / 3
#    ^^^^^ [spec/dimension] \`g\` is 2.6666666666666665; a dimension is a whole number above 0
inputs: { x: 'float32[batch, d]' }
layers:
  - a: Linear(e)
  - b: Linear(f)
  - c: Linear(g)
`));

  it('one mistake in a block that is repeated is one issue', () =>
    check(`
inputs: { x: 'float32[batch, 8]' }
blocks:
  mlp:
    - up: Linear(9, 32)
#                ^ [shape/mismatch] \`in_features\` is 9, but the last axis of the input is 8 (the input is float32[batch, 8])
    - down: Linear(8)
layers:
  - h: mlp() * 12
`));
});

describe('structure', () => {
  const text = `
dims: { batch: 4, d: 8 }
inputs: { x: 'float32[batch, seq, d]' }
blocks:
  mlp:
    - up: Linear(4*d)
    - down: Linear(d)
  pair:
    - one: mlp()
    - two: mlp()
layers:
  - h: pair() * 2
  - act: GELU() * 2
  - head: Linear(d, 3)
`.replace('seq', '5');

  it('names layers by their place', () => {
    const { structure } = lower(text);
    expect(structure.layers.map(({ name, ancestors }) => [name, ...ancestors].join(' < '))).toEqual([
      'h[0].one.up < h < h[0] < h[0].one',
      'h[0].one.down < h < h[0] < h[0].one',
      'h[0].two.up < h < h[0] < h[0].two',
      'h[0].two.down < h < h[0] < h[0].two',
      'h[1].one.up < h < h[1] < h[1].one',
      'h[1].one.down < h < h[1] < h[1].one',
      'h[1].two.up < h < h[1] < h[1].two',
      'h[1].two.down < h < h[1] < h[1].two',
      'act[0] < act',
      'act[1] < act',
      'head',
    ]);
  });

  it('gives every node to one layer, and every layer the line it comes from', () => {
    const { model, structure } = lower(text);
    expect(structure.layers.flatMap((layer) => layer.nodes)).toEqual(
      model.graph.nodes.map((_, index) => index),
    );
    const lines = structure.layers.map(({ span }) => text.slice(span?.start, span?.end));
    expect(lines.filter((line) => line === 'up: Linear(4*d)')).toHaveLength(4);
    expect(lines.at(-1)).toBe('head: Linear(d, 3)');
  });

  it('keeps the leading dimension open, with its default or the override', () => {
    expect([...lower(text).structure.symbolDefaults]).toEqual([['batch', 4]]);
    expect([...lower(text, { batch: 7 }).structure.symbolDefaults]).toEqual([['batch', 7]]);
    expect(lower(text).model.graph.inputs[0]?.type).toMatchObject({ shape: ['batch', 5, 8] });
    expect(lower(text, { d: 16 }).model.graph.inputs[0]?.type).toMatchObject({ shape: ['batch', 5, 16] });
  });

  it('closes a dimension whose value a layer needs', () => {
    const spec = (attention: string) =>
      `dims: { batch: 2, seq: 6 }\ninputs: { x: 'float32[batch, seq, 8]' }\nlayers:\n  - a: MultiheadAttention(8, 2${attention})\n`;
    expect([...lower(spec('')).structure.symbolDefaults.keys()]).toEqual(['batch', 'seq']);
    expect([...lower(spec(', rotary=True')).structure.symbolDefaults.keys()]).toEqual(['batch']);
  });

  it('shares a tied weight', () => {
    const tied =
      'inputs: { t: "int64[n, 5]" }\nlayers:\n  - e: Embedding(100, 8)\n  - h: Linear(100, bias=False, weight=e)\n';
    expect(outcome(tied)).toBe('n×5×100, 800');
    expect(outcome(tied.replace('100, bias', '90, bias'))).toMatch(
      /^\[shape\/mismatch\] the tied weight is 100 × 8, but this layer needs 90 × 8$/,
    );
  });

  it('leaves through the outputs that are named', () => {
    const { model } = lower(
      'inputs: { x: "float32[n, 8]" }\nlayers:\n  - a: Linear(3)\n  - b: Linear(4)\noutputs: [a, b]\n',
    );
    expect(model.graph.outputs.map((output) => output.name)).toEqual(['a/Gemm', 'b/Gemm']);
  });
});

it('lets a wrong line make the total unknown, and costs the lines after it', () => {
  const { model, structure } = lower(
    'inputs: { x: "float32[n, 8]" }\nlayers:\n  - a: Linaer(4)\n  - b: Linear(4, 2)\n',
  );
  expect(model.graph.nodes.map((node) => `${node.domain}:${node.type}`)).toEqual([
    'layer-spec:Linaer',
    ':Transpose',
    ':MatMul',
    ':Add',
  ]);
  expect(structure.layers.map((layer) => layer.name)).toEqual(['a', 'b']);
});

it('does not repeat what nobody knows', () => {
  const { model } = lower('inputs: { x: "float32[n]" }\nlayers:\n  - a: GLU2() * 1000\n  - b: ad*1000\n');
  expect(model.graph.nodes).toHaveLength(2);
});

it('stops at a repetition that cannot be meant', () => {
  const { issues } = lower('inputs: { x: "float32[n]" }\nlayers:\n  - a: GELU() * 1000000000\n');
  expect(issues.map((issue) => issue.message)).toEqual([
    'the model has more than 10000 layers; is a repetition too large? Those beyond are left out',
  ]);
});

it.each([
  ['LSTM(4, 8, num_layers=1000000000)', '`num_layers` is at most 100, not 1000000000'],
  ['Transformer(4, 1, 1000000000) from x, x', '`num_encoder_layers` is at most 100, not 1000000000'],
  [
    'Transformer(4, 1, 100, 100, batch_first=True) * 100 from x, x',
    'the model has more than 40000 tensors; is a repetition too large? Those beyond are left out',
  ],
  [
    'Unfold(1000000, padding=10000000) from image',
    'blocks of 1000000 at 19000009 places are more than 1048576',
  ],
  ['split(1) from long', 'an axis of 100000000 has more than 1024 parts of 1'],
  ['unbind() from long', 'an axis of 100000000 has more than 1024 parts of 1'],
  ['chunk(100000) from long', '`chunks` is at most 1024, not 100000'],
])('bounds what a few characters ask for: %s', (call, message) => {
  const inputs = 'x: float32[2, 4, 4]\n  image: float32[2, 3, 8, 8]\n  long: float32[100000000]';
  const { issues } = lower(`inputs:\n  ${inputs}\nlayers:\n  - y: ${call}\n`);
  expect(issues.map((issue) => issue.message)).toEqual([message]);
});

it('lowers any spec without failing', () => {
  const values = [
    '1',
    '0',
    '-1',
    'd',
    'batch',
    'x',
    'a',
    '2*d',
    'batch//2',
    '(1, 2)',
    '()',
    'None',
    'True',
    "'same'",
    '1e99',
    '1/0',
    '(a, x)',
    'h=3',
    'dim=9',
    'kernel_size=0',
    'stride=0',
    'weight=a',
    '(0, 2, 1, 3)',
    '(x, x)',
    "'bchw->bc'",
    'dim=(1, 2)',
    '1e9',
    'num_layers=99999999',
    'batch_first=True',
    "mode='bilinear'",
    'scale_factor=1e12',
    'size=3',
    'output_size=(None, 99999)',
    'padding=1e15',
    'attn_mask=a',
    'index=x',
  ];
  const names = [...layerDefinitions.map((definition) => definition.name), 'b', 'Gemm', 'Split', 'Nothing'];
  const calls = fc
    .tuple(
      fc.constantFrom(...names),
      fc.array(fc.constantFrom(...values), { maxLength: 4 }),
      fc.constantFrom('', ' * 2', ' from x', ' from a, x'),
    )
    .map(([name, given, tail]) => `${name}(${given.join(', ')})${tail}`);
  fc.assert(
    fc.property(fc.array(calls, { maxLength: 6 }), fc.array(calls, { maxLength: 3 }), (layers, inner) => {
      const list = (lines: readonly string[], indent: string) =>
        lines.map((call, index) => `${indent}- ${'abcdef'[index]}: ${call}`).join('\n');
      const text = `dims: { batch: 2, d: 4 }\ninputs: { x: 'float32[batch, 4, 8, 8]' }\nblocks:\n  b(p=1):\n${list(inner, '    ')}\nlayers:\n${list(layers, '  ')}\n`;
      const { model, structure } = lower(text);
      analyzeOnnx(model, structure);
    }),
    { numRuns: 300 },
  );
});

it.each([
  ["EmbeddingBag(100, 8, mode='sum', sparse=True)", { sparseGradient: true }],
  ['Embedding(100, 8, sparse=True)', { sparseGradient: true }],
  ['Embedding(100, 8, sparse=False)', undefined],
  ['Embedding(100, 8)', undefined],
])('marks the layers whose gradients are sparse: %s', (call, marks) => {
  const { structure, issues } = lower(`inputs: { ids: 'int64[4, 3]' }\nlayers:\n  - table: ${call}\n`);
  expect(issues).toEqual([]);
  expect(structure.layers[0]?.marks).toEqual(marks);
});
