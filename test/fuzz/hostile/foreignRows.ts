/** Files of other formats, opened by mistake: each is named, and what to do about it said. */

import { deflateRawSync, gzipSync } from 'node:zlib';
import { encodeModel, joinBytes, stringField, varintField } from '../../support/onnxBytes.ts';
import { bytes, type HostileInput, megabyte, megabyteOf, row, text } from './rows.ts';

const aModel = (): Uint8Array =>
  encodeModel({
    graph: { inputs: { x: 'float[2]' }, nodes: [{ type: 'Relu', inputs: ['x'], outputs: ['y'] }] },
  });

const after = (signature: string, rest: Uint8Array = new Uint8Array(200)): Uint8Array =>
  joinBytes([Uint8Array.from(signature, (letter) => letter.charCodeAt(0)), rest]);

/** A safetensors file: a length of eight bytes, a header of JSON, the payloads. */
function safetensors(header: string, announced: bigint = BigInt(header.length)): Uint8Array {
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, announced, true);
  return joinBytes([length, text(header), new Uint8Array(64)]);
}

export const foreignRows: readonly HostileInput[] = [
  bytes('a zip archive of nothing', () => after('PK\x05\x06')),
  bytes('a zip archive', () => after('PK\x03\x04', deflateRawSync(megabyteOf(1)))),
  bytes('a PyTorch file', () => after('PK\x03\x04\x00\x00\x08\x08\x00\x00archive/data.pkl')),
  bytes('gzip', () => gzipSync(aModel())),
  bytes('gzip that unpacks to much', () => gzipSync(new Uint8Array(2 ** 26))),
  bytes('gzip that ends too early', () => gzipSync(megabyteOf(1, 2, 3)).subarray(0, 100)),
  ...['\x80\x02', '\x80\x03', '\x80\x04\x95', '\x80\x05\x95'].map((signature) =>
    bytes(`a pickle that begins ${JSON.stringify(signature)}`, () =>
      after(signature, text('}q\x00(X\x0c\x00\x00\x00conv1.weight')),
    ),
  ),
  bytes('safetensors', () =>
    safetensors('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"format":"pt"}}'),
  ),
  bytes('safetensors of nothing', () => safetensors('{}      ')),
  bytes('safetensors longer than the file', () => safetensors('{"a":{}}', 2n ** 63n)),
  bytes('safetensors whose length looks like an IR version', () =>
    safetensors(`{"a":${megabyte(' ', 0x1200)}1}`),
  ),
  bytes('a GGUF file', () => after('GGUF\x03\x00\x00\x00')),
  bytes('an HDF5 file', () => after('\x89HDF\r\n\x1a\n')),
  bytes('a NumPy array', () => after('\x93NUMPY\x01\x00v\x00')),
  bytes('a TensorFlow Lite model', () => after('\x1c\x00\x00\x00TFL3')),
  bytes('a TensorFlow saved model', () =>
    joinBytes([varintField(1, 1), stringField(2, `\x0a${'graph'.repeat(50)}`)]),
  ),
  bytes('a TensorFlow frozen graph', () =>
    joinBytes([stringField(1, '\x0a\x05input\x12\x0bPlaceholder'), stringField(1, '\x0a\x01b\x12\x04Relu')]),
  ),
  bytes('a Caffe model', () => joinBytes([stringField(1, 'AlexNet'), stringField(100, '\x0a\x04data')])),
  bytes('a Core ML model', () =>
    joinBytes([varintField(1, 4), stringField(2, '\x0a\x00'), stringField(500, 'a')]),
  ),
  bytes('an ONNX Runtime model', () => after('\x1c\x00\x00\x00ORTM')),
  bytes('an ONNX tensor', () =>
    joinBytes([varintField(1, 3), varintField(2, 1), stringField(9, 'aaaaaaaaaaaa')]),
  ),
  bytes('a Git LFS pointer', () =>
    text('version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n'),
  ),
  bytes('an Xet pointer', () => text('# xet version 0\nfilesize = 1\nhash = "a"\n')),
  bytes('a web page', () => text('\n<!DOCTYPE html>\n<html><body>Not Found</body></html>')),
  bytes('an OpenVINO model', () =>
    text('<?xml version="1.0"?>\n<net name="a" version="11"><layers></layers></net>'),
  ),
  bytes('an answer of a web service', () => text('{"error":"Not Found"}')),
  bytes('a Keras model', () => text('{"class_name": "Sequential", "config": {"layers": []}}')),
  bytes('a Hugging Face configuration', () =>
    text('{"architectures": ["LlamaForCausalLM"], "hidden_size": 4096}'),
  ),
  bytes('a Python program', () => text('import torch\n\nclass Net(torch.nn.Module):\n    pass\n')),
  bytes('a C program', () => text('#include <stdio.h>\nint main(void) { return 0; }\n')),
  bytes('a table', () => text('layer,forward,backward\nconv1,1,2\n')),
  bytes('a page of Markdown', () => text('# Model\n\n- layers: 12\n')),
  bytes('a Darknet configuration', () => text('[net]\nbatch=1\n[convolutional]\nfilters=32\n')),
  row('a workflow', 'ci.yaml', () =>
    text('name: CI\non: push\njobs:\n  a:\n    steps:\n      - run: make\n'),
  ),
  row('a Caffe solver', 'solver.prototxt', () => text('net: "train.prototxt"\nbase_lr: 0.01\n')),
  row('a TensorFlow graph as text', 'graph.pbtxt', () =>
    text('node {\n  name: "x"\n  op: "Placeholder"\n  attr { key: "dtype" value { type: DT_FLOAT } }\n}\n'),
  ),
  row('a Triton configuration', 'config.pbtxt', () =>
    text(
      'name: "a"\nplatform: "onnxruntime_onnx"\ninput [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ]\n',
    ),
  ),
  row('an object detection pipeline', 'pipeline.config', () =>
    text('model {\n  ssd {\n    num_classes: 90\n  }\n}\n'),
  ),
];
