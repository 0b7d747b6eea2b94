/** What activations keep for backward, in place and not, against autograd; what the graph does not show is said. */

import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';

/**
 * `saved_tensors_hooks` of PyTorch 2.13, `Conv2d(4, 4, 1)`, `BatchNorm2d(4)`, the activation and `Conv2d(4, 4, 1)` on
 * [2, 4, 32, 32] in fp32: storages in units of the input, with `inplace=False` and, where there is one, `inplace=True`.
 */
const kept: readonly { activation: string; plain: number; inPlace?: number }[] = [
  { activation: 'ReLU()', plain: 3, inPlace: 3 },
  { activation: 'ReLU6()', plain: 4, inPlace: 4 },
  { activation: 'Hardtanh()', plain: 4, inPlace: 4 },
  { activation: 'LeakyReLU()', plain: 4, inPlace: 3 },
  { activation: 'ELU()', plain: 4, inPlace: 3 },
  { activation: 'SELU()', plain: 4, inPlace: 3 },
  { activation: 'CELU()', plain: 4, inPlace: 3 },
  { activation: 'SiLU()', plain: 4, inPlace: 4 },
  { activation: 'Mish()', plain: 4, inPlace: 4 },
  { activation: 'Hardswish()', plain: 4, inPlace: 4 },
  { activation: 'Hardsigmoid()', plain: 4, inPlace: 4 },
  { activation: 'GELU()', plain: 4 },
  { activation: 'Sigmoid()', plain: 3 },
  { activation: 'Tanh()', plain: 3 },
  { activation: 'Softplus()', plain: 4 },
];

function costOf(activation: string, options: Readonly<Record<string, string>>) {
  const text = `inputs: { x: "float32[2, 4, 32, 32]" }\nlayers:\n  - a: Conv2d(4, kernel_size=1)\n  - b: BatchNorm2d()\n  - c: ${activation}\n  - d: Conv2d(4, kernel_size=1)\n`;
  const opened = openModel(byteSourceOfBuffer(Buffer.from(text)), 'm.layers.yaml');
  const { cost, issues } = estimateModel(opened, [
    {
      cluster: 'a100-sxm-80gb',
      precision: 'fp32',
      optimizer: 'none',
      framework: { name: 'pytorch-ddp', options },
    },
  ]);
  const units = (cost?.totals.memory.activations ?? Number.NaN) / (4 * 2 * 4 * 32 * 32);
  return { units, codes: issues.map(({ code }) => code) };
}

describe.each(kept)('$activation', ({ activation, plain, inPlace = plain }) => {
  test('keeps what autograd keeps', () => {
    expect(costOf(activation, {}).units).toBeCloseTo(plain, 1);
    expect(costOf(activation, { 'in-place': 'true' }).units).toBeCloseTo(inPlace, 1);
  });

  test('says where it matters that the graph does not show which', () => {
    expect(costOf(activation, {}).codes.includes('scenario/assumed-in-place')).toBe(plain !== inPlace);
    expect(costOf(activation, { 'in-place': 'false' }).codes).not.toContain('scenario/assumed-in-place');
  });
});
