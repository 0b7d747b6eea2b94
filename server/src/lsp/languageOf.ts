/** The language of a document: an editor that knows YAML alone opens a layer spec as that. */

import { languageIds } from '../protocol.ts';
import { fileName } from './virtualText.ts';

interface Identified {
  readonly uri: string;
  readonly languageId: string;
}

export type ModelLanguage = (typeof languageIds)[keyof typeof languageIds];

/** What the editor says, else what the file's name says; `undefined` for a document that is no model. */
export function languageOf({ uri, languageId }: Identified): ModelLanguage | undefined {
  const known = Object.values(languageIds).find((id) => id === languageId);
  if (known !== undefined) return known;
  return endings.find(([ending]) => ending.test(fileName(uri)))?.[1];
}

const endings: readonly (readonly [RegExp, ModelLanguage])[] = [
  [/\.layers\.ya?ml$/, languageIds.layerSpec],
  [/\.onnxte?xt$/, languageIds.onnxText],
  [/\.prototxt$/, languageIds.caffePrototxt],
];
