/** A file of each format, cut at every place where its structure turns, and one byte before and behind it. */

import { encodeModel } from '../../support/onnxBytes.ts';
import { type HostileInput, header, row, text } from './rows.ts';

const binary = encodeModel({
  producerName: 'test',
  metadata: { a: 'b' },
  graph: {
    inputs: { x: 'float[N,4]' },
    outputs: { y: 'seq(optional(float[N]))' },
    initializers: [
      { name: 'w', type: 'float[4,4]', raw: new Uint8Array(64) },
      { name: 's', type: 'int64[2]', elements: [1, -2] },
    ],
    nodes: [
      {
        type: 'Gemm',
        name: '/fc/Gemm',
        inputs: ['x', 'w'],
        outputs: ['h'],
        attributes: { alpha: { float: 1 } },
      },
      {
        type: 'If',
        inputs: ['h'],
        outputs: ['y'],
        attributes: { then_branch: { graph: { nodes: [{ type: 'Relu', inputs: ['h'], outputs: ['y'] }] } } },
      },
    ],
  },
  functions: [{ name: 'f', nodes: [{ type: 'Relu' }], defaults: { k: [1, 2] } }],
});

const texts: Readonly<Record<string, string>> = {
  'model.onnxtxt': `${header}g (float[N,4] x, seq(optional(float)) s) => (float[N,4] y)
<float[4,4] w = {1, 2, 3}, int64[2] k = ["location": "a"]>
{ [first] h = MatMul <a: ints = [1, 2], t = float {1.5}> (x, w) y = If (h) <then_branch = t () => (float z) { z = Relu (h) }> }
<domain: "own"> f <k = 1> (a) => (b) { b = Relu (a) }
`,
  'model.textproto': `ir_version: 8 # comment
opset_import { version: 17; domain: "" }
graph { name: 'g' "h"
  node < input: "x" output: "y" op_type: "Relu" attribute { name: "a" ints: [1, -1] type: INTS } >
  initializer { dims: 2 data_type: 1 name: "w" raw_data: "\\001\\xff\\n" }
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } } }
`,
  'model.json':
    '{"irVersion":"8","opsetImport":[{"version":"17"}],"graph":{"node":[{"input":["x"],"output":["y"],"opType":"Relu"}],' +
    '"initializer":[{"dims":["2"],"dataType":1,"rawData":"AAAAAAAAAAA=","name":"w"}],"input":[{"name":"x"}]}}',
  'model.layers.yaml': `name: a
dims: { d: 4, e: "d * 2" }
inputs:
  x: float[batch, d]
blocks:
  b:
    - l: Linear(d, d)
layers:
  - first: b() * 2
  - "second": add(first, x) from first
outputs: [second]
scenario: { cluster: dgx-h100, gpus: 8 }
`,
};

/** A name, a number or a single character of anything else begins here. */
const turns = (words: string): readonly number[] => [...words.matchAll(/\w+|\S/g)].map(({ index }) => index);

export const truncatedRows: readonly HostileInput[] = [
  ...Array.from({ length: binary.length }, (_, length) =>
    row(`a model cut after ${length} of ${binary.length} bytes`, 'model.onnx', () =>
      binary.subarray(0, length),
    ),
  ),
  ...Object.entries(texts).flatMap(([name, words]) =>
    [...new Set(turns(words).flatMap((place) => [place, place + 1]))].map((length) =>
      row(`${name} cut after ${length} of ${words.length} characters`, name, () =>
        text(words.slice(0, length)),
      ),
    ),
  ),
];
