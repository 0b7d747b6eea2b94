import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readLayerSpec } from '../../../server/src/formats/layer-spec/readLayerSpec.ts';
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
  d: float32[n, 3
#                ^ [spec/structure] \`]\` is missing
  e-f: float32[n]
# ^^^ [spec/structure] an input is named by letters, digits and \`_\`, not \`e-f\`
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
#   ^^^^^^ [spec/structure] a layer is written \`- name: Layer(…)\`
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
#      ^ [spec/call] a parameter of a block is a name, with \`=\` and a default where it has one
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
#            ^^^^^^^^ [spec/scenario] \`precision\` is one of fp32, tf32, fp16, bf16, fp8, not \`bfloat16\`
  optimizer: adam-w
#            ^^^^^^ [spec/scenario] \`optimizer\` is one of sgd, momentum, adam, adamw, none, not \`adam-w\`; did you mean \`adamw\`?
`));
});

it('reads the scenario as the command line does', () => {
  const { spec } = readLayerSpec(
    'inputs: {}\nlayers: []\nscenario: { cluster: dgx-1, nodes: 2, gpus: 16, batch: 4, precision: fp16, optimizer: sgd, framework: "pytorch-ddp,bucket-mb=50", mode: inference }',
  );
  expect(spec?.scenario).toEqual({
    cluster: 'dgx-1',
    nodes: 2,
    gpus: 16,
    batch: 4,
    precision: 'fp16',
    optimizer: 'sgd',
    framework: { name: 'pytorch-ddp', options: { 'bucket-mb': '50' } },
    mode: 'inference',
  });
});

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

it('reads every prefix of a sample', () => {
  const text = readFileSync('samples/gpt2.layers.yaml', 'utf8');
  for (let length = 0; length < text.length; length += 13) readLayerSpec(text.slice(0, length));
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
