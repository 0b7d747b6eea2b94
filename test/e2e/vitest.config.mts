import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/e2e/*.test.ts'],
    // One editor at a time: two on two cores would only wait for each other.
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
