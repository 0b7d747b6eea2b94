import { expect, test } from 'vitest';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { kernelTime } from '../../server/src/hardware/kernelTime.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import { describeOrigin } from '../../server/src/hardware/timeOrigin.ts';
import { bytes, flops } from '../../server/src/model/units.ts';

const copy: KernelWork = {
  class: 'elementwise',
  dtype: 'fp32',
  flops: flops(0),
  operations: 0,
  bytes: bytes(1e9),
  launches: 1,
};
const mixed = { layout: 'channels-last', mixed: true } as const;

test.each([
  ['v100-pcie-32gb', copy, /^curves of V100 PCIe 32 GB, \d+ rows$/],
  ['v100-sxm2-16gb', copy, /^curves of V100 PCIe 32 GB, \d+ rows$/],
  ['rtx-3090', { ...copy, environment: mixed }, /^curves of RTX 3090, steps of \d+ models$/],
  // An A100 is nearer to another than an RTX 3090, though all are Ampere, and so is an A40 to an A10.
  ['a100-sxm-40gb', { ...copy, environment: mixed }, /^curves of A100 PCIe 80 GB, \d+ rows$/],
  ['a10', { ...copy, environment: mixed }, /^curves of A40, \d+ rows$/],
  ['rtx-4090', { ...copy, environment: mixed }, /^curves of RTX 3090, steps of \d+ models$/],
  ['v100-pcie-32gb', { ...copy, class: 'pooling' } as const, /^roofline of V100 PCIe 32 GB$/],
])('where times on %s come from', (name, work, expected) => {
  const gpu = findGpu(name);
  if (gpu === undefined) throw new Error(name);
  expect(describeOrigin(gpu, kernelTime(gpu, work).origin)).toMatch(expected);
});
