/** ONNX models as protobuf text and as JSON: what each field means, what is left out, what is refused. */

import { describe, expect, test } from 'vitest';
import { readOnnxJson } from '../../../server/src/formats/onnx-json/readOnnxJson.ts';
import { readOnnxProtobufText } from '../../../server/src/formats/protobuf-text/readOnnxProtobufText.ts';

const textModel = `
ir_version: 8
opset_import { domain: "" version: 17 }
metadata_props { key: "k" value: "v" }
graph {
  name: "g"
  node {
    input: "x" input: "" input: "w" output: "y" op_type: 'Conv'
    attribute { name: "pads" ints: 1 ints: -1 type: INTS }
    attribute { name: "alpha" f: 0.1 type: 1 }
    attribute { name: "mode" s: "lin" "ear" type: STRING }
  }
  initializer { dims: 2 dims: 1 data_type: 7 name: "w" raw_data: "\\001\\000\\000\\000\\000\\000\\000\\000\\377\\377\\377\\377\\377\\377\\377\\377" }
  initializer { dims: [2], data_type: 1, name: "v", float_data: [0.5, -inf] }
  initializer { dims: 4 data_type: 1 name: "e" data_location: EXTERNAL external_data { key: "location" value: "w.bin" } }
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } dim { dim_value: 3 } } } } }
}
functions { name: "f" domain: "l" attribute: "a" node { op_type: "Relu" } }
`;

const jsonModel = JSON.stringify({
  irVersion: '8',
  opsetImport: [{ domain: '', version: 17 }],
  metadata_props: [{ key: 'k', value: 'v' }],
  graph: {
    name: 'g',
    node: [
      {
        input: ['x', '', 'w'],
        output: ['y'],
        opType: 'Conv',
        attribute: [
          { name: 'pads', ints: ['1', '-1'], type: 'INTS' },
          { name: 'alpha', f: 0.1, type: 1 },
          { name: 'mode', s: 'bGluZWFy', type: 'STRING' },
        ],
      },
    ],
    initializer: [
      { dims: ['2', 1], dataType: 7, name: 'w', rawData: 'AQAAAAAAAAD__________w' },
      { dims: [2], dataType: 1, name: 'v', floatData: [0.5, '-Infinity'] },
      {
        dims: [4],
        dataType: 1,
        name: 'e',
        dataLocation: 'EXTERNAL',
        externalData: [{ key: 'location', value: 'w.bin' }],
      },
    ],
    input: [
      {
        name: 'x',
        type: { tensorType: { elemType: 1, shape: { dim: [{ dimParam: 'N' }, { dimValue: '3' }] } } },
      },
    ],
  },
  functions: [{ name: 'f', domain: 'l', attribute: ['a'], node: [{ opType: 'Relu' }] }],
  docString: null,
});

test.each([
  ['protobuf text', readOnnxProtobufText, textModel],
  ['JSON', readOnnxJson, jsonModel],
])('a model as %s', (_, read, text) => {
  const { model, issues } = read(text);
  expect(issues).toEqual([]);
  expect(model).toMatchObject({
    irVersion: 8,
    operatorSets: [{ domain: '', version: 17 }],
    metadata: new Map([['k', 'v']]),
    graph: {
      name: 'g',
      nodes: [
        {
          type: 'Conv',
          inputs: ['x', '', 'w'],
          attributes: new Map<string, unknown>([
            ['pads', { kind: 'ints', value: [1, -1] }],
            ['alpha', { kind: 'float', value: Math.fround(0.1) }],
            ['mode', { kind: 'string', value: 'linear' }],
          ]),
        },
      ],
      initializers: [
        { name: 'w', elementType: 'int64', dimensions: [2, 1], elements: [1, -1], storedBytes: 16 },
        { name: 'v', elements: [0.5, Number.NEGATIVE_INFINITY] },
        { name: 'e', external: { path: 'w.bin', offset: 0 } },
      ],
      inputs: [{ name: 'x', type: { shape: ['N', 3] } }],
    },
    functions: [{ name: 'f', attributes: ['a'], nodes: [{ type: 'Relu' }] }],
  });
});

describe('payloads are counted, not kept', () => {
  const size = 3_000_000;
  const weights = (payload: string): string =>
    `ir_version: 8 graph { initializer { dims: 1000 dims: 750 data_type: 1 name: "w" ${payload} } output { name: "after" } }`;

  test.each([
    ['raw, as protobuf text', readOnnxProtobufText, weights(`raw_data: "${'\\000\\177a'.repeat(size / 3)}"`)],
    ['numbers, one field each', readOnnxProtobufText, weights('float_data: 0.5 '.repeat(size / 4))],
    ['numbers in a list', readOnnxProtobufText, weights(`float_data: [${'0.5,'.repeat(size / 4 - 1)}0]`)],
    [
      'base64, as JSON',
      readOnnxJson,
      JSON.stringify({
        irVersion: 8,
        graph: {
          initializer: [{ dims: [1000, 750], dataType: 1, name: 'w', rawData: 'AAAA'.repeat(size / 3) }],
          output: [{ name: 'after' }],
        },
      }),
    ],
  ])('%s', (_, read, text) => {
    const { model, issues } = read(text);
    expect(issues).toEqual([]);
    expect(model?.graph.initializers).toEqual([
      { name: 'w', elementType: 'float32', dimensions: [1000, 750], storedBytes: size },
    ]);
    expect(model?.graph.outputs).toEqual([{ name: 'after', type: undefined }]);
  });
});

describe('what is odd', () => {
  test.each([
    ['ir_version: 8 graph { } color: "red"', 'onnx/unknown-field', /^Field `color` of ModelProto is unknown/],
    [
      'ir_version: 8 graph { node { op_type: "A" tint { a: 1 } } }',
      'onnx/unknown-field',
      /^Field `tint` of NodeProto/,
    ],
    ['ir_version: 99 graph { }', 'onnx/newer-ir', /^IR version 99 is newer/],
  ])('%s is read with a word about it', (text, code, message) => {
    const { model, issues } = readOnnxProtobufText(text);
    expect(model).toBeDefined();
    expect(issues).toMatchObject([{ code, message: expect.stringMatching(message) }]);
  });

  test.each([
    ['ir_version: 8 graph: 3', '3', /^`graph` is a message: write its fields in braces/],
    ['ir_version: 8 graph { name: 3 }', '3', /^`name` is a text: write it in quotes/],
    ['ir_version: "8"', '"8', /^`ir_version` is a number: write it without quotes and braces/],
    ['ir_version: 8.5', '8.5', /^`8.5` is not a value of `ir_version`: write a number/],
    [
      'graph { initializer { data_type: FLOAT } }',
      'FLOAT',
      /^`FLOAT` is not a value of `data_type`, a number in ONNX: write 1/,
    ],
    ['graph {', '{', /^A message has no end/],
  ])('%s is refused', (text, underlined, message) => {
    const { model, issues } = readOnnxProtobufText(text);
    expect(model).toBeUndefined();
    expect(issues).toMatchObject([{ severity: 'error', message: expect.stringMatching(message) }]);
    const span = issues[0]?.span;
    expect(text.slice(span?.start, span?.end)).toBe(underlined);
  });

  test.each([
    ['{"irVersion": 8, "graph": 3}', /^`graph` is a message in `graph`: write its fields in braces/],
    ['{"graph": {"node": [{"opType": 3}]}}', /^`op_type` is a text in `graph.node\[0\].opType`: write it/],
    ['{"graph": {"name": "a"', /^The text is not valid JSON \(.+\): export the model again$/],
    ['[1]', /^The JSON is not an object/],
    ['{}', /^The text holds no field of an ONNX model/],
    [`{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`, /levels deep/],
  ])('the JSON %s is refused', (text, message) => {
    const { model, issues } = readOnnxJson(text);
    expect(model).toBeUndefined();
    expect(issues).toMatchObject([{ severity: 'error', message: expect.stringMatching(message) }]);
  });

  test.each([
    [
      readOnnxProtobufText,
      'ir_version: 8\ngraph {\n  node { op_type: "Relu" }\n  node {\n    output: "z" }\n}',
      'a node has no operator type at line 4, column 8)',
    ],
    [
      readOnnxProtobufText,
      'ir_version: 8\ngraph {\n  initializer { data_type: 77 }\n}',
      'Element type 77 of a tensor at line 3, column 15 is',
    ],
    [
      readOnnxJson,
      '{"irVersion": 8, "graph": {"node": [{"opType": "Relu"}, {"output": ["z"]}]}}',
      'a node has no operator type in `graph.node[1]`)',
    ],
    [
      readOnnxJson,
      '{"irVersion": 8, "functions": [{"domain": "a"}], "graph": {}}',
      'a function has no name in `functions[0]`)',
    ],
  ])('%o says of %s where it is wrong in the text itself', (read, text, said) => {
    expect(read(text).issues.map(({ message }) => message)).toEqual([expect.stringContaining(said)]);
  });
});
