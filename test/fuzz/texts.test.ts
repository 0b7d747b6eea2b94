/** The textual forms of ONNX take any text: they never throw, never hang, and answer in one of two ways. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { ReadOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import { readOnnxJson } from '../../server/src/formats/onnx-json/readOnnxJson.ts';
import { printOnnxText } from '../../server/src/formats/onnx-text/printOnnxText.ts';
import { readOnnxText } from '../../server/src/formats/onnx-text/readOnnxText.ts';
import { readOnnxProtobufText } from '../../server/src/formats/protobuf-text/readOnnxProtobufText.ts';
import { hasSharedModels, readShared, sharedFiles, sharedTestName } from '../support/sharedModels.ts';

type Reader = (text: string) => ReadOnnx;

/** Reads and prints; where there is no model, errors inside the text say why, few of them. */
function check(read: Reader, text: string): void {
  const { model, issues } = read(text);
  const errors = issues.filter((issue) => issue.severity === 'error');
  if (model === undefined) expect(errors).not.toEqual([]);
  expect(errors.length).toBeLessThanOrEqual(20);
  for (const { span, message } of issues) {
    expect(message).toMatch(/[^.\n]$/);
    if (span === undefined) continue;
    expect(span.start).toBeGreaterThanOrEqual(0);
    expect(span.end).toBeGreaterThanOrEqual(span.start);
    expect(span.end).toBeLessThanOrEqual(text.length);
  }
  if (model !== undefined) expect(printOnnxText(model).text).not.toBe('');
}

const samples: readonly (readonly [name: string, read: Reader, text: string, words: readonly string[]])[] = [
  [
    'ONNX text',
    readOnnxText,
    `<ir_version: 10, opset_import: ["" : 21, "l" : 1], metadata_props: ["k": "\\""]> # comment
g (float[N, 3] x, seq(map(int64, optional(float))) s) => (float[?] "y z")
<float[3,4] w = {...}, int64[2] k = {1, -2}, float e = ["location": "a", "offset": "1"], float[] h>
{
  [first] h = MatMul (x, w)
  "y z", , = l.f:v <a: ints = [1, 2], b = -1.5e3, c = @d, t = float[1] {nan}, p: type_proto = float[N]> (h, "")
  = If (h) <then_branch = t () => (float a) { a = Constant <value_string = "s"> () }>
}
<domain: "l", opset_import: ["" : 21]>
f <d, e: float = 1> (float x, y) => (z) <float[N] t> { t = Relu (x) z = Add (t, y) }
`,
    [
      '<',
      '>',
      '{',
      '}',
      '(',
      ')',
      '[',
      ']',
      ',',
      '=',
      ':',
      '=>',
      '"',
      '@',
      '...',
      '{...}',
      'float',
      '-',
      '#',
      '\\',
    ],
  ],
  [
    'protobuf text',
    readOnnxProtobufText,
    `ir_version: 8 # comment
opset_import { version: 17; domain: "" }
graph { name: 'g' "h"
  node { input: "x" output: "y" op_type: "Conv" attribute: < name: "p" ints: [1, -1] type: INTS > }
  initializer { dims: 2 dims: 1 data_type: 1 name: "w" float_data: 1 float_data: -1e3f raw_data: "\\001\\xff\\n" }
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } dim { dim_value: 3 } } } } }
}
[ext.name] { a: 1 } 99: 7
`,
    [
      '<',
      '>',
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      ';',
      '"',
      "'",
      '\\',
      '#',
      '-',
      'graph',
      'dims: 1',
      'data_type: -1',
      '9',
    ],
  ],
  [
    'JSON',
    readOnnxJson,
    '{"irVersion":"8","graph":{"node":[{"input":["x"],"opType":"Relu","attribute":[{"name":"a","i":"1","type":"INT"}]}],' +
      '"initializer":[{"dims":["2"],"dataType":1,"rawData":"AAAAAAAA","name":"w"}],"input":[{"name":"x","type":' +
      '{"tensorType":{"elemType":1,"shape":{"dim":[{"dimValue":"2"}]}}}}]},"opsetImport":[{"version":"17"}]}',
    ['{', '}', '[', ']', '"', ':', ',', 'null', '-1', '1e99', '"i":', '"dims":', '"\\u0000"', 'true', '={}'],
  ],
];

describe.each(samples)('%s', (_, read, sample, words) => {
  test('the sample itself is read', () => {
    expect(read(sample).model).toBeDefined();
  });

  test('every prefix', () => {
    for (let length = 0; length <= sample.length; length += 1) check(read, sample.slice(0, length));
  });

  test('any text', () => {
    const text = fc.oneof(
      fc.string({ maxLength: 100, unit: 'binary' }),
      fc
        .array(fc.constantFrom(...words, ' ', 'a', '1', '\n'), { maxLength: 60 })
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (made) => check(read, made)),
      { numRuns: 2000 },
    );
  });

  test('edited samples', () => {
    const edit = fc.tuple(fc.nat(), fc.nat({ max: 12 }), fc.constantFrom('', ...words));
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
        let text = sample;
        for (const [place, removed, inserted] of edits) {
          const start = place % (text.length + 1);
          text = text.slice(0, start) + inserted + text.slice(start + removed);
        }
        check(read, text);
      }),
      { numRuns: 1500 },
    );
  });
});

test(sharedTestName('edited texts of real models open or say why not, within a second'), () => {
  if (!hasSharedModels) return;
  const texts = [
    ...sharedFiles(/\.prototxt$/, 'ngraph-onnx-prototxt').filter((_path, index) => index % 10 === 0),
    'onnx-text/printed/onnx-light__light_squeezenet.onnxtxt',
  ].map((path) => new TextDecoder().decode(readShared(path)));
  const edit = fc.tuple(
    fc.nat(),
    fc.nat({ max: 20 }),
    fc.constantFrom('', '}', '{', '"', '[', '-1', '(', '>', ','),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...texts),
      fc.array(edit, { minLength: 1, maxLength: 3 }),
      (original, edits) => {
        let text = original;
        for (const [place, removed, inserted] of edits) {
          const start = place % (text.length + 1);
          text = text.slice(0, start) + inserted + text.slice(start + removed);
        }
        const began = performance.now();
        const opened = openModel(byteSourceOfBuffer(new TextEncoder().encode(text)), 'model');
        expect(performance.now() - began).toBeLessThan(1000);
        if (opened.analysis === undefined) expect(opened.issues.length).toBeGreaterThan(0);
      },
    ),
    { numRuns: 150 },
  );
});
