/** Conversions: what comes out is what went in, and what does not is said. */

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ConversionRequest } from '../../server/src/analysis/conversionRequest.ts';
import { type Conversion, convertModel } from '../../server/src/analysis/convertModel.ts';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import { costFacts } from '../support/costFacts.ts';
import { encodeModel, stringField } from '../support/onnxBytes.ts';

const whatever: ConversionRequest = {
  to: undefined,
  weights: undefined,
  externalPath: 'm.onnx.data',
  dimensions: {},
};

type Request = Partial<ConversionRequest>;

const convert = (content: string | Uint8Array, name: string, request: Request = {}): Conversion =>
  convertModel(byteSourceOfBuffer(Buffer.from(content)), name, { ...whatever, ...request });

function converted(content: string | Uint8Array, name: string, request: Request = {}) {
  const conversion = convert(content, name, request);
  if (conversion.kind !== 'converted') throw new Error(JSON.stringify(conversion));
  return conversion;
}

function bytesOf(content: string | Uint8Array, name: string, request: Request = {}): Uint8Array {
  const conversion = converted(content, name, { ...request, to: 'onnx' });
  return conversion.content.to === 'onnx' ? conversion.content.bytes : new Uint8Array();
}

function textOf(content: string | Uint8Array, name: string, request: Request = {}): string {
  const conversion = converted(content, name, { ...request, to: 'onnx-text' });
  return conversion.content.to === 'onnx-text' ? conversion.content.text : '';
}

const samples = readdirSync('samples').filter((name) => name.endsWith('.layers.yaml'));

describe.each(samples)('%s', (name) => {
  const spec = readFileSync(`samples/${name}`);

  test.each(['zeros', 'external'] as const)('costs the same as ONNX, its weights %s', (weights) => {
    expect(costFacts(bytesOf(spec, name, { weights }), 'm.onnx')).toEqual(costFacts(spec, name));
  });

  test('as ONNX text has the same layers, by the paths of their modules', () => {
    const expected = costFacts(spec, name);
    const read = costFacts(textOf(spec, name), 'm.onnxtxt');
    expect(read.parameters).toBe(expected.parameters);
    const path = (layer: string) => `/${layer.replaceAll('.', '/').replace(/\[(\d+)\]/g, '.$1')}`;
    const named = (layer: string) => layer.split(' ')[0] ?? '';
    const paths = new Set(expected.layers.map((layer) => path(named(layer))));
    expect(read.layers.filter((layer) => !paths.has(named(layer)))).toEqual([]);
  });
});

const spec = `
dims: { batch: 8, n: 4 }
inputs:
  x: float32[batch, n]
layers:
  - fc: Linear(n, 2*n)
  - act: ReLU()
`;

test('an ONNX file as a layer spec has its layers, and says which lines are none', () => {
  const { content, notes } = converted(
    '<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>\nagraph (float[2, 16] x) => (float[2, 16] z) {\n y = Relu(x)\n z = com.example.Special(y)\n}\n',
    'm.onnxtxt',
    { to: 'layer-spec' },
  );
  expect(content.to === 'layer-spec' ? content.text : '').toContain('- relu: ReLU()');
  expect(notes).toEqual([
    'line 8 is not one of a layer spec: com.example.Special is no operator of a layer spec',
  ]);
});

test('a spec becomes a model that names its inputs, outputs and layers', () => {
  const { model } = readOnnx(byteSourceOfBuffer(bytesOf(spec, 's.layers.yaml')));
  expect(model?.producerName).toBe('layercost');
  expect(model?.graph).toMatchObject({
    inputs: [{ name: 'x', type: { elementType: 'float32', shape: ['batch', 4] } }],
    outputs: [{ name: 'act', type: { elementType: 'float32', shape: ['batch', 8] } }],
  });
  expect(model?.graph.nodes.filter(({ name }) => name !== '').map(({ name }) => name)).toEqual([
    '/fc/Gemm',
    '/act/Relu',
  ]);
});

test('values of dimensions are bound in the file', () => {
  const bytes = bytesOf(spec, 's.layers.yaml', { dimensions: { batch: 3, n: 5 } });
  const { model } = readOnnx(byteSourceOfBuffer(bytes));
  expect([model?.graph.inputs[0]?.type, model?.graph.outputs[0]?.type]).toMatchObject([
    { shape: [3, 5] },
    { shape: [3, 10] },
  ]);
});

const binary = encodeModel({
  irVersion: 8,
  operatorSets: { '': 17 },
  graph: {
    name: 'g',
    inputs: { x: 'float[N,4]' },
    outputs: { y: 'float[N,400]' },
    initializers: [
      { name: 'w', type: 'float[4,400]', raw: new Uint8Array(6400) },
      { name: 'far', type: 'float[400]', external: { location: 'w.bin', offset: '64', length: '1600' } },
      { name: 'axes', type: 'int64[2]', elements: [0, -1] },
    ],
    nodes: [
      { type: 'MatMul', inputs: ['x', 'w'], outputs: ['h'], metadata: { namespace: 'a' } },
      { type: 'Add', inputs: ['h', 'far'], outputs: ['y'], attributes: { note: 'two\nlines "q"' } },
    ],
  },
});

describe('a binary model as ONNX text', () => {
  test('keeps references and small values, and says what it leaves out', () => {
    const { notes } = converted(binary, 'm.onnx');
    const text = textOf(binary, 'm.onnx');
    expect(text).toContain('float[4,400] w = {...},  # 6.25 KiB');
    expect(text).toContain('far = ["location": "w.bin", "offset": "64", "length": "1600"]');
    expect(text).toContain('int64[2] axes = {0,-1}');
    expect(text).toContain('note: string = "two\nlines \\"q\\""');
    expect(notes).toEqual([
      "1 value (weights of 6.25 KiB) written as {...}: they stay in m.onnx; ONNX's own parser reads the text with --weights zeros or external",
      'metadata of 1 node not written: ONNX text has no place for it, so that layers may be told apart less well',
    ]);
  });

  test('goes back to a binary model', () => {
    const again = bytesOf(textOf(binary, 'm.onnx', { weights: 'zeros' }), 'm.onnxtxt');
    const { model } = readOnnx(byteSourceOfBuffer(again));
    expect(model?.graph.nodes.map(({ type }) => type)).toEqual(['ConstantOfShape', 'MatMul', 'Add']);
    expect(model?.graph.nodes.at(-1)?.attributes.get('note')).toEqual({
      kind: 'string',
      value: 'two\nlines "q"',
    });
    expect(model?.graph.initializers.find(({ name }) => name === 'far')?.external?.path).toBe('w.bin');
  });
});

test('says that descriptions are lost, but for the model’s own, which is kept', () => {
  const described = encodeModel({
    graph: {
      inputs: { x: 'float[2]' },
      outputs: { y: 'float[2]' },
      nodes: [{ type: 'Relu', inputs: ['x'], outputs: ['y'], extra: stringField(6, 'where it was called') }],
      extra: stringField(10, 'a graph'),
    },
    extra: stringField(6, 'a model'),
  });
  const note =
    '2 descriptions (doc_string) of graph, nodes or tensors not carried over; that of the model is';
  expect(converted(described, 'm.onnx').notes).toEqual([note]);
  expect(converted(described, 'm.onnx', { to: 'onnx', weights: 'zeros' }).notes).toEqual([note]);
  const again = bytesOf(textOf(described, 'm.onnx'), 'm.onnxtxt');
  expect(readOnnx(byteSourceOfBuffer(again)).model?.docString).toBe('a model');
});

test('ONNX text without types of its outputs gets those that follow', () => {
  const text = '<ir_version: 10, opset_import: ["" : 21]> g (float[N,4] x) => (y) { y = Transpose (x) }';
  const { model } = readOnnx(byteSourceOfBuffer(bytesOf(text, 'm.onnxtxt')));
  expect(model?.graph.outputs[0]?.type).toMatchObject({ shape: [4, 'N'] });
});

const text = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Relu (x) }';

test.each<[what: string, content: string | Uint8Array, name: string, request: Request, message: RegExp]>([
  [
    'a spec to a spec',
    'layers:\n  - a: ReLU()\n',
    'm.layers.yaml',
    { to: 'layer-spec' },
    /is a layer spec already/,
  ],
  ['weights of a spec', text, 'm.onnxtxt', { to: 'layer-spec', weights: 'zeros' }, /has no weights/],
  ['text to text', text, 'm.onnxtxt', { to: 'onnx-text' }, /is ONNX text already/],
  ['a copy without weights', binary, 'm.onnx', { to: 'onnx' }, /would lose them; say .* --weights zeros/],
  ['elided binary weights', text, 'm.onnxtxt', { weights: 'elided' }, /--weights elided is for ONNX text/],
  ['a dimension of nobody', text, 'm.onnxtxt', { dimensions: { N: 1 } }, /no dimension N; it has none/],
  ['a wrong name', spec, 's.layers.yaml', { dimensions: { m: 1 } }, /no dimension m; it has batch, n/],
])('refuses %s', (_, content, name, request, message) => {
  expect(convert(content, name, request)).toEqual({
    kind: 'refused',
    message: expect.stringMatching(message),
  });
});

test.each<[what: string, content: string, name: string, code: string]>([
  ['a spec with a mistake', spec.replace('Linear', 'Linar'), 's.layers.yaml', 'spec/unknown-layer'],
  ['text with a mistake', text.replace('Relu', ''), 'm.onnxtxt', 'onnx/text-syntax'],
  ['nothing', '', 'm.onnx', 'file/empty'],
  [
    'a layer that ONNX has no operator for',
    'inputs:\n  x: float32[4, 10, 8]\nlayers:\n  - a: LSTM(8, 6, proj_size=3, batch_first=True)\n',
    's.layers.yaml',
    'onnx/not-writable',
  ],
  [
    'an output nobody knows the type of',
    text.replace(' (float[2] y)', ' (y)').replace('Relu', 'my.Op'),
    'm.onnxtxt',
    'onnx/not-writable',
  ],
])('fails with %s', (_, content, name, code) => {
  const conversion = convert(content, name, { to: name.endsWith('txt') ? 'onnx' : 'onnx-text' });
  expect(conversion).toMatchObject({
    kind: 'failed',
    issues: expect.arrayContaining([expect.objectContaining({ code })]),
  });
});

describe('a config of transformers', () => {
  const config = '{"model_type": "gpt2", "n_layer": 2}';

  test('is written as a layer spec, with the sizes that are given', () => {
    const written = convert(config, 'config.json', { dimensions: { seq: 256 } });
    if (written.kind !== 'converted' || written.content.to !== 'layer-spec') throw new Error(written.kind);
    expect(written.content.text).toMatch(/\n {2}seq: 256\n/);
    expect(openLayerSpec(written.content.text, 'gpt2.layers.yaml').issues).toEqual([]);
  });

  test('is written as ONNX', () => {
    expect(convert(config, 'config.json', { to: 'onnx' })).toMatchObject({
      kind: 'converted',
      content: { to: 'onnx' },
    });
  });

  test('names the sizes it has', () => {
    expect(convert(config, 'config.json', { dimensions: { sequence: 256 } })).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('it has batch, seq, hidden_size, vocab_size'),
    });
  });
});
