/** The tests that `npm run mutants` names, by environment: Stryker starts vitest in processes of its own. */

import { defineConfig } from 'vitest/config';
import all from '../../vitest.config.mts';

export default defineConfig({
  test: { ...all.test, include: (process.env.MUTANT_TESTS ?? 'test/**/*.test.ts').split(',') },
});
