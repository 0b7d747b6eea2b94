/** What readers of YAML and JSON by the library share: the plain value of a document, and its messages. */

import type { Document } from 'yaml';

/** The value without its places; nothing where aliases make it grow without end, which the library refuses by throwing. */
export function plainValue(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch {
    return undefined;
  }
}

/** Of a message of a library, which may go on for lines and ends with a full stop. */
export const firstLine = (message: string): string =>
  (message.split('\n')[0] ?? message).replace(/[.\s]+$/, '');
