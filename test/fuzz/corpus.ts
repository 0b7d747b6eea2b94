/** Real files to change: the samples, and what lies at `../shared/models` where it is there. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readShared, sharedFiles } from '../support/sharedModels.ts';

export interface CorpusFile {
  readonly name: string;
  readonly kind: 'bytes' | 'text';
  read(): Uint8Array;
}

/** Longer files are left to the tests of large models. */
export const longestInput = 2 ** 20;

/** `samples` is the folder of the samples; files are read when they are asked for. */
export function corpusOf(samples: string): readonly CorpusFile[] {
  const own = readdirSync(samples)
    .filter((name) => /\.(onnx|yaml|prototxt)$/.test(name))
    .map((name) => fileOf(name, () => readFileSync(join(samples, name))));
  const shared = [
    ...sharedFiles(/\.onnx(\.gz)?$/, 'onnx-node', 'onnx-simple', 'onnx-light', 'onnx-pytorch-converted'),
    ...sharedFiles(/\.onnx(\.gz)?$/, 'onnx-pytorch-operator', 'onnxruntime-genai', 'onnxruntime-extensions'),
    ...sharedFiles(/\.onnx\.gz$/, 'torch-export', 'timm-train'),
    ...sharedFiles(/\.(onnxtxt|onnxtext)$/, 'onnx-text', 'onnx-mlir'),
    ...sharedFiles(/\.(prototxt|textproto|pbtxt)$/, 'ngraph-onnx-prototxt', 'ir-py-e2e', 'caffe-bvlc'),
  ].map((path) => fileOf(path, () => readShared(path)));
  return [...own, ...shared];
}

const fileOf = (name: string, read: () => Uint8Array): CorpusFile => ({
  name,
  kind: /\.onnx(\.gz)?$/.test(name) ? 'bytes' : 'text',
  read,
});
