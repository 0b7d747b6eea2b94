/** A short session of random edits and requests; `npm run fuzz` has longer ones, and watches memory. */

import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { fuzzServer } from './server.ts';

test('the language server answers whatever is edited and asked', async () => {
  const run = await fuzzServer({
    samples: fileURLToPath(new URL('../../samples', import.meta.url)),
    seed: 3,
    edits: 200,
    deadline: performance.now() + 4000,
  });
  expect(run.failures).toEqual([]);
  expect(run.edits).toBeGreaterThan(0);
}, 20_000);
