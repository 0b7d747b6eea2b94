import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { OnnxGraph, OnnxModel, OnnxNode } from '../../../server/src/formats/onnx/syntax.ts';
import { printOnnxText } from '../../../server/src/formats/onnx-text/printOnnxText.ts';
import { printType } from '../../../server/src/formats/onnx-text/printType.ts';
import { readOnnxText } from '../../../server/src/formats/onnx-text/readOnnxText.ts';
import type { Attribute, TensorLiteral } from '../../../server/src/model/attribute.ts';
import type { ElementType } from '../../../server/src/model/elementType.ts';
import type { TextSpan } from '../../../server/src/model/issue.ts';

function read(text: string): OnnxModel {
  const { model, issues } = readOnnxText(text);
  if (model === undefined) throw new Error(issues[0]?.message);
  return model;
}

const nodeOf = (text: string): OnnxNode | undefined => read(`g () => () { ${text} }`).graph.nodes[0];
const attributeOf = (text: string): Attribute<OnnxGraph> | undefined =>
  nodeOf(`Y = Op <a${text}> ()`)?.attributes.get('a');

describe('attributes', () => {
  test.each<[text: string, attribute: Attribute<OnnxGraph>]>([
    [' = 1', { kind: 'int', value: 1 }],
    [' = -9223372036854775808', { kind: 'int', value: -Number.MAX_SAFE_INTEGER }],
    [' = 1.5', { kind: 'float', value: 1.5 }],
    [' = 1e-3', { kind: 'float', value: Math.fround(1e-3) }],
    [' = -INF', { kind: 'float', value: Number.NEGATIVE_INFINITY }],
    [' = nan', { kind: 'float', value: Number.NaN }],
    [': float = 2', { kind: 'float', value: 2 }],
    [' = "a \\"b\\" \\\\"', { kind: 'string', value: 'a "b" \\' }],
    [' = [1, 2]', { kind: 'ints', value: [1, 2] }],
    [' = [1.0, 2]', { kind: 'floats', value: [1, 2] }],
    [': ints = []', { kind: 'ints', value: [] }],
    [': strings = []', { kind: 'strings', value: [] }],
    [' = ["x", "y"]', { kind: 'strings', value: ['x', 'y'] }],
    [' = @other', { kind: 'reference', value: 'other' }],
    [': int = @other', { kind: 'reference', value: 'other', type: 'int' }],
    [
      ' = int64[2] {3, -1}',
      {
        kind: 'tensor',
        value: { name: '', elementType: 'int64', dimensions: [2], storedBytes: 16, elements: [3, -1] },
      },
    ],
    [
      ': tensor = float named {0.5}',
      {
        kind: 'tensor',
        value: { name: 'named', elementType: 'float32', dimensions: [], storedBytes: 4, elements: [0.5] },
      },
    ],
    [
      ' = float16[1] {15360}',
      {
        kind: 'tensor',
        value: { name: '', elementType: 'float16', dimensions: [1], storedBytes: 2, elements: [1] },
      },
    ],
    [
      ' = string[2] {"ab", "c"}',
      { kind: 'tensor', value: { name: '', elementType: 'string', dimensions: [2], storedBytes: 3 } },
    ],
    [' = float[N]', { kind: 'type_proto', value: { kind: 'tensor', elementType: 'float32', shape: ['N'] } }],
    [
      ': type_proto = seq(int64[])',
      {
        kind: 'type_proto',
        value: { kind: 'sequence', element: { kind: 'tensor', elementType: 'int64', shape: undefined } },
      },
    ],
    [
      ' = float[100,100] {...}',
      {
        kind: 'tensor',
        value: { name: '', elementType: 'float32', dimensions: [100, 100], storedBytes: 40_000 },
      },
    ],
    [': ints = [1, 2, ...]', { kind: 'other', value: 'ints, 2 of them shown' }],
    [' = {...}', { kind: 'other', value: 'a value that is not shown' }],
  ])('<a%s>', (text, attribute) => {
    expect(attributeOf(text)).toEqual(attribute);
  });

  test('may be graphs, and lists of them', () => {
    const node = nodeOf(`y = If (c) <
      then_branch = t () => (float[2] a) <float[2] w = {1, 2}> { a = Identity (w) },
      others: graphs = [p () => () {}, q () => () {}]
    >`);
    expect(node?.attributes.get('then_branch')).toMatchObject({
      kind: 'graph',
      value: { name: 't', nodes: [{ type: 'Identity' }], initializers: [{ elements: [1, 2] }] },
    });
    expect(node?.attributes.get('others')).toMatchObject({
      kind: 'graphs',
      value: [{ name: 'p' }, { name: 'q' }],
    });
  });
});

test.each([
  'float',
  'float[]',
  'float[N,3]',
  'bfloat16["N + 1",?]',
  'int4[2]',
  'seq(float[N])',
  'optional(seq(string))',
  'map(int64, float[2])',
  'sparse_tensor(double[8,8])',
  'opaque(ai.onnx,thing)',
  'undefined[3]',
])('the type %s', (type) => {
  const text = `g (${type} x) => () {}`;
  expect(printType(read(text).graph.inputs[0]?.type)).toBe(type);
});

test.each([
  ['= Op ()', [], []],
  [', = Op (,)', [''], ['']],
  ['x, = Op (y,)', ['x'], ['y']],
  [',x = Op (,y)', ['', 'x'], ['', 'y']],
  ['"" = Op ("")', [''], ['']],
  ['"a b" = Op (float, undefined)', ['a b'], ['float', 'undefined']],
])('the names of %s', (text, outputs, inputs) => {
  expect(nodeOf(text)).toMatchObject({ outputs, inputs });
});

test.each([
  ['y = Op (x)', '', 'Op', ''],
  ['y = com.microsoft.Gelu (x)', 'com.microsoft', 'Gelu', ''],
  ['y = local.f:v2 (x)', 'local', 'f', 'v2'],
  ['y = pkg.torch.2.2.0a0+git4ab.f (x)', 'pkg.torch.2.2.0a0+git4ab', 'f', ''],
])('the operator of %s', (text, domain, type, overload) => {
  expect(nodeOf(text)).toMatchObject({ domain, type, overload });
});

test('a whole model, its weights external, its functions overloaded', () => {
  const model = read(`
    # A comment, then the header.
    <ir_version: 10, opset_import: ["" : 21, "local" : 1], producer_name: "me", producer_version: "1",
     domain: "d", model_version: 3, doc_string: "words", metadata_props: ["k": "v"]>
    net (float[N] x, float[2] b = {1, 2}) => (float[N] y)
    <float[4,4] w = ["location": "weights.bin", "offset": "64", "length": "64"], float[N] h>
    { y = local.f <k = 2> (x) }
    <domain: "local", overload: "v", opset_import: ["" : 21]>
    f <k, alpha: float = 0.5> (float[N] x) => (y) <float[N] t> { t = Relu (x)  y = Scale <s: int = @k> (t) }`);
  expect(model).toMatchObject({
    irVersion: 10,
    producerName: 'me',
    producerVersion: '1',
    domain: 'd',
    modelVersion: 3,
    docString: 'words',
    operatorSets: [
      { domain: '', version: 21 },
      { domain: 'local', version: 1 },
    ],
    metadata: new Map([['k', 'v']]),
    graph: {
      inputs: [{ name: 'x' }, { name: 'b' }],
      valueInfos: [{ name: 'h' }],
      initializers: [
        { name: 'b', elements: [1, 2] },
        { name: 'w', storedBytes: 0, external: { path: 'weights.bin', offset: 64, length: 64 } },
      ],
    },
    functions: [
      {
        name: 'f',
        domain: 'local',
        overload: 'v',
        inputs: ['x'],
        outputs: ['y'],
        attributes: ['k'],
        defaults: new Map([['alpha', { kind: 'float', value: 0.5 }]]),
        nodes: [{ type: 'Relu' }, { type: 'Scale' }],
        valueInfos: [{ name: 'x' }, { name: 't' }],
      },
    ],
  });
});

test('external data outside the folder is reported where it is written', () => {
  const text = 'g () => () <float[2] w = ["location": "../secret"]> {}';
  const { model, issues } = readOnnxText(text);
  expect(model).toBeDefined();
  expect(issues).toMatchObject([{ code: 'onnx/external-data-outside', severity: 'warning', value: 'w' }]);
});

test('knows the place of every node, value and section', () => {
  const text = `<ir_version: 10, opset_import: ["" : 21]>
g (float[2] x) => (float[2] y) <float[2] "w 1" = {1, 2}> {
  [first] h = com.microsoft.Gelu (x)
  y = Add <
    a = 1> (h, "w 1")
}
<opset_import: ["" : 21], domain: "l"> f (x) => (y) { y = Relu (x) }`;
  const { spans } = readOnnxText(text);
  const cut = (span: TextSpan | undefined) => span && text.slice(span.start, span.end);
  expect(
    spans.nodes.map((node) => [cut(node.whole), cut(node.name), cut(node.outputs), cut(node.type)]),
  ).toEqual([
    ['[first] h = com.microsoft.Gelu (x)', 'first', 'h', 'com.microsoft.Gelu'],
    ['y = Add <\n    a = 1> (h, "w 1")', undefined, 'y', 'Add'],
  ]);
  expect([...spans.values].map(([name, span]) => [name, cut(span)])).toEqual([
    ['x', 'x'],
    ['y', 'y'],
    ['w 1', '"w 1"'],
  ]);
  expect(spans.sections.map(({ kind, span }) => [kind, cut(span)?.split('\n')[0]])).toEqual([
    ['header', '<ir_version: 10, opset_import: ["" : 21]>'],
    ['inputs', 'g (float[2] x)'],
    ['outputs', '(float[2] y)'],
    ['initializers', '<float[2] "w 1" = {1, 2}>'],
    ['nodes', '{'],
    ['function', '<opset_import: ["" : 21], domain: "l"> f (x) => (y) { y = Relu (x) }'],
  ]);
});

describe('what is wrong is said once, at its place', () => {
  test.each([
    // The text, what is underlined, what is said.
    ['', '', /^The text holds no model: write `</],
    ['g (float[2] x) => (y)', '', /^`\{` expected, the end of the text found: a graph is written/],
    ['g () => () { T = MatMul[X, W] }', '[', /^`\(` expected, `\[` found: a node is written/],
    ['g () => () { T = (X) }', '(', /^An operator expected, `\(` found/],
    ['g () => () { T = A <x> (X) }', '>', /^`=` expected, `>` found: an attribute is written/],
    ['g () => () { T = A <x: number = 1> () }', 'number', /^`number` is not an attribute type: write one of/],
    ['g () => () { T = A <x: ints = 1> () }', '1', /has type `ints`, its value is of type `int`/],
    ['g () => () { T = A <x = [1, "a"]> () }', '"a"', /has type `int`, its value is of type `string`/],
    ['g () => () { T = A <x = []> () }', '[]', /^An empty list needs a type: write/],
    ['g () => () { T = A <x = [@y]> () }', '@y', /^A list holds no references/],
    ['g (floot[2] x) => () {}', 'floot', /^`floot` is not a type; did you mean `float`\?$/],
    ['g (tensor x) => () {}', 'tensor', /^`tensor` is not a type: a type is written/],
    ['g (seq(floot) x) => () {}', 'floot', /^`floot` is not a type; did you mean `float`\?$/],
    ['g (float[2) x) => () {}', ')', /^`\]` expected, `\)` found/],
    ['g (float[2] x => () {}', '=>', /^`,` or `\)` expected, `=>` found/],
    ['g (float[2] x y) => () {}', 'y', /^`,` or `\)` expected, `y` found/],
    ['g (float[N] x = {1}) => () {}', 'float[N]', /^The shape of a tensor with values must be numbers/],
    ['g (seq(float) x = {1}) => () {}', 'seq(float)', /^Only tensors can have values, not a `sequence`/],
    ['g () => () <int64[1] k = {1.5}> {}', '1.5', /^An integer expected, `1.5` found: a tensor is written/],
    ['g () => () <float16[1] k = {1.5}> {}', '1.5', /^The bit pattern of a float16, an integer expected/],
    [
      '<ir_versoin: 7> g () => () {}',
      'ir_versoin',
      /^`ir_versoin` is no key of a header: write one of ir_ver/,
    ],
    ['<opset_import: [""]> g () => () {}', ']', /^`:` expected, `\]` found: a header is written/],
    ['g () => () { "a = B () }', '"', /^A quoted text has no end: close it with `"`/],
    ['g () => () {} junk', '', /^`\(` expected, the end of the text found: a function is written/],
  ])('%s', (text, underlined, message) => {
    const { model, issues } = readOnnxText(text);
    expect(model).toBeUndefined();
    expect(issues).toHaveLength(1);
    const [issue] = issues;
    expect(issue?.severity).toBe('error');
    expect(issue?.message).toMatch(message);
    expect(issue?.message).not.toMatch(/\.$/);
    expect(text.slice(issue?.span?.start, issue?.span?.end)).toBe(underlined);
  });

  test('nodes that are right are read all the same', () => {
    const text = `g (float[2] x) => (float[2] d) {
  a = Relu (x)
  [broken]
  b = Conv <k = [1, > (x,
    w)
  [second]
  c = Add (a, x)
  d, = = (c)
  e = If (c) <t = h () => () { f = } >
  i = Neg (c)
}
<opset_import: ["" : 21], domain: "l"> f (x) => (y) { y = Relu (x) }`;
    const { model, partial, issues, spans } = readOnnxText(text);
    expect(model).toBeUndefined();
    expect(partial?.graph.nodes.map((node) => node.type)).toEqual(['Relu', 'Add', 'Neg']);
    expect(spans.nodes.map(({ type }) => text.slice(type.start, type.end))).toEqual(['Relu', 'Add', 'Neg']);
    expect(partial?.functions).toHaveLength(1);
    expect(issues.map(({ span }) => text.slice(0, span?.start).split('\n').length)).toEqual([4, 8]);
  });

  test('declarations that are right are read all the same', () => {
    const text = `<ir_version: ten, producer_name: "me", opset: 3, opset_import: ["" : 21]>
net (
   float[N,4] x,
   flaot[N] y,
   float[N z,
   float[2] v = {1, two},
   int64 n
   bool b
) => (
   float[N,4] o, o2 o3,
   float[N] p
<
   float[4,4] w = {...},
   float[4] c = ["location": ],
   float[4] d = {...}
>
{
   o = MatMul (x, w)
}
`;
    const { model, partial, issues } = readOnnxText(text);
    expect(model).toBeUndefined();
    expect(partial).toMatchObject({ producerName: 'me', operatorSets: [{ domain: '', version: 21 }] });
    const names = (values: readonly { name: string }[] = []) => values.map(({ name }) => name);
    expect(names(partial?.graph.inputs)).toEqual(['x', 'n', 'b']);
    expect(names(partial?.graph.outputs)).toEqual(['o', 'p']);
    expect(names(partial?.graph.initializers)).toEqual(['v', 'w', 'c', 'd']);
    expect(partial?.graph.nodes).toHaveLength(1);
    expect(
      issues.map(({ span, message }) => `${text.slice(span?.start, span?.end)} | ${message.split(':')[0]}`),
    ).toEqual([
      'ten | An integer expected, `ten` found',
      'opset | `opset` is no key of a header',
      'flaot | `flaot` is not a type; did you mean `float`?',
      'z | `]` expected, `z` found',
      'two | A number expected, `two` found',
      'bool | `,` or `)` expected, `bool` found',
      'o2 | `o2` is not a type',
      '< | `,` or `)` expected, `<` found',
      '] | A quoted text expected, `]` found',
    ]);
  });

  test('where the signature itself is wrong, its nodes are read', () => {
    const text =
      '<ir_version: 10, opset_import: ["" : 21]>\n(float[2] x) = (float[2] y) {\n  y = Relu (x)\n}\n';
    const { partial, issues } = readOnnxText(text);
    expect(partial?.graph.nodes.map(({ type }) => type)).toEqual(['Relu']);
    expect(issues).toMatchObject([
      { message: expect.stringMatching(/^The name of a graph expected, `\(` found/) },
    ]);
  });

  test('nesting has an end', () => {
    for (const text of [
      `g (${'seq('.repeat(5000)}`,
      `g () => () { ${'y = If <a = g () => () { '.repeat(5000)}`,
    ]) {
      expect(readOnnxText(text).issues).toMatchObject([
        { code: 'onnx/text-syntax', message: expect.stringContaining('levels deep') },
      ]);
    }
  });
});

describe('reading takes back what printing wrote', () => {
  const name = fc.oneof(
    fc.constantFrom('x', 'layer1.0.conv', 'a "quoted" \\ name', 'µ/名', ''),
    fc.string({ maxLength: 8 }).filter((text) => !/[\r\n]/.test(text)),
  );
  const word = fc.stringMatching(/^[a-z_][a-z0-9_]{0,6}$/);
  const integer = fc
    .maxSafeInteger()
    .filter((value) => value > Number.MIN_SAFE_INTEGER && !Object.is(value, -0));
  const float = fc.float().filter((value) => !Number.isNaN(value));
  const dimension = fc.oneof(
    fc.nat(),
    name.filter((text) => text !== ''),
    fc.constant(undefined),
  );
  const type = fc.record({
    kind: fc.constantFrom('tensor' as const, 'sparse-tensor' as const),
    elementType: fc.constantFrom<ElementType[]>('float32', 'float64', 'int64', 'bool', 'string', 'int4'),
    shape: fc.option(fc.array(dimension, { maxLength: 3 }), { nil: undefined }),
  });
  const info = fc.record({ name, type });
  const tensor: fc.Arbitrary<TensorLiteral> = fc.array(integer, { maxLength: 5 }).chain((elements) =>
    fc.record({
      name: word.filter((text) => !/^(u?int\d+|float|double|seq|map|bool|string)$/.test(text)),
      elementType: fc.constant('int64' as const),
      dimensions: fc.constant([elements.length]),
      elements: fc.constant(elements),
      storedBytes: fc.constant(8 * elements.length),
    }),
  );
  const attribute: fc.Arbitrary<Attribute<OnnxGraph>> = fc.oneof(
    fc.record({ kind: fc.constant('int' as const), value: integer }),
    fc.record({ kind: fc.constant('float' as const), value: float }),
    fc.record({ kind: fc.constant('string' as const), value: name }),
    fc.record({ kind: fc.constant('ints' as const), value: fc.array(integer) }),
    fc.record({ kind: fc.constant('floats' as const), value: fc.array(float) }),
    fc.record({ kind: fc.constant('strings' as const), value: fc.array(name) }),
    fc.record({ kind: fc.constant('tensor' as const), value: tensor }),
    fc.record({ kind: fc.constant('tensors' as const), value: fc.array(tensor, { maxLength: 3 }) }),
    fc.record({ kind: fc.constant('reference' as const), value: name, type: fc.constant('int') }),
  );
  const node = fc.record({
    name,
    type: fc.oneof(word, name),
    domain: fc.oneof(fc.constantFrom('', 'com.microsoft', 'pkg.2.0+git', 'a..b', '.'), name),
    overload: fc.oneof(fc.constantFrom('', 'v2'), name),
    inputs: fc.array(name, { maxLength: 4 }),
    outputs: fc.array(name, { maxLength: 4 }),
    attributes: fc
      .array(fc.tuple(fc.oneof(word, name), attribute), { maxLength: 4 })
      .map((entries) => new Map(entries)),
    metadata: fc.constant(new Map<string, string>()),
  });
  const graph: fc.Arbitrary<OnnxGraph> = fc.record({
    name,
    nodes: fc.array(node, { maxLength: 4 }),
    inputs: fc.array(info, { maxLength: 3 }),
    outputs: fc.array(info, { maxLength: 3 }),
    valueInfos: fc.array(info, { maxLength: 3 }),
    initializers: fc.array(tensor, { maxLength: 3 }),
    sparseInitializers: fc.constant([]),
  });

  test('for any graph', () => {
    fc.assert(
      fc.property(graph, (made) => {
        const model: OnnxModel = {
          irVersion: 10,
          producerName: '',
          producerVersion: '',
          domain: '',
          modelVersion: 0,
          operatorSets: [{ domain: '', version: 21 }],
          graph: made,
          functions: [],
          metadata: new Map(),
        };
        const printed = printOnnxText(model);
        const again = read(printed.text);
        expect(printed.elided).toBe(0);
        expect(again).toEqual(model);
      }),
      { numRuns: 500 },
    );
  });
});
