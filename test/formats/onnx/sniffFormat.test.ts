import { expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { sniffFormat } from '../../../server/src/formats/sniffFormat.ts';
import { encodeModel } from '../../support/onnxBytes.ts';
import { hasSharedModels, readShared, sharedModels, sharedTestName } from '../../support/sharedModels.ts';

const text = (content: string): Uint8Array => new TextEncoder().encode(content);
/** As editors on Windows save it, with its mark. */
function utf16(content: string, littleEndian: boolean): Uint8Array {
  const view = new DataView(new ArrayBuffer(2 * content.length + 2));
  view.setUint16(0, 0xfeff, littleEndian);
  for (let index = 0; index < content.length; index += 1)
    view.setUint16(2 * index + 2, content.charCodeAt(index), littleEndian);
  return new Uint8Array(view.buffer);
}
const model = encodeModel({ graph: {} });

test.each([
  ['an ONNX model, whatever its name', model, 'model.layers.yaml', 'onnx'],
  ['binary that is not ONNX', Uint8Array.of(1, 2, 3), 'model.bin', 'onnx'],
  [
    'ONNX text',
    text('<\n  ir_version: 8,\n  opset_import: ["" : 17]\n>\nagraph () => () {}'),
    'x.yaml',
    'onnx-text',
  ],
  ['ONNX text on one line', text('<ir_version: 7>g () => () {}'), '', 'onnx-text'],
  ['ONNX text without header', text('agraph (float[N] X) => (float[N] Y) { Y = Relu(X) }'), '', 'onnx-text'],
  ['ONNX text after a comment', text('# a model\n\n<ir_version: 7>\ng () => () {}'), '', 'onnx-text'],
  [
    'ONNX text with a control character in a name',
    text('<ir_version: 7>\ng () => (y) { y = Re\u0016lu () }'),
    '',
    'onnx-text',
  ],
  [
    'a layer spec',
    text('# GPT\nname: gpt2\ndims: { d: 768 }\nlayers:\n  - x: GELU()\n'),
    'a.onnx',
    'layer-spec',
  ],
  ['a layer spec of layers alone', text('layers:\n  - x: GELU()\n'), 'net.yaml', 'layer-spec'],
  [
    'a layer spec whose name is quoted',
    text('name: "net"\n\nlayers:\n  - x: GELU()\n'),
    'untitled',
    'layer-spec',
  ],
  ['a Caffe net on one line', text('name: "n" layers { name: "a" }\n'), '', 'prototxt'],
  ['a layer spec being typed', text('inputs:\n'), 'untitled', 'layer-spec'],
  [
    'an input called input',
    text('inputs:\n  input: float32[4, 8]\nlayers:\n  - fc: Linear(4)\n'),
    '',
    'layer-spec',
  ],
  [
    'an input called input, in quotes, below a name',
    text('name: "net.onnx"\n\ninputs:\n  input: "float32[4, 8]"\n'),
    '',
    'layer-spec',
  ],
  [
    'a Caffe net with an input alone',
    text('input: "data"\ninput_shape { dim: 1 }\nlayer {\n'),
    '',
    'prototxt',
  ],
  ['a Caffe net', text('name: "AlexNet"\nlayer {\n  name: "data"\n'), 'x.txt', 'prototxt'],
  ['a Caffe net with colons', text('# a comment\n\nlayer: {\n  name: "data"\n'), 'x.txt', 'prototxt'],
  ['a Caffe net with spaces in front', text('name: "a"\n  layer {\n'), 'x.txt', 'prototxt'],
  ['a Caffe solver by its name', text('net: "train_val.prototxt"\n'), 'solver.prototxt', 'prototxt'],
  ['an old Caffe net', text('layers {\n  type: CONVOLUTION\n'), '', 'prototxt'],
  ['a Caffe net with inputs', text('name: "CaffeNet"\ninput: "data"\ninput_dim: 10\n'), '', 'prototxt'],
  [
    'a Caffe net with a very long name',
    text(`name: "${'a'.repeat(8_000_000)}"\nlayer {\n`),
    'x.txt',
    'prototxt',
  ],
  [
    'a configuration of Triton',
    text(
      'name: "resnet"\nplatform: "onnxruntime_onnx"\nmax_batch_size: 8\ninput [ { name: "x" dims: [ 3 ] } ]\n',
    ),
    'config.pbtxt',
    undefined,
  ],
  ['a configuration of Triton by its backend', text('backend: "onnxruntime"\n'), 'config.pbtxt', undefined],
  ['an empty spec by its name', text(''), 'new.layers.yaml', 'layer-spec'],
  ['an unclear text by its name', text('hello\n'), 'new.layers.yml', 'layer-spec'],
  ['prose', text('Dear reader,\n'), 'letter.txt', undefined],
  ['JSON', text('{"layers": []}'), 'net.json', undefined],
  ['a web page', text('<!DOCTYPE html>'), 'resnet50.onnx', undefined],
  [
    'ONNX as protobuf text',
    text('ir_version: 7\nproducer_name: "x"\ngraph {\n}'),
    'a.prototxt',
    'onnx-protobuf-text',
  ],
  ['the same on one line', text('# model\ngraph { name: "g" } ir_version: 7'), '', 'onnx-protobuf-text'],
  ['the same with operator sets first', text('opset_import {\n  version: 9\n}\n'), '', 'onnx-protobuf-text'],
  ['an unclear one by its name', text('stuff\n'), 'a.onnx.prototxt', 'onnx-protobuf-text'],
  ['ONNX as JSON', text('{\n  "irVersion": "8",\n  "graph": {}\n}'), 'net.json', 'onnx-json'],
  ['the same with the names of the proto', text('{"opset_import": [{"version": 9}]}'), '', 'onnx-json'],
  ['UTF-16 of little ends', utf16('layers:\n  - x: GELU()\n', true), 'a', 'layer-spec'],
  ['UTF-16 of big ends', utf16('ir_version: 7\ngraph {}', false), 'a', 'onnx-protobuf-text'],
  ['UTF-16 without a mark', utf16('layers:\n  - x: GELU()\n', true).subarray(2), 'a.layers.yaml', undefined],
  ['line ends of Windows', text('# a\r\nlayers:\r\n  - x: GELU()\r\n'), 'a', 'layer-spec'],
  ['a mark of UTF-8', text('\ufeffir_version: 7\r\ngraph {}'), 'a', 'onnx-protobuf-text'],
  ['ONNX text of Windows', text('\ufeff<\r\nir_version: 8>\r\ng () => () {}'), 'a', 'onnx-text'],
  ['JSON of Windows', text('\ufeff{\r\n"irVersion": "8"}'), 'a', 'onnx-json'],
  ['a Caffe net of Windows', text('\ufeffname: "a"\r\nlayer {\r\n'), 'a', 'prototxt'],
  ['a TensorFlow graph', text('node {\n  name: "x"\n  op: "Placeholder"\n}\n'), 'a.pbtxt', undefined],
  ['a frozen TensorFlow graph', text('\n\u0005\u0001x\u0012\u0000'), 'a.pb', undefined],
  ['an OpenVINO model', text('<?xml version="1.0"?>\n<net name="a">'), 'a.xml', undefined],
  ['an empty zip archive', text('PK\u0005\u0006\u0000'), 'a.onnx', undefined],
  ['a pickle', Uint8Array.of(0x80, 5, 0x95), 'a.onnx', undefined],
  ['gzip', Uint8Array.of(0x1f, 0x8b, 8, 0), 'model.onnx', undefined],
])('%s', (_, bytes, name, format) => {
  const sniffed = sniffFormat(byteSourceOfBuffer(bytes), name);
  expect(sniffed.format).toBe(format);
  expect(sniffed.reason).toMatch(/^[A-Z].*[^.]$/);
});

test(sharedTestName('every ONNX model of the corpus is one'), () => {
  const wrong = sharedModels('onnx-light', 'onnx-simple', 'onnx-pytorch-converted', 'torch-export').filter(
    (path) => sniffFormat(byteSourceOfBuffer(readShared(path)), '').format !== 'onnx',
  );
  expect(wrong).toEqual([]);
});

test(sharedTestName('every ONNX text of the corpus is one'), () => {
  if (!hasSharedModels) return;
  const folder = 'onnx-text/printed/onnx-light__light_';
  for (const name of ['bvlc_alexnet', 'resnet50', 'vgg19']) {
    expect(sniffFormat(byteSourceOfBuffer(readShared(`${folder}${name}.onnxtxt`)), '').format).toBe(
      'onnx-text',
    );
  }
});

test.each([
  ['train.py', '"""A model."""\n\nclass Net:\n    pass\n', 'a Python script'],
  ['notes', '# a model\nimport torch\nfrom torch import nn\n', 'a Python script'],
  ['model.ipynb', '{\n "cells": [],\n "nbformat": 4\n}', 'a notebook'],
])('%s is named for what it is', (name, text, what) => {
  const { format, reason } = sniffFormat(byteSourceOfBuffer(Buffer.from(text)), name);
  expect(format).toBeUndefined();
  expect(reason).toContain(`The file is ${what}`);
});
