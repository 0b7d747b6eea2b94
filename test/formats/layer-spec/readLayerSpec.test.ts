import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readLayerSpec } from '../../../server/src/formats/layer-spec/readLayerSpec.ts';
import { modelAt, selectModel } from '../../../server/src/formats/layer-spec/selectModel.ts';
import type { Name } from '../../../server/src/formats/layer-spec/syntax.ts';
import type { TextSpan } from '../../../server/src/model/issue.ts';
import { annotate, textOf } from './caretFixture.ts';

function check(fixture: string): void {
  const text = textOf(fixture);
  expect(annotate(text, readLayerSpec(text).issues)).toBe(fixture);
}

/** Names of the layers that were read, with what they call. */
function layersOf(text: string): readonly string[] {
  const { spec } = readLayerSpec(text);
  return [...(spec?.blocks.flatMap((block) => block.layers) ?? []), ...(spec?.layers ?? [])].map(
    ({ name, call }) => `${name.text}: ${call?.callee.text}`,
  );
}

describe('issues stand at the word that is wrong', () => {
  it('keys', () =>
    check(`
name: x
dimz: { d: 3 }
#^^^ [spec/structure] \`dimz\` is not a key of a layer spec; did you mean \`dims\`?
model: y
#^^^^ [spec/structure] \`model\` is not a key of a layer spec; its keys are name, include, dims, inputs, blocks, layers, outputs, scenario, models
inputs:
  x: float32[n]
layers:
  - a: GELU()
`));

  it('inputs', () =>
    check(`
inputs:
  a: flaot32[n]
#    ^^^^^^^ [spec/structure] \`flaot32\` is not an element type; did you mean \`float32\`?
  b: float32
#           ^ [spec/structure] an input has a type such as \`float32[batch, 3, 224, 224]\`
  c: float32[n, ]
  g: [n, 3]
#    ^^^^^^ [spec/structure] an input has a type such as \`float32[batch, 3, 224, 224]\`
  d: float32[n, 3
#                ^ [spec/structure] \`]\` is missing; write it here
  e-f: float32[n]
# ^^^ [spec/structure] \`e-f\` is not a name of an input: use letters, digits and \`_\`
layers:
  - a: GELU()
`));

  it('layers', () =>
    check(`
inputs: { x: 'float32[n]' }
layers:
  - a: GELU()
  - a: GELU()
#   ^ [spec/duplicate-name] a layer named \`a\` is already here; give this one another name
  - GELU()
#   ^^^^^^ [spec/structure] a layer is written with a name before it: \`- gelu: GELU()\`
  - fc = nn.Linear(8, 8)
#   ^^^^^^^^^^^^^^^^^^^^ [spec/structure] a layer is written with \`:\` after its name: \`- fc: nn.Linear(8, 8)\`
  - self.act = ReLU()
#   ^^^^^^^^^^^^^^^^^ [spec/structure] a layer is written with \`:\` after its name: \`- act: ReLU()\`
  - b:
#   ^ [spec/call] \`b\` has no call; write one such as \`Linear(768, 3072)\`
  - c: Linear(3, bias=)
#                     ^ [spec/call] expected a value, found \`)\`
  - d: "Linear(
#      ^^^^^^^^ [spec/syntax] \`"\` is not closed on this line
  - e: GELU() * 2 from
#                     ^ [spec/call] expected the name of a layer or input after \`from\`
`));

  it('blocks', () =>
    check(`
inputs: { x: 'float32[n]' }
blocks:
  a(b, 3):
#      ^ [spec/call] a block parameter is a name, optionally with \`=\` and a default
    - c: GELU()
  d: 3
#    ^ [spec/structure] \`d\` is a list of layers, each \`- name: Layer(…)\`
layers:
  - e: a(3)
`));

  it('scenario', () =>
    check(`
inputs: { x: 'float32[n]' }
layers:
  - a: GELU()
scenario:
  cluster: dgx-h100
  gpu: 8
# ^^^ [spec/scenario] \`gpu\` is not a key of the scenario; did you mean \`gpus\`?
  nodes: two
#        ^^^ [spec/scenario] \`nodes\` is a whole number above 0, not \`two\`
  precision: bfloat16
#            ^^^^^^^^ [spec/scenario] \`precision\` is one of fp32, tf32, fp16, bf16, fp8, nvfp4, not \`bfloat16\`; did you mean \`bf16\`?
  optimizer: adam-w
#            ^^^^^^ [spec/scenario] \`optimizer\` is one of sgd, momentum, adam, adamw, adamw-8bit, adagrad, rmsprop, adafactor, lion, lamb, muon, none, not \`adam-w\`; did you mean \`adamw\`?
  thresholds: launch-bond=0.1
#             ^^^^^^^^^^^^^^^ [spec/scenario] \`launch-bond\` is not the name of a threshold; did you mean \`launch-bound\`?
`));
});

it('reads badly indented and half-typed lines where they are meant', () =>
  check(`
inputs: { x: 'float32[n]' }
layers:
  - a: GELU()
  d: GELU()
# ^ [spec/syntax] \`-\` is missing in front of an item of the list
   - b: GELU()
#  ^^^^^^^^^^^ [spec/syntax] the line is indented by 3, its neighbours by 2; indent them alike
 - c: GELU()
#^^^^^^^^^^^ [spec/syntax] the line is indented by 1, its neighbours by 2; indent them alike
  - lin
#   ^^^ [spec/structure] a layer is written \`- name: Layer(…)\`
  -
# ^ [spec/structure] a layer is written \`- name: Layer(…)\`
  - e: Linear(
#             ^ [spec/call] \`)\` is missing; write it here
  - f: Conv2d(3,
      64, 3)
  - g: &x GELU()
#      ^^^^^^^^^ [spec/syntax] anchors are not used in layer specs; use a dimension, or a block for layers that repeat
  - h: *x
#      ^^ [spec/syntax] aliases are not used in layer specs; write the value
word
#^^^ [spec/syntax] expected \`key: value\`
scenario: { cluster: dgx-1, gpus: 8
#                                  ^ [spec/syntax] \`{\` is not closed; write \`}\` here
`));

describe('the tree of blocks, models and includes', () => {
  const text = `
include: [a.layers.yaml, parts/b.layers.yaml]
dims: { d: 8, e: }
blocks:
  cross(width, heads=2*d) from x, memory to out, lstm.h_n:
    - q, k, v: split(3)
    - out: add(q, x) frozen precision=fp32
models:
  small:
    inputs: { x: 'float32[n, d]' }
    layers:
      - a: cross(d) * 2 from x, x recompute
    outputs: [a, a.h_n]
  large: { dims: { d: 16 } }
layers:
  - b: GELU()
inputs:
  y: float32[n, 4*d]
`;
  const { spec, issues } = readLayerSpec(text);
  const written = ({ start, end }: TextSpan): string => text.slice(start, end);

  it('is read without issues', () => expect(issues).toEqual([]));

  it('holds every name with its place', () => {
    const block = spec?.blocks[0];
    const small = spec?.models[0];
    const call = small?.layers[0]?.call;
    const names: readonly (Name | undefined)[] = [
      ...(spec?.includes.map(({ path }) => path) ?? []),
      ...(spec?.dims.map(({ name }) => name) ?? []),
      block?.name,
      ...(block?.parameters.map(({ name }) => name) ?? []),
      ...(block?.inputs ?? []),
      ...(block?.outputs ?? []),
      ...(block?.layers.flatMap((layer) => layer.names) ?? []),
      ...(block?.layers.flatMap(
        (layer) => layer.call?.marks.flatMap(({ name, value }) => [name, value]) ?? [],
      ) ?? []),
      ...(spec?.models.map(({ name }) => name) ?? []),
      call?.callee,
      ...(call?.sources ?? []),
      ...(call?.marks.map(({ name }) => name) ?? []),
      ...(small?.outputs ?? []),
      small?.outputs[1]?.output,
      ...(spec?.sections.map(({ key }) => key) ?? []),
    ];
    const texts = names.filter((name) => name !== undefined);
    expect(texts.map(({ span }) => written(span))).toEqual(texts.map((name) => name.text));
    expect(texts.map((name) => name.text).join(' ')).toBe(
      'a.layers.yaml parts/b.layers.yaml d e cross width heads x memory out lstm q k v out frozen precision fp32 small large cross x x recompute a a h_n include dims blocks models layers inputs',
    );
  });

  it('holds models and blocks from their names to their last lines', () => {
    expect(written(spec?.models[0]?.span ?? { start: 0, end: 0 })).toMatch(
      /^small:[\s\S]*outputs: \[a, a\.h_n\]$/,
    );
    expect(written(spec?.blocks[0]?.span ?? { start: 0, end: 0 })).toMatch(/^cross[\s\S]*precision=fp32$/);
    expect(spec?.sections.map(({ span }) => written(span).split('\n')[0])).toEqual([
      'include: [a.layers.yaml, parts/b.layers.yaml]',
      'dims: { d: 8, e: }',
      'blocks:',
      'models:',
      'layers:',
      'inputs:',
    ]);
  });

  it('gives each model what it says itself over what is said for all', () => {
    if (spec === undefined) throw new Error('not read');
    const describeModel = (name?: string): string => {
      const model = selectModel(spec, name);
      return `${model?.name?.text}: ${model?.dims.map((dim) => `${dim.name.text}=${dim.value === undefined ? '' : written(dim.value.span)}`)} ${model?.inputs.map((input) => input.name.text)} ${model?.layers.map((layer) => layer.name.text)} ${model?.outputs.length}`;
    };
    expect(describeModel()).toBe('small: d=8,e= x a 2');
    expect(describeModel('large')).toBe('large: d=16,e= y b 0');
    expect(selectModel(spec, 'medium')).toBeUndefined();
    expect(modelAt(spec, text.indexOf('outputs'))).toBe('small');
    expect(modelAt(spec, text.indexOf('d: 16'))).toBe('large');
    expect(modelAt(spec, text.indexOf('GELU'))).toBeUndefined();
  });
});

it('says what is wrong with signatures, models and marks', () =>
  check(`
include:
blocks:
  a(b, b) from c, b to:
#      ^ [spec/duplicate-name] \`b\` is already a name of \`a\`
#                 ^ [spec/duplicate-name] \`b\` is already a name of \`a\`
#                     ^ [spec/call] expected the name of a layer of the block after \`to\`
    - c: GELU() frozn
#               ^^^^^ [spec/call] unexpected \`frozn\` after the call; did you mean \`frozen\`?
  d from e.f:
#          ^ [spec/call] an input of a block is one name, without a dot
    - g: GELU()
models:
  m-1:
    layer: []
#   ^^^^^ [spec/structure] \`layer\` is not a key of a model; did you mean \`layers\`?
    layers:
      - a: GELU()
    inputs: { x: float32[n, 8] }
#                ^^^^^^^^^^^^^ [spec/syntax] \`float32[n, 8]\` needs quotes between brackets, because of its own
  m 2: { layers: [], inputs: {} }
# ^^^ [spec/structure] \`m 2\` is not a model name: use letters, digits, \`_\`, \`-\` and \`.\`
  m3:
# ^^ [spec/structure] the model \`m3\` has no \`inputs\`; add \`inputs: { x: "float32[batch, 768]" }\`
# ^^ [spec/structure] the model \`m3\` has no \`layers\`; add \`layers:\` and below it lines such as \`- fc: Linear(768, 3072)\`
`));

it('reads a layout in other words, and keys that say otherwise before it', () => {
  const { spec } = readLayerSpec(
    'inputs: {}\nlayers: []\nscenario: { gpus: 32, parallel: "TP 4 PP 2 DP 2 MBS 1 GBS 64" }',
  );
  expect(spec?.scenario).toEqual({
    gpus: 32,
    globalBatch: 64,
    parallel: { tensor: 4, pipeline: 2, microBatch: 1 },
  });
});

it('reads the scenario as the command line does', () => {
  const { spec } = readLayerSpec(
    'inputs: {}\nlayers: []\nscenario: { cluster: dgx-1, nodes: 2, gpus: 16, batch: 4, accumulate: 8, precision: fp16, optimizer: sgd, framework: "pytorch-ddp,bucket-mb=50", mode: inference, checkpoint: block, thresholds: "launch-bound=0.5, exposed-communication=0" }',
  );
  expect(spec?.scenario).toEqual({
    cluster: 'dgx-1',
    nodes: 2,
    gpus: 16,
    batch: 4,
    accumulate: 8,
    precision: 'fp16',
    optimizer: 'sgd',
    framework: { name: 'pytorch-ddp', options: { 'bucket-mb': '50' } },
    mode: 'inference',
    checkpoint: 'block',
    thresholds: { 'launch-bound': 0.5, 'exposed-communication': 0 },
  });
});

it.each([
  '{ framework: "pytorch-ddp,bucket-mb=50,compile" }',
  '{ framework: { name: pytorch-ddp, bucket-mb: 50, compile: true } }',
  '\n  framework: { bucket-mb: "50", name: "pytorch-ddp", compile: true }',
  '\n  framework:\n    name: pytorch-ddp # ours\n    bucket-mb: 50\n    compile: true',
])('reads a framework and its options from %s', (scenario) => {
  const { spec, issues } = readLayerSpec(`inputs: {}\nlayers: []\nscenario: ${scenario}`);
  expect(issues).toEqual([]);
  expect(spec?.scenario.framework).toEqual({
    name: 'pytorch-ddp',
    options: { 'bucket-mb': '50', compile: 'true' },
  });
});

it('says which part of a framework is wrong', () =>
  check(`
inputs: {}
layers: []
models:
  a:
    scenario: { framework: { bucket-mb: 50 } }
#                          ^^^^^^^^^^^^^^^^^ [spec/scenario] \`framework\` needs a \`name\`, beside its options: \`framework: { name: pytorch-ddp, bucket-mb: 50 }\`
  b:
    scenario:
      framework:
        name: pytorch-ddp
        bucket-mb: [50]
#                  ^^^^ [spec/scenario] \`bucket-mb\` takes one word or number: write \`bucket-mb: VALUE\`
        compile:
#       ^^^^^^^ [spec/scenario] \`compile\` takes one word or number: write \`compile: VALUE\`
  c:
    scenario: { framework: [pytorch-ddp] }
#                          ^^^^^^^^^^^^^ [spec/scenario] \`framework\` is a name, or a name with options: \`pytorch-ddp,bucket-mb=50\` or \`{ name: pytorch-ddp, bucket-mb: 50 }\`
  d:
    scenario: { framework: "pytorch-ddp,=50,compile" }
#                                       ^^^ [spec/scenario] \`framework\`: \`=50\` has no name: write a name, then options, such as \`pytorch-ddp,bucket-mb=50\`
  e:
    scenario: { framework: { name: } }
#                            ^^^^ [spec/scenario] \`name\` takes one word or number: write \`name: pytorch-ddp\`
  f:
    scenario: { parallel: { tensor: 4 } }
#                         ^^^^^^^^^^^^^ [spec/scenario] \`parallel\` is written in one piece, such as \`parallel: "tp=4,pp=2,sp"\`
`));

describe('one broken line takes no other layer away', () => {
  const whole = ['a: GELU', 'b: Linear', 'c: ReLU'];
  it.each([
    '"Linear(',
    "'Linear(",
    '{',
    '[',
    '{ a: [',
    'Linear(',
    '*',
    '&',
    '!',
    '|',
    '%',
    '@',
    '`',
    ': :',
    'a: b',
  ])('- broken: %s', (broken) => {
    const text = `inputs:\n  x: float32[n, 8]\nlayers:\n  - a: GELU()\n  - broken: ${broken}\n  - b: Linear(8)\n  - c: ReLU()\n`;
    expect(layersOf(text).filter((layer) => !layer.startsWith('broken'))).toEqual(whole);
    expect(readLayerSpec(text).issues).not.toEqual([]);
  });
});

it.each([
  ['', 'file/empty'],
  ['# only a comment', 'file/empty'],
  ['- a\n- b', 'spec/structure'],
  ['42', 'spec/structure'],
])('gives no spec for %j', (text, code) => {
  const { spec, issues } = readLayerSpec(text);
  expect(spec).toBeUndefined();
  expect(issues.map((issue) => issue.code)).toEqual([code]);
});

const samples = readdirSync('samples').filter((name) => name.endsWith('.layers.yaml'));

it.each(samples)('reads %s without issues, every span on its own text', (name) => {
  const text = readFileSync(`samples/${name}`, 'utf8');
  const { spec, issues } = readLayerSpec(text);
  expect(issues).toEqual([]);
  for (const layer of [...(spec?.layers ?? []), ...(spec?.blocks.flatMap((block) => block.layers) ?? [])]) {
    const { start, end } = layer.name.span;
    expect(text.slice(start, end)).toBe(layer.name.text);
    expect(text.slice(layer.span.start, layer.span.end)).toMatch(/^\w+: \w+\(.*\)( \* \w+)?( from .*)?$/);
    for (const argument of layer.call?.arguments ?? []) {
      expect(text.slice(argument.span.start, argument.span.end)).not.toMatch(/^\s|\s$|^$/);
    }
  }
});

it.each(samples)('reads every prefix of %s, and the layers on its whole lines', (name) => {
  const text = readFileSync(`samples/${name}`, 'utf8');
  const whole = layersOf(text);
  for (let length = 0; length < text.length; length += length % 3 === 0 ? 5 : 1) {
    const prefix = text.slice(0, length);
    const read = layersOf(prefix);
    // The last line may be half typed; every other layer is as in the whole.
    const complete = read.slice(0, -1);
    expect(complete.filter((layer) => !whole.includes(layer))).toEqual([]);
  }
});

it('reads any text without failing, and keeps every place inside it', () => {
  const lines = fc.constantFrom(
    'inputs:',
    'layers:',
    'blocks:',
    '  x: float32[n]',
    '  - a: GELU()',
    '  - b: "',
    '    - c: f(',
    'dims: {',
    '}',
    '- ',
    ': ',
    '? ',
    '&a ',
    '*a',
    '---',
    '...',
    '\t',
    '%YAML 9',
  );
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(lines, { maxLength: 20 }).map((parts) => parts.join('\n')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      for (const { span } of readLayerSpec(text).issues) {
        expect(span?.start).toBeLessThanOrEqual(span?.end ?? -1);
        expect(span?.end).toBeLessThanOrEqual(text.length);
      }
    }),
    { numRuns: 500 },
  );
});
