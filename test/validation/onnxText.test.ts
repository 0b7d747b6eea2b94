/**
 * Binary models and the text ONNX's own printer (1.23.1) makes of them, 1,811 pairs: the text becomes the binary again,
 * and so does the text that a conversion writes.
 */

import { expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { fillWeights } from '../../server/src/formats/onnx/fillWeights.ts';
import type { Payload } from '../../server/src/formats/onnx/payload.ts';
import { readOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import type { OnnxModel } from '../../server/src/formats/onnx/syntax.ts';
import { writeOnnx } from '../../server/src/formats/onnx/writeOnnx.ts';
import { fileLimits } from '../../server/src/formats/onnx-text/printLimits.ts';
import { printOnnxText } from '../../server/src/formats/onnx-text/printOnnxText.ts';
import { readOnnxText } from '../../server/src/formats/onnx-text/readOnnxText.ts';
import type { TensorLiteral } from '../../server/src/model/attribute.ts';
import { comparable } from '../formats/onnx-text/comparable.ts';
import { hasSharedModels, readShared, sharedModels, sharedTestName } from '../support/sharedModels.ts';

/** The model that `text` becomes as a binary file, read back; tensors without contents are zeros then. */
function throughBinary(text: string): { readonly model: OnnxModel; readonly filled: number } {
  const payloads = new Map<TensorLiteral, Payload>();
  const { model, issues } = readOnnxText(text, payloads);
  if (model === undefined) throw new Error(issues[0]?.message);
  const whole = fillWeights(model, payloads, { kind: 'zeros' });
  const { bytes, issues: unwritten } = writeOnnx(whole.model, whole.payloads);
  if (bytes === undefined) throw new Error(unwritten[0]?.message);
  const read = readOnnx(byteSourceOfBuffer(bytes));
  if (read.model === undefined) throw new Error(read.issues[0]?.message);
  return { model: read.model, filled: whole.filled };
}

function check(path: string, reference: string): 'whole' | 'with holes' {
  const binary = readShared(path);
  const expected = comparable(binary);
  expect(comparable(throughBinary(reference).model), path).toEqual(expected);
  const { model } = readOnnx(byteSourceOfBuffer(binary));
  if (model === undefined) throw new Error(`${path} was not read`);
  const printed = printOnnxText(model, fileLimits);
  const { model: again, filled } = throughBinary(printed.text);
  // What is elided comes back as zeros, made by nodes of their own.
  if (filled === 0) expect(comparable(again), path).toEqual(expected);
  expect(filled > 0, path).toBe(printed.elided > 0);
  return filled === 0 ? 'whole' : 'with holes';
}

test(sharedTestName('every node model comes back from its text'), () => {
  if (!hasSharedModels) return;
  const texts: unknown = JSON.parse(new TextDecoder().decode(readShared('onnx-text/printed_node.json')));
  const entries = Object.entries(texts ?? {});
  const whole = entries.filter(
    ([name, text]) => check(`onnx-node/${name}/model.onnx`, String(text)) === 'whole',
  );
  expect(entries).toHaveLength(1802);
  expect(whole.length).toBeGreaterThanOrEqual(1801);
}, 60_000);

test(sharedTestName('so do whole networks'), () => {
  for (const path of sharedModels('onnx-light')) {
    const text = readShared(`onnx-text/printed/${path.replace('/', '__').replace('.onnx', '.onnxtxt')}`);
    check(path, new TextDecoder().decode(text));
  }
}, 60_000);
