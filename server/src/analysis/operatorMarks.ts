/** The marks of a layer spec, operator by operator. */

import type { LayerMarks } from '../model/graph.ts';
import { layersByOperator } from './layersByOperator.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';

/** Marks by operator; `undefined` where no layer has any, as in every ONNX file. */
export function operatorMarks({
  graph,
  layers,
}: ModelAnalysis): readonly (LayerMarks | undefined)[] | undefined {
  if (layers.every(({ marks }) => marks === undefined)) return undefined;
  const byOperator = layersByOperator(layers);
  return graph.operators.map(({ index }) => byOperator.get(index)?.marks);
}
