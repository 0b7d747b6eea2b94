/** A layer spec with the cursor written into it as `|`. */

import { readSpecText, type SpecText } from '../../../server/src/language/layer-spec/specText.ts';

export interface AtCursor {
  readonly document: SpecText;
  readonly offset: number;
}

/** The first `|` is the cursor; the text is without it. */
export function atCursor(marked: string): AtCursor {
  const offset = marked.indexOf('|');
  if (offset < 0) throw new Error('the fixture has no cursor');
  return { document: readSpecText(marked.slice(0, offset) + marked.slice(offset + 1)), offset };
}
