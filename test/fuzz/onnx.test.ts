/** Reading, sniffing and printing take any bytes: they never throw, never hang, and answer in one of two ways. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import { printOnnxText } from '../../server/src/formats/onnx-text/printOnnxText.ts';
import { printQualifiedPart } from '../../server/src/formats/onnx-text/printType.ts';
import { sniffFormat } from '../../server/src/formats/sniffFormat.ts';
import { encodeModel } from '../support/onnxBytes.ts';
import { readShared, sharedModels, sharedTestName } from '../support/sharedModels.ts';

/** Reads and prints; the answer is a model, or exactly one error. */
function check(bytes: Uint8Array): void {
  const source = byteSourceOfBuffer(bytes);
  expect(sniffFormat(source, 'model.onnx').reason).not.toBe('');
  const { model, issues } = readOnnx(source);
  if (model === undefined) {
    expect(issues).toHaveLength(1);
    expect(issues[0]?.severity).toBe('error');
    return;
  }
  const printed = printOnnxText(model);
  const lines = printed.text.split('\n');
  expect(printed.nodeLines).toHaveLength(model.graph.nodes.length);
  for (const [index, node] of printed.nodes.entries()) {
    const type = lines[node.bodyLine]?.slice(node.type.start, node.type.end);
    expect(type).toContain(printQualifiedPart(model.graph.nodes[index]?.type ?? ''));
  }
}

const seed = encodeModel({
  metadata: { key: 'value' },
  graph: {
    inputs: { x: 'float[N,3]' },
    outputs: { y: 'seq(optional(float[N]))' },
    initializers: [
      { name: 'w', type: 'float[3,4]', raw: new Uint8Array(48) },
      { name: 's', type: 'int64[3]', elements: [1, -2, 300] },
      { name: 'e', type: 'float[9]', external: { location: 'a', offset: '1', length: '2' } },
    ],
    nodes: [
      { type: 'Gemm', inputs: ['x', 'w'], outputs: ['h'], attributes: { alpha: { float: 1 }, transB: 1 } },
      {
        type: 'If',
        inputs: ['h'],
        outputs: ['y'],
        attributes: { then_branch: { graph: { nodes: [{ type: 'A' }] } } },
      },
    ],
  },
  functions: [{ name: 'f', nodes: [{ type: 'B' }], defaults: { k: [1, 2] } }],
});

/** Replaces, inserts, removes or repeats a few bytes. */
function mutate(bytes: Uint8Array, edits: readonly (readonly [number, number, number])[]): Uint8Array {
  let mutated = [...bytes];
  for (const [place, kind, value] of edits) {
    const index = mutated.length === 0 ? 0 : place % mutated.length;
    if (kind === 0) mutated[index] = value;
    else if (kind === 1) mutated.splice(index, 0, value);
    else if (kind === 2) mutated.splice(index, (value % 8) + 1);
    else mutated = [...mutated.slice(0, index + (value % 8)), ...mutated.slice(index)];
  }
  return Uint8Array.from(mutated);
}

const edits = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 255 })), {
  minLength: 1,
  maxLength: 6,
});

describe('any bytes', () => {
  test('random ones', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => check(bytes)),
      { numRuns: 2000 },
    );
  });

  test('random ones after a header that looks like a model', () => {
    const header = encodeModel({ graph: { nodes: [{ type: 'Relu' }] } });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => check(Uint8Array.from([...header, ...bytes]))),
      { numRuns: 2000 },
    );
  });

  test('a model with a few bytes changed', () => {
    fc.assert(
      fc.property(edits, (list) => check(mutate(seed, list))),
      { numRuns: 5000 },
    );
  });

  test('a model cut anywhere', () => {
    for (let length = 0; length <= seed.length; length++) check(seed.subarray(0, length));
  });
});

test(sharedTestName('real models with a few bytes changed'), () => {
  const models = sharedModels('onnx-light', 'onnx-pytorch-converted', 'onnx-simple').map(readShared);
  if (models.length === 0) return;
  const deadline = Date.now() + 3000;
  fc.assert(
    fc.property(fc.nat(models.length - 1), edits, (index, list) => {
      if (Date.now() > deadline) return;
      const bytes = Uint8Array.from(models[index] ?? []);
      for (const [place, , value] of list) bytes[place % bytes.length] = value;
      check(bytes);
    }),
    { numRuns: 2000 },
  );
});
