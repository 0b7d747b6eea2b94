/** Protobuf text and JSON of whole models: files from elsewhere, and binary models written by `onnx-proto`. */

import { onnx } from 'onnx-proto';
import { describe, expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../../server/src/formats/onnx/readOnnx.ts';
import { readOnnxJson } from '../../../server/src/formats/onnx-json/readOnnxJson.ts';
import { readOnnxProtobufText } from '../../../server/src/formats/protobuf-text/readOnnxProtobufText.ts';
import { sniffFormat } from '../../../server/src/formats/sniffFormat.ts';
import { writeProtobufText } from '../../support/protobufText.ts';
import {
  hasSharedModels,
  readShared,
  sharedFiles,
  sharedModels,
  sharedTestName,
} from '../../support/sharedModels.ts';

test(sharedTestName('every model written as protobuf text reads, the one that must not is refused'), () => {
  if (!hasSharedModels) return;
  const paths = sharedFiles(/\.(prototxt|textproto)$/, 'ngraph-onnx-prototxt', 'ir-py-e2e');
  const refused: string[] = [];
  for (const path of paths) {
    const bytes = readShared(path);
    expect(sniffFormat(byteSourceOfBuffer(bytes), '').format, path).toBe('onnx-protobuf-text');
    const { model, issues } = readOnnxProtobufText(new TextDecoder().decode(bytes));
    if (model === undefined) refused.push(`${path}: ${issues.map(({ message }) => message).join()}`);
    else {
      expect(issues, path).toEqual([]);
      expect(model.irVersion, path).toBeGreaterThan(0);
      expect(model.graph.outputs.length, path).toBeGreaterThan(0);
    }
  }
  expect(paths).toHaveLength(234);
  expect(refused).toEqual([
    'ngraph-onnx-prototxt/filename.prototxt: `INT32` is not a value of `elem_type`, a number in ONNX: write 6',
  ]);
});

describe('what onnx-proto decodes reads as the binary does', () => {
  const forms: readonly (readonly [name: string, read: (model: onnx.ModelProto) => unknown])[] = [
    ['protobuf text', (model) => read(readOnnxProtobufText, textOf(model, 'usual'))],
    ['protobuf text in its other spellings', (model) => read(readOnnxProtobufText, textOf(model, 'compact'))],
    ['JSON', (model) => read(readOnnxJson, JSON.stringify(model.toJSON()))],
  ];
  test.each(forms)(sharedTestName('%s'), (_, readForm) => {
    const paths = sharedModels('onnx-node', 'onnx-pytorch-operator', 'onnx-simple');
    let compared = 0;
    for (const path of paths.filter((_path, index) => index % 3 === 0)) {
      const bytes = readShared(path);
      const theirs = onnx.ModelProto.decode(bytes);
      // `onnx-proto` drops what later versions added.
      if (Number(theirs.irVersion) > 8) continue;
      expect(readForm(theirs), path).toEqual(readOnnx(byteSourceOfBuffer(bytes)));
      compared += 1;
    }
    if (hasSharedModels) expect(compared).toBeGreaterThan(200);
  });
});

const textOf = (model: onnx.ModelProto, style: 'usual' | 'compact'): string =>
  writeProtobufText(onnx.ModelProto.toObject(model, { enums: String, longs: String }), style);

const read = (reader: typeof readOnnxJson, text: string): unknown => reader(text);
