/**
 * Element-wise kernels that instructions bound: those that take elements one at a time, and those that compute or draw much for each.
 *
 * PyTorch 2.13 aten/src/ATen/native/cuda/CUDALoops.cuh, `gpu_kernel_impl`: vectors are loaded where all operands lie in the same order
 * and have one type; numbers are arguments of the kernel.
 */

import { expect, test } from 'vitest';
import type { Precision } from '../../server/src/model/scenario.ts';
import { kernelsOf } from '../support/kernelTable.ts';

/** What bounds the kernels of the last line, by pass: the words in brackets. */
function bounds(line: string, precision: Precision): readonly [forward: string, backward: string] {
  const layers = [
    'h: Linear(64, 64, bias=False) from x',
    'hh: Linear(64, 64, bias=False) from h',
    'n: LayerNorm(64)',
    'xt: transpose(x, 1, 2)',
    'ht: transpose(h, 1, 2)',
    'hs: transpose(ht, 1, 2)',
    'w: Parameter(64)',
    'one: Parameter(1)',
    'row: reshape(h, (batch, 1, 640))',
    'column: reshape(h, (batch, 640, 1))',
    'turned: transpose(row, 1, 2)',
    `out: ${line}`,
  ];
  const [, ...passes] =
    kernelsOf(['x: float32[batch, 10, 64]', 'y: float32[batch, 64, 10]'], layers, { precision })
      .at(-1)
      ?.split(' | ') ?? [];
  const wordsOf = (pass: string): string =>
    [...(passes.find((text) => text.startsWith(pass)) ?? '').matchAll(/\[(.*?)\]/g)]
      .map(([, word]) => word)
      .join(' ');
  return [wordsOf('F '), wordsOf('D ')];
}

test.each<[string, string, Precision, string, string]>([
  ['two tensors that lie alike', 'add(h, hh)', 'fp32', '', ''],
  ['one turned twice', 'add(h, hs)', 'fp32', '', ''],
  ['one that is transposed', 'add(ht, xt)', 'fp32', '', ''],
  ['one that is transposed and one that is not', 'add(ht, y)', 'fp32', 'strided', ''],
  ['axes of one element, whichever way they lie', 'add(column, turned)', 'fp32', '', ''],
  ['a vector that is repeated', 'add(h, w)', 'fp32', 'strided', ''],
  // The gradient of a factor is multiplied by the other, which is repeated again.
  ['a factor that is repeated', 'mul(h, w)', 'fp32', 'strided', 'strided'],
  ['a number', 'mul(h, 2)', 'fp32', '', ''],
  ['a number that is trained', 'mul(h, one)', 'fp32', '', ''],
  // Half precision and fp32 are read by one kernel, which casts as it loads.
  ['two types', 'add(h, x)', 'bf16', 'mixed', ''],
  ['two types, of which one is repeated', 'add(h, w)', 'bf16', 'mixed', ''],
  ['one type', 'add(h, hh)', 'bf16', '', ''],
  ['two types in fp32 mode', 'add(h, x)', 'fp32', '', ''],
  ['one operand', 'relu(h)', 'fp32', '', ''],
  // What computes much for each element.
  ['GELU', 'GELU() from h', 'bf16', 'gelu-forward', 'gelu-backward'],
  ['GELU by tanh', "GELU('tanh') from h", 'bf16', 'gelu-tanh-forward', 'gelu-tanh-backward'],
  ['SiLU', 'SiLU() from h', 'bf16', 'silu-forward', 'silu-backward'],
  // Dropout draws in forward, four numbers at a time where elements are narrow.
  ['dropout in bf16', 'Dropout(0.1) from h', 'bf16', 'dropout', ''],
  ['dropout in fp32', 'Dropout(0.1) from h', 'fp32', 'dropout-wide', ''],
  ['dropout of what is widened', 'Dropout(0.1) from n', 'bf16', 'dropout-wide', ''],
])('%s: %s in %s', (_, line, precision, forward, backward) => {
  expect(bounds(line, precision)).toEqual([forward, backward]);
});
