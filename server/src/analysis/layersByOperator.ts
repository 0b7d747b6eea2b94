/** The layer that each operator is in, by the operator's index: asked of the same layers in every lowering. */

import type { Layer } from '../model/graph.ts';
import { memoizeOfObject } from '../model/memoize.ts';

export const layersByOperator = memoizeOfObject((layers: readonly Layer[]): ReadonlyMap<number, Layer> => {
  const byOperator = new Map<number, Layer>();
  for (const layer of layers) {
    for (const index of layer.operators) byOperator.set(index, layer);
  }
  return byOperator;
});
