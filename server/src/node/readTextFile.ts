/** A whole small text file: a cluster profile, a table of measurements. */

import { decodeText } from '../formats/byteSource.ts';
import { formatBytes } from '../model/format.ts';
import type { Issue } from '../model/issue.ts';
import { bytes } from '../model/units.ts';
import { openFileSource } from './fileSource.ts';

/** Bytes. A table of layer times is a few megabytes. */
const longestTable = 64 * 2 ** 20;

/** The text, or why it cannot be read. Never waits for a pipe, never fills the memory. */
export function readTextFile(
  path: string,
  longest = longestTable,
): { readonly text: string } | { readonly issue: Issue } {
  const result = openFileSource(path);
  if (result.kind === 'failed') return { issue: result.issue };
  const { source, spoiled, close } = result.file;
  try {
    if (source.size > longest) {
      const message = `cannot read ${path}: it is longer than ${formatBytes(bytes(longest))}; check that it is the right file`;
      return { issue: { code: 'file/unreadable', severity: 'error', message } };
    }
    const text = decodeText(source);
    const issue = spoiled();
    return issue === undefined ? { text } : { issue };
  } finally {
    close();
  }
}
