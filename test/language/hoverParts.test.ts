/** Figures of a hover that depend on how the step is run. */

import { expect, it, test } from 'vitest';
import { hoverLine } from '../../server/src/language/hover.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { viewOf } from './fixture.ts';

const spec = `inputs:
  x: float32[batch, 64, 512]
layers:
  - h: TransformerEncoderLayer(512, 8, batch_first=True) * 8
`;

const hoverOf = (request: ScenarioRequest): string => hoverLine(viewOf(spec, request), 3);

test.each([
  [{ cluster: 'dgx-h100', gpus: 8, batch: 64 }, /of the step$/, 'over 8 GPUs'],
  // Layers of stages take time at once: they add up to more than the step.
  [
    { cluster: 'dgx-h100', gpus: 8, batch: 64, parallel: { pipeline: 4 } },
    /^h\S* · .* 100 % of all layers$/,
    'over 2 GPUs',
  ],
  [{ cluster: 'dgx-h100', gpus: 8, batch: 64, parallel: { tensor: 2 } }, /of the step$/, 'over 4 GPUs'],
] as const)('in %j', (request, title, sharers) => {
  const text = hoverOf(request);
  expect(text.split('\n')[1]).toMatch(title);
  expect(text).toContain(sharers);
});

it('has no backward in inference', () => {
  const text = hoverOf({ cluster: 'dgx-h100', gpus: 1, batch: 64, mode: 'inference' });
  expect(text).toContain('forward');
  expect(text).not.toMatch(/backward|0 FLOP|saves no activations/);
});

test.each([1, 64])('no line is wider than the block: %i samples', (batch) => {
  const lines = hoverOf({ cluster: 'g5-48xlarge', gpus: 64, batch }).split('\n');
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(70);
});

it('doubts no time of nothing', () => {
  const text = hoverLine(
    viewOf('inputs:\n  x: float32[batch, 8]\nlayers:\n  - w: Parameter(batch, 8)\n  - s: add(w, x)\n'),
    3,
  );
  expect(text).not.toContain('± 0 %');
});
