/** Saved activations against what autograd keeps (`measured/saved-activations.csv`): within 3 %. */

import { describe, expect, test } from 'vitest';
import { savedBytesOf, savedRows } from '../support/savedActivations.ts';
import { hasSharedModels } from '../support/sharedModels.ts';

describe('saved activations are those of autograd', () => {
  for (const row of savedRows()) {
    const runs = hasSharedModels || !row.graph.startsWith('shared/');
    test.runIf(runs)(`${row.model}: ${row.graph}`, () => {
      const ratio = savedBytesOf(row) / row.bytes;
      expect(Math.abs(ratio - 1), `${(ratio * 100 - 100).toFixed(2)} %`).toBeLessThan(0.03);
    });
  }
});
