/**
 * What can be folded: the parts of an ONNX text, the blocks of a layer spec. Initializers count as imports, so
 * that an editor set to fold imports opens a model at its first layers and not at hundreds of weights.
 */

import type { ModelView } from './modelView.ts';

export interface FoldingRange {
  readonly firstLine: number;
  readonly lastLine: number;
  readonly kind: 'imports' | 'region';
}

export function foldingRanges(view: ModelView): readonly FoldingRange[] {
  return view.blocks
    .filter(({ firstLine, lastLine }) => lastLine > firstLine)
    .map(({ name, firstLine, lastLine }) => ({
      firstLine,
      lastLine,
      kind: name === initializers ? 'imports' : 'region',
    }));
}

/** Name that the printer gives the part that lists stored tensors. */
const initializers = 'initializers';
