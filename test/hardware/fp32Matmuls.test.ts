/**
 * Large products in fp32, TFLOP/s as measured (zzc0721/torch-performance-test-data, database.md), beside what is predicted.
 * No curve of these GPUs is of fp32: A100's stands for it, with what their lanes reach.
 */

import { expect, test } from 'vitest';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { kernelTime } from '../../server/src/hardware/kernelTime.ts';
import { matmulWork } from '../support/matmulWork.ts';

const side = 8192;

test.each([
  ['a100-sxm-80gb', 19.2],
  ['a800-sxm-80gb', 19.1],
  ['rtx-3090', 24.8],
  ['rtx-a6000', 23.9],
  ['rtx-4090', 54.7],
  ['l40s', 46.9],
  ['rtx-5090', 67.6],
  ['rtx-pro-6000-server', 77],
  ['h100-sxm', 52.1],
  ['h200-sxm', 51.3],
  ['h20', 32],
  ['b200', 66.2],
])('%s multiplies large matrices at %d TFLOP/s in fp32', (name, measured) => {
  const gpu = findGpu(name);
  if (gpu === undefined) throw new Error(`no GPU ${name}`);
  const { time } = kernelTime(gpu, matmulWork({ layout: 'nn', m: side, n: side, k: side }, 'fp32'));
  expect(Math.abs((2 * side ** 3) / time / 1e12 / measured - 1)).toBeLessThan(0.1);
});
