/** The most that tensors hold at once, against PyTorch's own engine (`measured/live-peaks.csv`): every eighth network. */

import { expect, test } from 'vitest';
import { judgeLivePeaks, livePeaks } from '../../scripts/validate/peaks.ts';
import { openGraph } from '../support/savedActivations.ts';
import { hasSharedModels } from '../support/sharedModels.ts';

const drawn = livePeaks('measured').filter((_, index) => index % 8 === 0);

test.runIf(hasSharedModels).each(drawn)('$model, $batch images: within 5 %', (row) => {
  const judged = judgeLivePeaks([row], (path) => openGraph(path.replace('shared:models/', 'shared/')));
  expect(Math.abs((judged?.[0]?.ratio ?? 0) - 1)).toBeLessThan(0.05);
});

test.skipIf(hasSharedModels)('networks of timm are not judged: ../shared is absent', () => {
  expect(hasSharedModels).toBe(false);
});
