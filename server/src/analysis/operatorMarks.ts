/** The marks of a layer spec, operator by operator. */

import type { LayerMarks } from '../model/graph.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';

/** Marks by operator; `undefined` where no layer has any, as in every ONNX file. */
export function operatorMarks({
  graph,
  layers,
}: ModelAnalysis): readonly (LayerMarks | undefined)[] | undefined {
  if (layers.every(({ marks }) => marks === undefined)) return undefined;
  const marks: (LayerMarks | undefined)[] = graph.operators.map(() => undefined);
  for (const layer of layers) {
    for (const index of layer.operators) marks[index] = layer.marks;
  }
  return marks;
}
