import { describe, expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../../server/src/formats/onnx/readOnnx.ts';
import type { OnnxModel } from '../../../server/src/formats/onnx/syntax.ts';
import type { PrintedOnnx } from '../../../server/src/formats/onnx-text/printedOnnx.ts';
import { printFloat32, printFloat64 } from '../../../server/src/formats/onnx-text/printNumbers.ts';
import { printOnnxText } from '../../../server/src/formats/onnx-text/printOnnxText.ts';
import { encodeModel, type ModelDescription } from '../../support/onnxBytes.ts';

function modelOf(description: ModelDescription): OnnxModel {
  const { model } = readOnnx(byteSourceOfBuffer(encodeModel(description)));
  if (model === undefined) throw new Error('not read');
  return model;
}

const print = (description: ModelDescription): PrintedOnnx => printOnnxText(modelOf(description));

const convolution: ModelDescription = {
  irVersion: 8,
  operatorSets: { '': 17, 'com.microsoft': 1 },
  producerName: 'pytorch',
  metadata: { author: 'a "b"' },
  graph: {
    name: 'main',
    inputs: { x: 'float[N,3,224,224]' },
    outputs: { y: 'float[N,64,112,112]', 'aux out': 'float[?]' },
    valueInfos: { hidden: 'float[N,64,112,112]' },
    initializers: [
      { name: 'conv1.weight', type: 'float[64,3,7,7]', raw: new Uint8Array(64 * 3 * 49 * 4) },
      { name: 'scales', type: 'float[2]', elements: [1, 0.5] },
      { name: 'shape', type: 'int64[2]', elements: [0, -1] },
      {
        name: 'far',
        type: 'float[1000,10]',
        external: { location: 'w.bin', offset: '4096', length: '40000' },
      },
    ],
    nodes: [
      {
        type: 'Conv',
        name: '/conv1/Conv',
        inputs: ['x', 'conv1.weight'],
        outputs: ['hidden'],
        attributes: { kernel_shape: [7, 7], auto_pad: 'NOTSET', group: 1 },
      },
      { type: 'Gelu', domain: 'com.microsoft', inputs: ['hidden', ''], outputs: ['y', 'aux out'] },
    ],
  },
};

describe('a model as text', () => {
  test('has a line for every value and node', () => {
    expect(print(convolution).text).toMatchInlineSnapshot(`
      "<
         ir_version: 8,
         opset_import: ["" : 17, "com.microsoft" : 1],
         producer_name: "pytorch",
         metadata_props: ["author": "a \\"b\\""]
      >
      main (
         float[N,3,224,224] x
      ) => (
         float[N,64,112,112] y,
         float[?] "aux out"
      )
      <
         float[64,3,7,7] "conv1.weight" = {...},  # 36.8 KiB
         float[2] scales = {1,0.5},
         int64[2] shape = {0,-1},
         float[1000,10] far = ["location": "w.bin", "offset": "4096", "length": "40000"],  # 39.1 KiB
         float[N,64,112,112] hidden
      >
      {
         ["/conv1/Conv"]
            hidden = Conv <kernel_shape: ints = [7, 7], auto_pad: string = "NOTSET", group: int = 1> (x, "conv1.weight")
         y, "aux out" = com.microsoft.Gelu (hidden, "")
      }
      "
    `);
  });

  test('knows the line and the columns of everything it printed', () => {
    const printed = print(convolution);
    const lines = printed.text.split('\n');
    const cut = (line: number, columns: { start: number; end: number } | undefined) =>
      columns === undefined ? undefined : lines[line]?.slice(columns.start, columns.end);
    expect(
      printed.nodes.map((node) => [
        cut(node.line, node.name),
        cut(node.bodyLine, node.outputs),
        cut(node.bodyLine, node.type),
      ]),
    ).toEqual([
      ['"/conv1/Conv"', 'hidden', 'Conv'],
      [undefined, 'y, "aux out"', 'com.microsoft.Gelu'],
    ]);
    expect(printed.nodeLines).toEqual(printed.nodes.map((node) => node.line));
    for (const [map, names] of [
      [printed.inputLines, ['x']],
      [printed.outputLines, ['y', 'aux out']],
      [printed.initializerLines, ['conv1.weight', 'scales', 'shape', 'far']],
    ] as const) {
      expect([...map.keys()]).toEqual(names);
      for (const [name, line] of map) expect(lines[line]).toContain(name);
    }
    expect(lines[printed.graphLine]).toBe('main (');
    expect(
      printed.sections.map((section) => [section.kind, lines[section.line], lines[section.lastLine]]),
    ).toEqual([
      ['header', '<', '>'],
      ['inputs', 'main (', ') => ('],
      ['outputs', ') => (', ')'],
      ['initializers', '<', '>'],
      ['nodes', '{', '}'],
    ]);
  });

  test('prints subgraphs and functions as ONNX does', () => {
    const printed = print({
      irVersion: 10,
      graph: {
        name: 'g',
        inputs: { cond: 'bool' },
        outputs: { y: 'float[2]' },
        nodes: [
          {
            type: 'If',
            name: 'branch',
            inputs: ['cond'],
            outputs: ['y'],
            attributes: {
              then_branch: {
                graph: {
                  name: 'then',
                  outputs: { a: 'float[2]' },
                  nodes: [
                    { type: 'Constant', outputs: ['a'], attributes: { value_floats: { floats: [1, 0.1] } } },
                  ],
                },
              },
              else_branch: {
                graph: {
                  name: 'else',
                  outputs: { b: 'float[2]' },
                  initializers: [{ name: 'k', type: 'int64[1]', elements: [2n ** 63n - 1n] }],
                  nodes: [{ type: 'Identity', inputs: ['k'], outputs: ['b'] }],
                },
              },
            },
          },
          { type: 'scaled', domain: 'local', overload: 'v2', inputs: ['y'], outputs: ['z'] },
        ],
      },
      functions: [
        {
          name: 'scaled',
          domain: 'local',
          overload: 'v2',
          inputs: ['x'],
          outputs: ['y'],
          attributes: ['alpha'],
          defaults: { beta: { float: 2 } },
          nodes: [
            {
              type: 'LeakyRelu',
              inputs: ['x'],
              outputs: ['y'],
              attributes: { alpha: { reference: 'alpha', type: 1 } },
            },
          ],
        },
      ],
    });
    expect(printed.elided).toBe(0);
    expect(printed.text).toMatchInlineSnapshot(`
      "<
         ir_version: 10,
         opset_import: ["" : 21]
      >
      g (
         bool cond
      ) => (
         float[2] y
      ) {
         [branch]
            y = If (cond) <then_branch: graph = then () => (float[2] a) {
               a = Constant <value_floats: floats = [1, 0.1]> ()
            }, else_branch: graph = else () => (float[2] b)
               <int64[1] k = {9223372036854775807}>
            {
               b = Identity (k)
            }>
         z = local.scaled:v2 (y)
      }

      <
         domain: "local",
         overload: "v2",
         opset_import: ["" : 21]
      >
      scaled <alpha,beta: float = 2>(x) => (y)
      {
         y = LeakyRelu <alpha: float = @alpha> (x)
      }
      "
    `);
    const lines = printed.text.split('\n');
    const [branch, call] = printed.nodes;
    expect(lines[branch?.line ?? -1]).toBe('   [branch]');
    expect(lines[branch?.bodyLine ?? -1]).toContain('      y = If (cond)');
    expect(lines[branch?.lastLine ?? -1]).toBe('      }>');
    expect(lines[call?.line ?? -1]).toContain('local.scaled:v2 (y)');
    const [body] = printed.functions;
    expect(lines[body?.line ?? -1]).toBe('<');
    expect(lines[body?.nodes[0]?.line ?? -1]).toBe('   y = LeakyRelu <alpha: float = @alpha> (x)');
  });

  test('stays short, one line for a name and one for its node, whatever the attributes hold', () => {
    const printed = print({
      graph: {
        nodes: [
          { type: 'A', attributes: { script: 'first\nsecond', long: 'x'.repeat(5000) } },
          {
            type: 'B\nC',
            name: 'line\r\nbreak',
            attributes: { many: Array.from({ length: 1000 }, (_, i) => i) },
          },
          { type: 'D', attributes: { value: { tensor: { type: 'float[100]', raw: new Uint8Array(400) } } } },
          { type: 'E', attributes: { value: { tensor: { type: 'string[1]', strings: ['x'] } } } },
        ],
      },
    });
    const lines = printed.text.split('\n');
    expect(printed.elided).toBe(5);
    expect(printed.nodeLines).toEqual([0, 1, 3, 4].map((index) => index + (printed.nodeLines[0] ?? 0)));
    expect(lines[printed.nodeLines[0] ?? 0]).toMatch(
      /^ {3} = A <script: string = "first\.\.\.", long: string = "x{1000}\.\.\."> \(\)$/,
    );
    expect(lines[printed.nodeLines[1] ?? 0]).toBe('   ["line break"]');
    expect(lines[printed.nodes[1]?.bodyLine ?? 0]).toContain(
      '       = "B C" <many: ints = [0, 1, 2, 3, 4, 5, 6, 7, ...]>',
    );
    expect(lines[printed.nodeLines[2] ?? 0]).toContain('D <value: tensor = float[100] {...}> ()');
    expect(lines[printed.nodeLines[3] ?? 0]).toContain('E <value: tensor = string[1] {...}> ()');
  });

  test('prints the 16-bit floats as their bit pattern', () => {
    const { text } = print({
      graph: {
        initializers: [
          { name: 'h', type: 'float16[4]', elements: [0x3c00, 0x8001, 0x7c00, 0xfbff] },
          { name: 'b', type: 'bfloat16[2]', elements: [0x3f80, 0xff7f] },
        ],
      },
    });
    expect(text).toContain('float16[4] h = {15360,32769,31744,64511}');
    expect(text).toContain('bfloat16[2] b = {16256,65407}');
  });
});

test.each([
  [0, '0', '0'],
  [-0, '-0', '-0'],
  [1, '1', '1'],
  [-2.5, '-2.5', '-2.5'],
  [0.1, '0.1', '0.1'],
  [1e-5, '1e-05', '1e-05'],
  [0.0001, '1e-04', '1e-04'],
  [0.001, '0.001', '0.001'],
  [0.00012345, '0.00012345', '0.00012345'],
  [1e10, '1e+10', '1e+10'],
  [16_777_216, '16777216', '16777216'],
  [3.4028234663852886e38, '3.4028235e+38', '3.4028234663852886e+38'],
  [1e-7, '1e-07', '1e-07'],
  [1.2345679e-7, '1.2345679e-07', '1.2345679e-07'],
  [1 / 3, '0.33333334', '0.3333333333333333'],
  [Number.POSITIVE_INFINITY, 'inf', 'inf'],
  [Number.NaN, 'nan', 'nan'],
])('the shortest decimal of %d', (value, float32, float64) => {
  expect(printFloat32(Math.fround(value))).toBe(float32);
  expect(printFloat64(value)).toBe(float64);
});
