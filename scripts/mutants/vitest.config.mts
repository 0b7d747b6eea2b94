/** The tests that `npm run mutants` names, by environment: Stryker starts vitest in processes of its own. */

import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: (process.env.MUTANT_TESTS ?? 'test/**/*.test.ts').split(','),
    testTimeout: 30_000,
    maxWorkers: 1,
  },
});
