/** The features of a layer spec, over one reading of its text. */

import type { TextFeatures } from '../textFeatures.ts';
import { foreignWord, isSharedWord, placesAcross, renameAcross } from './acrossFiles.ts';
import { completeLayerSpec } from './completeLayerSpec.ts';
import { formatLayerSpec } from './formatLayerSpec.ts';
import { hoverLayerSpec } from './hoverLayerSpec.ts';
import { includeAt, includeProposals } from './includeProposals.ts';
import { findDefinition, findReferences } from './layerSpecNavigation.ts';
import { selectionSpans } from './layerSpecSelection.ts';
import { layerSpecSignature } from './layerSpecSignature.ts';
import { layerSpecTokens } from './layerSpecTokens.ts';
import { prepareRename, renameLayerSpec } from './renameLayerSpec.ts';
import { type IncludedText, readSpecText } from './specText.ts';

export function layerSpecFeatures(source: string, included: readonly IncludedText[] = []): TextFeatures {
  const document = readSpecText(source, included);
  return {
    complete: (offset, view) => completeLayerSpec(document, offset, view),
    path: (offset) => {
      const place = includeAt(document, offset);
      return place === undefined
        ? undefined
        : {
            folder: place.folder,
            complete: (entries, self) => includeProposals(document, place, entries, self),
          };
    },
    signatureHelp: (offset) => layerSpecSignature(document, offset),
    hover: (offset, view) => hoverLayerSpec(document, view, offset),
    definition: (offset) => findDefinition(document, offset),
    references: (offset, withDefinition) => findReferences(document, offset, withDefinition),
    prepareRename: (offset) => prepareRename(document, offset),
    rename: (offset, newName) => renameLayerSpec(document, offset, newName),
    acrossFiles: {
      isShared: (offset) => isSharedWord(document, offset),
      references: (offset, withDefinition, related) =>
        placesAcross(document, offset, related, withDefinition),
      prepareRename: (offset, related) => foreignWord(document, offset, related),
      rename: (offset, newName, related) => renameAcross(document, offset, newName, related),
    },
    format: (first, last) => formatLayerSpec(source, first, last),
    selection: (offset) => selectionSpans(document, offset),
    tokens: () => layerSpecTokens(document),
    links: () => document.spec.includes.map(({ path }) => ({ span: path.span, path: path.text })),
  };
}
