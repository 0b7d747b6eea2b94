/** Which frame of a stack trace carries the cost, and which recorded file an open one is. */

import type { PythonFrame } from '../../formats/stackTrace.ts';

/** The recorded path that a file has here: of those of its name the one that agrees with the most folders above it. */
export function recordedPath(recorded: Iterable<string>, path: string): string | undefined {
  let best: { readonly path: string; readonly common: number } | undefined;
  for (const each of recorded) {
    const common = commonEnd(each, path);
    if (common > 0 && (best === undefined || common > best.common)) best = { path: each, common };
  }
  return best?.path;
}

/**
 * The recorded paths that an open file may have: one, but for a cell of a notebook, each of which IPython ran as a file of its
 * own, named by its text (ipykernel/compiler.py, `get_file_name`; `<ipython-input-…>` before version 6).
 */
export function recordedPaths(recorded: Iterable<string>, path: string): readonly string[] {
  if (path.endsWith('.ipynb')) return [...recorded].filter((each) => isCell.test(each));
  const found = recordedPath(recorded, path);
  return found === undefined ? [] : [found];
}

const isCell = /[\\/]ipykernel_\d+[\\/]\d+\.py$|ipython-input-/;

/** How many parts at their ends are the same: 1 is the name of the file. */
function commonEnd(left: string, right: string): number {
  const one = partsFromEnd(left);
  const other = partsFromEnd(right);
  const differs = one.findIndex((part, index) => part !== other[index]);
  return differs < 0 ? one.length : differs;
}

const partsFromEnd = (path: string): readonly string[] => path.split(/[\\/]/).filter(Boolean).reverse();

/**
 * The innermost frame outside of libraries, where it is of this file. In a library's own file it is the innermost frame of
 * that file: who opens it wants to see its lines.
 */
export function ownFrame(frames: readonly PythonFrame[], path: string): PythonFrame | undefined {
  if (isLibrary(path)) return frames.findLast((frame) => frame.path === path);
  const own = frames.findLast((frame) => !isLibrary(frame.path));
  return own?.path === path ? own : undefined;
}

/** Installed packages, the standard library, and code without a file, such as `<string>`. */
const isLibrary = (path: string): boolean =>
  !isCell.test(path) &&
  (/(?:^|[\\/])(?:site-packages|dist-packages|python3(?:\.\d+)?)[\\/]/.test(path) || path.startsWith('<'));
