/** Where in a text of YAML or JSON the node at a path stands. */

import { isMap, isScalar, type Node } from 'yaml';
import type { TextSpan } from '../model/issue.ts';

/** The node at a path, or the nearest one above it that exists; `length` is that of the text. */
export function spanOfPath(root: Node, path: readonly PropertyKey[], length: number): TextSpan {
  let node: unknown = root;
  let span = rangeOf(root, length);
  for (const key of path) {
    if (!isMap(node)) break;
    const pair = node.items.find((item) => isScalar(item.key) && item.key.value === key);
    if (pair === undefined) break;
    node = pair.value;
    span = rangeOf(node ?? pair.key, length);
  }
  return span;
}

/** The key at the end of a path; the map that should hold it where it is not there. */
export function spanOfKey(root: Node, path: readonly PropertyKey[], length: number): TextSpan {
  const [last, ...above] = path.toReversed();
  let node: unknown = root;
  for (const key of above.toReversed()) {
    node = isMap(node)
      ? node.items.find((item) => isScalar(item.key) && item.key.value === key)?.value
      : undefined;
  }
  const pair = isMap(node)
    ? node.items.find((item) => isScalar(item.key) && item.key.value === last)
    : undefined;
  return pair === undefined ? spanOfPath(root, path, length) : rangeOf(pair.key, length);
}

function rangeOf(node: unknown, length: number): TextSpan {
  if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range)) {
    const [start, end] = node.range;
    if (typeof start === 'number' && typeof end === 'number') return { start, end };
  }
  return { start: 0, end: length };
}
