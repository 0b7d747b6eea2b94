import { describe, expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../../server/src/formats/onnx/readOnnx.ts';
import {
  bytesField,
  encodeModel,
  joinBytes,
  stringField,
  tag,
  varint,
  varintField,
} from '../../support/onnxBytes.ts';

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));
const model = encodeModel({ graph: { nodes: [{ type: 'Relu', inputs: ['x'], outputs: ['y'] }] } });
const header = varintField(1, 8);

/** An `If` inside an `If`, again and again. */
function nestedGraphs(depth: number): Uint8Array {
  let graph: Uint8Array = new Uint8Array(0);
  for (let level = 0; level < depth; level++)
    graph = bytesField(1, joinBytes([stringField(4, 'If'), bytesField(5, bytesField(6, graph))]));
  return graph;
}

function nestedTypes(depth: number): Uint8Array {
  let type: Uint8Array = new Uint8Array(0);
  for (let level = 0; level < depth; level++) type = bytesField(4, bytesField(1, type));
  return type;
}

const table: [string, Uint8Array, string, string | RegExp][] = [
  ['nothing', new Uint8Array(0), 'file/empty', 'The file is empty'],
  ['random bytes', Uint8Array.of(0xff, 0x9c, 0x13, 0x55, 0xe1, 7, 8), 'file/not-a-model', /at byte 0 of 7/],
  ['HTML', ascii('<!DOCTYPE html>\n<html><head>'), 'file/not-a-model', 'a web page'],
  ['HTML after blank lines', ascii('\n\n  <html lang="en">'), 'file/not-a-model', 'a web page'],
  [
    'a PyTorch checkpoint',
    ascii('PK\x03\x04\x00\x00\x08\x08archive/data.pkl'),
    'file/not-a-model',
    /export the model with `layercost export` or `torch.onnx.export`/,
  ],
  [
    'an old PyTorch checkpoint',
    ascii('\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.'),
    'file/not-a-model',
    'pickle',
  ],
  ['gzip', ascii('\x1f\x8b\x08\x00\x00'), 'file/not-a-model', 'gunzip'],
  [
    'safetensors',
    ascii('\x40\x00\x00\x00\x00\x00\x00\x00{"__metadata__":{}}'),
    'file/not-a-model',
    /a safetensors file: .* open the `config.json` of the model, or export .* `layercost export`/,
  ],
  [
    'GGUF',
    ascii('GGUF\x03\x00\x00\x00'),
    'file/not-a-model',
    /a GGUF file: .* open the `config.json` of the model, or export .* `layercost export`/,
  ],
  [
    'a Git LFS pointer',
    ascii('version https://git-lfs.github.com/spec/v1\noid'),
    'file/not-a-model',
    'git lfs pull',
  ],
  ['HDF5', ascii('\x89HDF\r\n\x1a\n'), 'file/not-a-model', 'tf2onnx'],
  ['an ORT model', ascii('\x20\x00\x00\x00ORTM\x00'), 'file/not-a-model', '.onnx it was made from'],
  ['TensorFlow Lite', ascii('\x1c\x00\x00\x00TFL3'), 'file/not-a-model', 'TensorFlow Lite'],
  [
    'YAML',
    ascii('name: net\nlayers:\n  - fc: Linear(3, 4)\n'),
    'file/not-a-model',
    'The file is text, not a binary ONNX model',
  ],
  ['another protobuf message', stringField(3, 'hello'), 'file/not-a-model', 'no graph among its 1 fields'],
  ['a header alone', header, 'file/not-a-model', 'no graph among its 1 fields'],
  ['an empty graph alone', bytesField(7, new Uint8Array(0)), 'file/not-a-model', 'no graph'],
  [
    'a saved tensor (input_0.pb)',
    joinBytes([varintField(1, 3), varintField(2, 1), stringField(8, 'x'), bytesField(9, new Uint8Array(12))]),
    'file/not-a-model',
    /at byte \d+/,
  ],
  ['a model cut in half', model.subarray(0, 8), 'file/truncated', /at byte 2 of 8/],
  [
    'a number cut off',
    joinBytes([header, Uint8Array.of(0x28, 0x80)]),
    'file/truncated',
    'ends inside a value',
  ],
  ['field number 0', joinBytes([header, Uint8Array.of(0x00)]), 'file/corrupt', 'field number 0'],
  ['a group', joinBytes([header, tag(3, 3)]), 'file/not-a-model', /at byte 2|wire type/],
  ['an unknown group', joinBytes([header, tag(40, 3)]), 'file/corrupt', 'wire type 3'],
  [
    'a number of 11 bytes',
    joinBytes([header, Uint8Array.of(0x28), new Uint8Array(11).fill(0xff)]),
    'file/corrupt',
    '64 bits',
  ],
  [
    'a length past the enclosing message',
    joinBytes([header, bytesField(7, joinBytes([tag(1, 2), varint(99)])), varintField(5, 1)]),
    'file/corrupt',
    '99 bytes are announced, 0 are left at byte 4',
  ],
  [
    'a length of 2^64 − 1',
    joinBytes([header, tag(7, 2), varint(2n ** 64n - 1n)]),
    'file/truncated',
    'bytes are announced',
  ],
  [
    'graphs nested 1,000 deep',
    joinBytes([header, bytesField(7, nestedGraphs(1000))]),
    'file/corrupt',
    '100 deep',
  ],
  [
    'types nested 10,000 deep',
    joinBytes([header, bytesField(7, bytesField(11, bytesField(2, nestedTypes(10_000))))]),
    'file/corrupt',
    '100 deep',
  ],
];

describe('what is no model gives one error that says what, where and what to do', () => {
  test.each(table)('%s', (_, bytes, code, message) => {
    const result = readOnnx(byteSourceOfBuffer(bytes));
    expect(result.model).toBeUndefined();
    expect(result.issues).toHaveLength(1);
    expect(result.issues[0]).toMatchObject({ code, severity: 'error' });
    expect(result.issues[0]?.message).toMatch(message);
    expect(result.issues[0]?.message).toMatch(/: |, /);
    expect(result.issues[0]?.message).not.toMatch(/[.\n]$/);
  });
});

test('a small model cut at any byte gives a model or one error', () => {
  for (let length = 0; length < model.length; length++) {
    const result = readOnnx(byteSourceOfBuffer(model.subarray(0, length)));
    expect(result.model !== undefined || result.issues.length === 1).toBe(true);
    if (length > 2 && result.model === undefined) {
      expect(['file/truncated', 'file/not-a-model']).toContain(result.issues[0]?.code);
    }
  }
  expect(readOnnx(byteSourceOfBuffer(model)).issues).toEqual([]);
});

test('a file that shrinks while it is read is a truncated one', () => {
  const result = readOnnx({ size: model.length, read: (offset) => model.subarray(offset, 12) });
  expect(result.issues).toMatchObject([{ code: 'file/truncated' }]);
});

test('nesting that real models have is read', () => {
  const bytes = joinBytes([header, bytesField(7, nestedGraphs(40)), bytesField(8, varintField(2, 21))]);
  expect(readOnnx(byteSourceOfBuffer(bytes)).issues).toEqual([]);
});
