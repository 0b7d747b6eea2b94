/** Mixtures of experts have no counterpart in torch.nn: their counts follow from the papers. */

import { expect, it } from 'vitest';
import { costOfSpec, specOf } from './costOfSpec.ts';

const tokens = 2 * 32;
const [width, hidden] = [16, 64];
const router = 2 * tokens * width * 8;

it.each([
  // Every token runs through k experts of two or three matrices (Shazeer et al. 2017, eq. 2; Jiang et al. 2024, eq. 1).
  ['16, 64, 8, top_k=1', 8 * 2 * width * hidden, tokens * 2],
  ['16, 64, 8, top_k=2', 8 * 2 * width * hidden, 2 * tokens * 2],
  ['16, 64, 8, top_k=2, gated=True', 8 * 3 * width * hidden, 2 * tokens * 3],
  ['16, 64, 8, top_k=8, bias=True', 8 * (2 * width * hidden + width + hidden), 8 * tokens * 2],
  // Every expert computes ⌈tokens·k/experts·capacity⌉ rows (Fedus et al. 2021, eq. 3).
  ['16, 64, 8, top_k=1, capacity_factor=1', 8 * 2 * width * hidden, 8 * 8 * 2],
  ['16, 64, 8, top_k=1, capacity_factor=1.25', 8 * 2 * width * hidden, 8 * 10 * 2],
  ['16, 64, 8, top_k=1, capacity_factor=1.1', 8 * 2 * width * hidden, 8 * 9 * 2],
  ['16, 64, 8, top_k=2, capacity_factor=2, gated=True', 8 * 3 * width * hidden, 8 * 32 * 3],
  // No expert has more rows than there are tokens.
  ['16, 64, 8, top_k=2, capacity_factor=100', 8 * 2 * width * hidden, 8 * tokens * 2],
])('MixtureOfExperts(%s)', (given, parameters, products) => {
  const cost = costOfSpec(specOf({ x: 'float32[2, 32, 16]' }, `MixtureOfExperts(${given})`));
  expect(cost.problems).toEqual([]);
  expect(cost.shape).toBe('2×32×16');
  expect(cost.parameters).toBe(parameters + width * 8);
  expect(cost.flops.forward).toBe(router + 2 * products * width * hidden);
});

it('leaves the batch open', () => {
  for (const capacity of ['None', '1.25']) {
    const call = `MixtureOfExperts(16, 64, 8, capacity_factor=${capacity})`;
    const text = `dims: { batch: 2 }\n${specOf({ x: 'float32[batch, 32, 16]' }, call)}`;
    expect(costOfSpec(text)).toMatchObject({ shape: 'batch×32×16', problems: [] });
  }
});
