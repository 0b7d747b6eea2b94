import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/e2e/**', 'test/bench/**', 'node_modules/**'],
    // What the editor gives its extensions exists nowhere else.
    alias: { vscode: fileURLToPath(new URL('test/client/vscode.ts', import.meta.url)) },
    setupFiles: ['test/support/seed.ts'],
    testTimeout: 30_000,
    maxWorkers: 2,
  },
});
