/** What `run.mjs` found or installed: paths of the browser, the editors and the extension. */

import { readFileSync } from 'node:fs';

export interface Setting {
  readonly chromium: string;
  /** Folder for what a failed scenario leaves. */
  readonly failures: string;
  readonly package: string;
  /** The content of the package. */
  readonly unpacked: string;
  readonly webEditor?: string;
  readonly codeServer?: string;
  /** A Python that has torch. */
  readonly python?: string;
}

export function readSetting(): Setting {
  const path = process.env.LAYERCOST_E2E;
  if (!path) throw new Error('the editor tests are started by npm run e2e, which brings the editors');
  return JSON.parse(readFileSync(path, 'utf8'));
}
