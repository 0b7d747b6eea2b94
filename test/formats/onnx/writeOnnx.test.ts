/** What the writer writes, the reader reads back: models, types, attributes, contents. */

import { describe, expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { decodeRawElements } from '../../../server/src/formats/onnx/decodeElements.ts';
import { encodeRawElements } from '../../../server/src/formats/onnx/encodeElements.ts';
import { fillWeights, type WeightForm } from '../../../server/src/formats/onnx/fillWeights.ts';
import { noPayloads, type Payload } from '../../../server/src/formats/onnx/payload.ts';
import { readOnnx } from '../../../server/src/formats/onnx/readOnnx.ts';
import type { OnnxModel } from '../../../server/src/formats/onnx/syntax.ts';
import { writeOnnx } from '../../../server/src/formats/onnx/writeOnnx.ts';
import { readOnnxText } from '../../../server/src/formats/onnx-text/readOnnxText.ts';
import type { TensorLiteral } from '../../../server/src/model/attribute.ts';
import type { ElementType } from '../../../server/src/model/elementType.ts';
import { comparable } from '../onnx-text/comparable.ts';

function read(text: string): { readonly model: OnnxModel; readonly payloads: Map<TensorLiteral, Payload> } {
  const payloads = new Map<TensorLiteral, Payload>();
  const { model, issues } = readOnnxText(text, payloads);
  if (model === undefined) throw new Error(issues[0]?.message);
  return { model, payloads };
}

function written(model: OnnxModel, payloads = noPayloads): OnnxModel {
  const { bytes, issues } = writeOnnx(model, payloads);
  expect(issues).toEqual([]);
  const again = readOnnx(byteSourceOfBuffer(bytes ?? new Uint8Array()));
  expect(again.issues).toEqual([]);
  if (again.model === undefined) throw new Error('not read');
  return again.model;
}

const header = '<ir_version: 10, opset_import: ["" : 21, "local" : 1]>';

test('a whole model reads back', () => {
  const { model, payloads } = read(`
    <ir_version: 10, opset_import: ["" : 21, "local" : 1], producer_name: "me", producer_version: "1",
     domain: "d", model_version: 3, doc_string: "two
lines", metadata_props: ["k": "v", "µ": ""]>
    "a net" (float[N,"2*N",?,3] x, seq(map(int64, float16[])) s, optional(sparse_tensor(double[2])) o,
         opaque(ai.onnx,thing) q, bool c) => (float[] y, "un typed")
    <float[2] w = {1, nan}, float[4,4] far = ["location": "w.bin", "offset": "64", "length": "64"], float[N] h>
    {
      [first] h, "" = local.f:v2 <k = 2, l: ints = [], m = [1.5, -inf], n = ["a", ""], r = -9223372036854775808> (x, "")
      y = If (c) <
        then_branch = t () => (float[2] a) <int64[2] one = {9223372036854775807, -1}> { a = Identity (w) },
        else_branch = e () => (float[2] b) { b = Constant <value = float[2] v {1, 2}> () },
        more: graphs = [p () => () {}, z () => () {}], kinds = [int8[1] {1}, uint4[3] {1, 15, 2}],
        type: type_proto = seq(float[N,3]), types = [float[2], map(int64, string)], none: type_protos = []
      >
    }
    <domain: "local", overload: "v2", opset_import: ["" : 21]>
    f <k, alpha: float = 0.5> (float[N] x) => (y) <float[N] t> { t = Relu (x)  y = Scale <s: int = @k> (t) }`);
  expect(comparable(written(model, payloads))).toEqual(comparable(model));
});

test.each<[ElementType, readonly number[]]>([
  ['float32', [0, -0, 1.5, 3.4028234663852886e38, Number.NEGATIVE_INFINITY]],
  ['float64', [0.1, Number.MAX_VALUE]],
  ['float16', [1, -65504, 2 ** -24, Number.POSITIVE_INFINITY]],
  ['bfloat16', [1, -3, 2 ** 100]],
  ['int8', [-128, 127]],
  ['uint8', [0, 255]],
  ['int16', [-32768, 32767]],
  ['uint16', [65535]],
  ['int32', [-(2 ** 31), 2 ** 31 - 1]],
  ['uint32', [2 ** 32 - 1]],
  ['int64', [-1, 2 ** 52, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER]],
  ['uint64', [0, 2 ** 52, Number.MAX_SAFE_INTEGER]],
  ['bool', [0, 1]],
  ['int4', [-8, 7, 3]],
  ['uint4', [0, 15, 3]],
  ['int2', [-2, 1, 0, -1, 1]],
  ['uint2', [3, 0, 1, 2, 3]],
])('elements of %s are encoded as they are decoded', (type, elements) => {
  const bytes = encodeRawElements(elements, type);
  expect(bytes && decodeRawElements(bytes, type, elements.length)).toEqual(elements);
});

test('64-bit integers are written exactly, and limits as limits', () => {
  const { model, payloads } = read(
    `${header} g () => () <int64[3] a = {9007199254740993, 9223372036854775807, -1}, uint64[1] b = {18446744073709551615}> {}`,
  );
  const [a, b] = model.graph.initializers.map((tensor) => payloads.get(tensor));
  const words = (payload: Payload | undefined) =>
    payload?.kind === 'raw' ? [...new BigUint64Array(payload.bytes.slice().buffer)] : [];
  expect(words(a)).toEqual([9007199254740993n, 2n ** 63n - 1n, 2n ** 64n - 1n]);
  expect(words(b)).toEqual([2n ** 64n - 1n]);
});

test('contents beyond what the tree keeps, and texts, are written too', () => {
  const many = Array.from({ length: 3000 }, (_, index) => index / 8);
  const { model, payloads } = read(
    `${header} g () => () <float[3000] a = {${many.join(',')}}, string[2] t = {"x", "\\"y"}> {}`,
  );
  expect(model.graph.initializers[0]?.elements).toBeUndefined();
  const { bytes } = writeOnnx(model, payloads);
  const floats = new Float32Array(many);
  expect(Buffer.from(bytes ?? []).includes(Buffer.from(floats.buffer))).toBe(true);
  expect(written(model, payloads).graph.initializers.map((tensor) => tensor.storedBytes)).toEqual([
    12_000, 3,
  ]);
});

test('what no reader keeps is refused by name', () => {
  const { model } = read(`${header} g () => () { y = TreeEnsemble <nodes = {...}> () }`);
  const { bytes, issues } = writeOnnx(model);
  expect(bytes).toBeUndefined();
  expect(issues).toMatchObject([{ code: 'onnx/not-writable', severity: 'error' }]);
  expect(issues[0]?.message).toMatch(/attribute `nodes` of `TreeEnsemble`/);
});

test('contents that nobody knows are refused, not left out', () => {
  const { model } = read(`${header} g () => () <float[2] w = {...}> {}`);
  expect(writeOnnx(model)).toMatchObject({ bytes: undefined, issues: [{ code: 'onnx/not-writable' }] });
});

describe('weights without contents', () => {
  const text = `${header} g (float[N,4] x) => (float[N,8] y)
    <float[4,8] w = {...}, float[8] b = {...}, float8e4m3fn[8] small = {...}, string[2] s = {...}, float[0] none = {}>
    { h = MatMul (x, w)  y = Add (h, b)  k = Constant <value: tensor = float[100] {...}> () }`;

  const filled = (form: WeightForm) => {
    const { model, payloads } = read(text);
    return fillWeights(model, payloads, form);
  };

  test('become zeros: nodes for those that can be generated, contents for the others', () => {
    const { model, payloads, filled: count } = filled({ kind: 'zeros' });
    expect(count).toBe(5);
    const again = written(model, payloads);
    expect(again.graph.nodes.map(({ type, outputs }) => `${type} ${outputs}`)).toEqual([
      'ConstantOfShape w',
      'MatMul h',
      'ConstantOfShape b',
      'Add y',
      'Constant k',
    ]);
    expect(again.graph.initializers).toMatchObject([
      { name: 'shape[4, 8]', elements: [4, 8] },
      { name: 'shape[8]', elements: [8] },
      { name: 'small', storedBytes: 8 },
      { name: 's', storedBytes: 0 },
      { name: 'none', dimensions: [0] },
    ]);
    const constant = again.graph.nodes.at(-1)?.attributes.get('value');
    expect(constant).toMatchObject({ kind: 'tensor', value: { dimensions: [100], storedBytes: 400 } });
  });

  test('come first where a subgraph may read them', () => {
    const { model, payloads } = read(`${header} g (bool c) => (float[2] y) <float[2] w = {...}> {
      y = If (c) <then_branch = t () => (a) { a = Identity (w) }, else_branch = e () => (b) { b = Neg (w) }>
      z = Identity (w)
    }`);
    const { model: zeros } = fillWeights(model, payloads, { kind: 'zeros' });
    expect(zeros.graph.nodes.map(({ type }) => type)).toEqual(['ConstantOfShape', 'If', 'Identity']);
  });

  test('refer to a file, one after the other', () => {
    const { model, payloads, externalBytes } = filled({ kind: 'external', path: 'm.data' });
    expect(externalBytes).toBe(192 + 8);
    expect(written(model, payloads).graph.initializers.map(({ name, external }) => [name, external])).toEqual(
      [
        ['w', { path: 'm.data', offset: 0, length: 128 }],
        ['b', { path: 'm.data', offset: 128, length: 32 }],
        ['small', { path: 'm.data', offset: 192, length: 8 }],
        ['s', undefined],
        ['none', undefined],
      ],
    );
  });

  test('stay initializers before operator set 9, which has no ConstantOfShape, and inputs are kept', () => {
    const { model, payloads } = read(
      'g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {...}> { y = Add (x, w) }'.replace(
        /^/,
        '<ir_version: 3, opset_import: ["" : 7]> ',
      ),
    );
    const again = fillWeights(model, payloads, { kind: 'zeros' });
    expect(written(again.model, again.payloads).graph).toMatchObject({
      inputs: [{ name: 'x' }, { name: 'w' }],
      initializers: [{ name: 'w', elements: [0, 0] }],
    });
  });
});
