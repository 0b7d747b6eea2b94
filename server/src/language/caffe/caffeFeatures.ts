/** The features of a Caffe net: blobs are written by tops and read by bottoms; fields and types are proposed. */

import { readCaffeNet } from '../../formats/caffe/readCaffeNet.ts';
import type { TextSpan } from '../../model/issue.ts';
import { reindent } from '../reindent.ts';
import type { TextFeatures } from '../textFeatures.ts';
import { type ValueName, valueNames } from '../valueNames.ts';
import { completeCaffe } from './completeCaffe.ts';

export function caffeFeatures(source: string): TextFeatures {
  const { net } = readCaffeNet(source);
  const names = new Map<
    string,
    { text: string; scope: number; definitions: TextSpan[]; references: TextSpan[] }
  >();
  const nameOf = (text: string) => {
    const name = names.get(text) ?? { text, scope: 0, definitions: [], references: [] };
    names.set(text, name);
    return name;
  };
  for (const { bottoms, tops } of net?.layers ?? []) {
    for (const { text, span } of bottoms) nameOf(text).references.push(inside(source, span));
    for (const { text, span } of tops) {
      const name = nameOf(text);
      // A layer in place, or one of another phase, writes a blob that is already there.
      (name.definitions.length === 0 ? name.definitions : name.references).push(inside(source, span));
    }
  }
  const blobs: readonly ValueName[] = [...names.values()].filter(({ definitions }) => definitions.length > 0);
  const features = valueNames(blobs, 'blobs that a layer writes', (name, span) =>
    name === '' || /["\n\\]/.test(name)
      ? { kind: 'refused', reason: 'A blob needs a name without quotes' }
      : { kind: 'done', result: { span, text: name } },
  );
  return {
    complete: (offset) => completeCaffe(source, offset, net),
    definition: features.definition,
    references: features.references,
    prepareRename: features.prepareRename,
    rename: features.rename,
    format: (first, last) => reindent(source, first, last, { step: 2, quotes: ['"', "'"] }),
  };
}

/** The word without its quotes. */
function inside(source: string, { start, end }: TextSpan): TextSpan {
  const isQuoted = /["']/.test(source[start] ?? '');
  return isQuoted ? { start: start + 1, end: end - 1 } : { start, end };
}
