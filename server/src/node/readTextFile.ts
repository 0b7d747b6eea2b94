/** A whole small text file: a cluster profile, a table of measurements. */

import { decodeText } from '../formats/byteSource.ts';
import type { Issue } from '../model/issue.ts';
import { openFileSource } from './fileSource.ts';

/** A profile is a few kilobytes, a table of layer times a few megabytes. */
const longestText = 64 * 2 ** 20;

/** The text, or why it cannot be read. Never waits for a pipe, never fills the memory. */
export function readTextFile(path: string): { readonly text: string } | { readonly issue: Issue } {
  const result = openFileSource(path);
  if (result.kind === 'failed') return { issue: result.issue };
  const { source, spoiled, close } = result.file;
  try {
    if (source.size > longestText) {
      const message = `cannot read ${path}: it is longer than 64 MiB; check that it is the file you mean`;
      return { issue: { code: 'file/unreadable', severity: 'error', message } };
    }
    const text = decodeText(source);
    const issue = spoiled();
    return issue === undefined ? { text } : { issue };
  } finally {
    close();
  }
}
