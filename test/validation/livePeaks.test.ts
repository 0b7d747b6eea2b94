/**
 * The most that tensors hold at once, against PyTorch's own engine (`measured/live-peaks.csv`): every eighth network, and
 * those that show one rule best.
 */

import { expect, test } from 'vitest';
import { judgeLivePeaks, livePeaks } from '../../scripts/validate/peaks.ts';
import { openGraph } from '../support/savedActivations.ts';
import { hasSharedModels } from '../support/sharedModels.ts';

const showing: readonly string[] = [
  // What a row of stages was given is held through all of them.
  'convnext_nano_ols',
  // A product writes out a table that was expanded, and keeps it.
  'convit_tiny',
  // A bias put together from parts is cast with its product.
  'swinv2_base_window12to16_192to256_22kft1k',
  // A model that casts by hand shows it.
  'resnetv2_50d_evos',
  'regnetz_d8_evos',
  // Padding by reflection keeps its input as it lies.
  'resnetblur50',
];

const drawn = livePeaks('measured').filter(
  ({ model = '' }, index) => index % 8 === 0 || showing.includes(model),
);

test.runIf(hasSharedModels).each(drawn)('$model, $batch images: within 3 %', (row) => {
  const judged = judgeLivePeaks([row], (path) => openGraph(path.replace('shared:models/', 'shared/')));
  expect(Math.abs((judged?.[0]?.ratio ?? 0) - 1)).toBeLessThan(0.03);
});

test.skipIf(hasSharedModels)('networks of timm are not judged: ../shared is absent', () => {
  expect(hasSharedModels).toBe(false);
});
