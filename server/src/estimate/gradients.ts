/** Gradients in the order backward completes them. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { Gradient } from '../frameworks/gradient.ts';
import { bitsPerElement, type ElementType } from '../model/elementType.ts';
import { type Bytes, bytes } from '../model/units.ts';

/**
 * A shared parameter's gradient is complete when backward has passed its first use. Backward runs operators in
 * reverse, so operator i is at position n − 1 − i.
 */
export function gradientsInReadyOrder(training: TrainingGraph, width = 4): readonly Gradient[] {
  const { parameters, graph } = training.analysis;
  const last = training.costs.length - 1;
  return parameters
    .map((parameter, index) => ({
      parameter: parameter.name,
      index,
      elements: parameter.elements,
      bytes: parameterBytes(parameter, width),
      readyAfter: last - (parameter.operators[0] ?? last),
      usedFrom: parameter.operators[0] ?? 0,
      ofBatchNorm: graph.operators[parameter.operators[0] ?? -1]?.type === 'BatchNormalization',
    }))
    .sort((a, b) => a.readyAfter - b.readyAfter || b.index - a.index);
}

/** `width` is of what is fp32 in the file. */
export function parameterBytes(
  { elements, elementType }: { readonly elements: number; readonly elementType: ElementType },
  width = 4,
): Bytes {
  return bytes(elements * (elementType === 'float32' ? width : (bitsPerElement(elementType) ?? 0) / 8));
}
