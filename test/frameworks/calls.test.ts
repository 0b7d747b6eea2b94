/**
 * Calls of PyTorch that launch several kernels, in three exports: `writeCalls.py` makes the files, and `saved.json` has what autograd
 * keeps. Launches are those of aten/src/ATen/native/Loss.cpp and transformers/attention.cpp of PyTorch 2.13, as its profiler lists them.
 */

import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';

const folder = 'test/frameworks/calls';
const saved: Readonly<Record<string, number>> = JSON.parse(readFileSync(`${folder}/saved.json`, 'utf8'));
const framework = { name: 'pytorch-ddp', options: {} };

const launchesOf = (kernels: readonly KernelWork[]): number =>
  kernels.reduce((sum, { launches }) => sum + launches, 0);

function costOf(file: string) {
  const opened = openModel(byteSourceOfBuffer(readFileSync(`${folder}/${file}`)), file);
  const { training, cost } = estimateModel(opened, [
    { cluster: 'a100-sxm-80gb', precision: 'fp32', optimizer: 'none', loss: 'none', framework },
  ]);
  if (training === undefined || cost === undefined) throw new Error(`${file} cannot be costed`);
  const { operators } = resolveFramework(framework).behaviour.lower(training, 'fp32', 'training');
  return {
    saved: cost.totals.memory.activations,
    forward: launchesOf(operators.flatMap((operator) => operator?.forward ?? [])),
    backward: launchesOf(
      operators.flatMap((operator) => [
        ...(operator?.backwardData ?? []),
        ...(operator?.backwardWeight ?? []),
      ]),
    ),
  };
}

/** Launches forward and backward; those of a linear layer are 1 and, with a gradient of what it reads, 3, else 2. */
const launches: Readonly<Record<string, readonly [number, number]>> = {
  // log_sigmoid, ones, sub_, mul_, sub_, mean; sigmoid, sub_, mul_, and div_ of the mean.
  scores: [1 + 6, 2 + 4],
  // Beside them sub, mul, add_ and mul_; mul, add, mul_ and sub_.
  weighted: [1 + 10, 2 + 8],
  // Two numbers are filled, `where` chooses, and attention is one kernel.
  masked: [4 + 4, 3 * 2 + 3 + 1],
  'one-head': [4 + 4, 3 * 2 + 3 + 1],
  // The mean and its maximum; zeros, and the gradient of one token is copied into them.
  chosen: [2 + 2, 2 + 2 + 3],
  // Seven linear layers, four activations and what the losses compute. Backward leaves out the target; four weights are read twice.
  judged: [7 + 4 + 6, 3 + 3 + (2 + 3) + 2 + 4 + 3 + (1 + 3 + 2)],
  // Zeros, which index_add copies and adds to; its gradient is an index_select.
  gathered: [2 + 1 + 3, 2 + 1 + 1 + 3],
  // Numbers at random, and what they multiply.
  slopes: [2 + 2, 2 + 1 + 3],
};

describe.each(Object.entries(launches))('%s', (name, [forward, backward]) => {
  const files = ['pt2', 'default.onnx', 'legacy.onnx'].map((form) => `${name}.${form}`);
  test.each(files.filter((file) => existsSync(`${folder}/${file}`)))('%s', (file) => {
    expect(costOf(file)).toEqual({ saved: saved[name], forward, backward });
  });
});
