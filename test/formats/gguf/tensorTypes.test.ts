/** Bytes of blocks as gguf-py adds them up (ggml-org/llama.cpp, gguf-py/gguf/constants.py, `GGML_QUANT_SIZES`, with QK_K = 256). */

import { expect, test } from 'vitest';
import { tensorTypes } from '../../../server/src/formats/gguf/tensorTypes.ts';

const K = 256;

/** Elements of a block, and its parts: scales, then bits of the elements. */
const blocks: Readonly<Record<string, readonly [elements: number, ...parts: readonly number[]]>> = {
  ...{ F32: [1, 4], F16: [1, 2], BF16: [1, 2], F64: [1, 8] },
  ...{ I8: [1, 1], I16: [1, 2], I32: [1, 4], I64: [1, 8] },
  ...{
    Q4_0: [32, 2, 16],
    Q4_1: [32, 2, 2, 16],
    Q5_0: [32, 2, 4, 16],
    Q5_1: [32, 2, 2, 4, 16],
    Q8_0: [32, 2, 32],
  },
  Q2_K: [K, 2, 2, K / 16, K / 4],
  Q3_K: [K, 2, K / 4, K / 8, 12],
  Q4_K: [K, 2, 2, K / 2, 12],
  Q5_K: [K, 2, 2, K / 2, K / 8, 12],
  Q6_K: [K, 2, K / 2, K / 4, K / 16],
  Q8_K: [K, 4, K, K / 8],
  IQ2_XXS: [K, 2, K / 4],
  IQ2_XS: [K, 2, K / 4, K / 32],
  IQ2_S: [K, 2, K / 4, K / 16],
  IQ3_XXS: [K, 2, K / 4, K / 8],
  IQ3_S: [K, 2, K / 4, K / 8, K / 32, 4],
  IQ1_S: [K, 2, K / 8, K / 16],
  IQ1_M: [K, K / 8, K / 16, K / 32],
  IQ4_NL: [32, 2, 16],
  IQ4_XS: [K, 2, 2, K / 2, K / 64],
  TQ1_0: [K, 2, 4 * 13],
  TQ2_0: [K, 2, 64],
  MXFP4: [32, 1, 16],
  NVFP4: [64, 4, 32],
  Q1_0: [128, 2, 16],
};

test.each([...tensorTypes.values()].map((type) => [type.name, type] as const))('%s', (name, type) => {
  const [elements, ...parts] = blocks[name] ?? [];
  expect([type.blockElements, type.blockBytes]).toEqual([
    elements,
    parts.reduce((sum, part) => sum + part, 0),
  ]);
});

test('every type of a block is known, each by a number of its own', () => {
  expect([...tensorTypes.values()].map(({ name }) => name).sort()).toEqual(Object.keys(blocks).sort());
});
