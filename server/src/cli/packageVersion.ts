/** The version that the manifest states, which lies beside `dist/` in a clone and in an installed package alike. */

import { createRequire } from 'node:module';

export function packageVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('../package.json');
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown';
}
