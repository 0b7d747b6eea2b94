/** Headers of safetensors files: what is read, and that no header harms. */

import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readSafetensors } from '../../../server/src/formats/safetensors/readSafetensors.ts';
import { safetensorsOf } from '../../support/safetensorsOf.ts';

const read = (bytes: Uint8Array) => readSafetensors(byteSourceOfBuffer(bytes));

test('tensors, without what describes the file', () => {
  const bytes = safetensorsOf({
    __metadata__: { format: 'pt' },
    weight: { dtype: 'BF16', shape: [2, 3], data_offsets: [0, 12] },
    bias: { dtype: 'F32', shape: [], data_offsets: [12, 16] },
    packed: { dtype: 'F4', shape: [8], data_offsets: [16, 20] },
  });
  expect(read(bytes)).toEqual({
    tensors: [
      { name: 'weight', elementType: 'BF16', shape: [2, 3], elements: 6, bytes: 12 },
      { name: 'bias', elementType: 'F32', shape: [], elements: 1, bytes: 4 },
      { name: 'packed', elementType: 'F4', shape: [8], elements: 8, bytes: 4 },
    ],
  });
});

const tensor = (change: object): Uint8Array =>
  safetensorsOf({ a: { dtype: 'F32', shape: [2], data_offsets: [0, 8], ...change } });

/** Source: huggingface/safetensors, safetensors/src/tensor.rs, `Dtype::bitsize`. */
test.each(
  Object.entries({
    ...{ BOOL: 1, U8: 1, I8: 1, F8_E4M3: 1, F8_E5M2: 1, F8_E8M0: 1 },
    ...{ I16: 2, U16: 2, F16: 2, BF16: 2, I32: 4, U32: 4, F32: 4 },
    ...{ F64: 8, I64: 8, U64: 8, C64: 8 },
  }),
)('an element of %s takes %i bytes, no more and no less', (dtype, width) => {
  const found = (bytes: number) =>
    read(safetensorsOf({ a: { dtype, shape: [3], data_offsets: [0, bytes] } }));
  expect(found(3 * width)).toMatchObject({ tensors: [{ elements: 3, bytes: 3 * width }] });
  for (const other of [3 * width - 1, 6 * width]) {
    expect(found(other)).toEqual({
      problem: `tensor \`a\` takes ${other} bytes, and its shape says ${3 * width}`,
    });
  }
});

test.each([
  ['nothing', new Uint8Array(3), 'it ends before the length of its header'],
  ['a header of exabytes', new Uint8Array(8).fill(255), 'its header says to be'],
  ['a cut header', tensor({}).slice(0, 20), 'it ends within its header'],
  ['no JSON', Uint8Array.from([1, 0, 0, 0, 0, 0, 0, 0, 0x7b]), 'its header is not valid JSON'],
  ['a list', Uint8Array.from([2, 0, 0, 0, 0, 0, 0, 0, 0x5b, 0x5d]), 'its header is not an object'],
  ['a number for a tensor', safetensorsOf({ a: 1 }), 'tensor `a` is not described by an object'],
  ['a negative size', tensor({ shape: [-2] }), 'tensor `a` has no `dtype`, or no `shape` of whole numbers'],
  ['no offsets', tensor({ data_offsets: [8] }), 'tensor `a` has no `data_offsets`'],
  ['offsets that go back', tensor({ data_offsets: [8, 0] }), 'tensor `a` has an impossible size'],
  ['a size beyond numbers', tensor({ shape: [2 ** 40, 2 ** 40] }), 'tensor `a` has an impossible size'],
  ['another shape', tensor({ shape: [3] }), 'tensor `a` takes 8 bytes, and its shape says 12'],
  ['cut tensors', tensor({}).slice(0, -1), 'its tensors take 8 bytes, and 7 follow its header'],
] as const)('%s', (_, bytes, problem) => {
  expect(read(bytes)).toEqual({ problem: expect.stringContaining(problem) });
});

it('no bytes behind a length break it', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), fc.json(), (noise, json) => {
      const text = new TextEncoder().encode(json);
      const length = new Uint8Array(8);
      new DataView(length.buffer).setBigUint64(0, BigInt(text.length), true);
      for (const bytes of [noise, Uint8Array.of(...length, ...text), Uint8Array.of(...length, ...noise)])
        expect(Object.keys(read(bytes))).toEqual([expect.stringMatching(/^(tensors|problem)$/)]);
    }),
  );
});
