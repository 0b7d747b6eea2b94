/** Model files that lie beside the project, at `../shared/models`, and may be absent. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

const root = new URL('../../../shared/models/', import.meta.url);

export const hasSharedModels = existsSync(root);

/** Paths below `../shared/models` of the `.onnx` and `.onnx.gz` files in these folders; none where it is absent. */
export function sharedModels(...folders: readonly string[]): readonly string[] {
  return sharedFiles(/\.onnx(\.gz)?$/, ...folders);
}

/** Paths below `../shared/models` of the files in these folders whose names match; none where it is absent. */
export function sharedFiles(name: RegExp, ...folders: readonly string[]): readonly string[] {
  if (!hasSharedModels) return [];
  return folders.flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
      .filter((path) => name.test(path))
      .sort()
      .map((path) => `${folder}/${path}`),
  );
}

/** The bytes of a file below `../shared/models`, unpacked. */
export function readShared(path: string): Uint8Array {
  const bytes = readFileSync(fileURLToPath(new URL(path, root)));
  return path.endsWith('.gz') ? gunzipSync(bytes) : bytes;
}

/** The name of a test that needs `../shared/models`, saying so where it is absent. */
export const sharedTestName = (name: string): string =>
  hasSharedModels ? name : `${name} (not checked: ../shared/models is absent)`;
