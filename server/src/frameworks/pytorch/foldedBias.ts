/** A bias that was exported as an addition. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { isWeight, type Operator } from '../../model/graph.ts';

/**
 * `Linear` is exported as MatMul and Add, but runs as one `addmm` whose epilogue adds the bias (PyTorch 2.x
 * aten/src/ATen/native/cuda/Blas.cpp): the addition launches nothing, only the bias gradient is summed.
 */
export function isFoldedBias(training: TrainingGraph, operator: Operator): boolean {
  if (operator.type !== 'Add' || operator.inputs.length !== 2) return false;
  const { graph } = training.analysis;
  return operator.inputs.some((input, position) => {
    if (!isWeight(graph.values.get(input)?.role)) return false;
    if (training.tensors.get(input)?.dimensions.length !== 1) return false;
    const product = operator.inputs[1 - position];
    if (product === undefined) return false;
    const value = graph.values.get(product);
    const producer = value?.producer === undefined ? undefined : graph.operators[value.producer];
    return producer?.type === 'MatMul' && value?.consumers.length === 1;
  });
}
