/** A bias that was exported as an addition. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { producerOf } from '../../composites/flow.ts';
import { isWeight, type Operator, type ValueRole } from '../../model/graph.ts';
import { liesInOrder, type Strided } from './strides.ts';

/**
 * `Linear` is exported as MatMul and Add, but runs as one `addmm` whose epilogue adds the bias (PyTorch 2.x
 * aten/src/ATen/native/cuda/Blas.cpp): the addition launches nothing, only the bias gradient is summed. Where what the layer reads does
 * not lie in order, the bias is added by a kernel of its own (aten/src/ATen/native/Linear.cpp, `linear`).
 */
export function isFoldedBias(
  training: TrainingGraph,
  layout: (name: string) => Strided | undefined,
  operator: Operator,
): boolean {
  const { operators, values } = training.analysis.graph;
  const product = values.get(biasedMatmul(training, operator) ?? '')?.producer;
  if (product === undefined) return false;
  const read = operators[product]?.inputs[0] ?? '';
  const lies = layout(read);
  return lies === undefined || lies.sizes.length < 3 || liesInOrder(lies);
}

/** The matmul that an addition is the bias of. */
export function biasedMatmul(training: TrainingGraph, { type, inputs }: Operator): string | undefined {
  if (type !== 'Add' || inputs.length !== 2) return undefined;
  const { graph } = training.analysis;
  const position = inputs.findIndex((input, index) => {
    if (training.tensors.get(input)?.dimensions.length !== 1 || !isOfWeights(training, input)) return false;
    const value = graph.values.get(inputs[1 - index] ?? '');
    const producer = producerOf(graph, inputs[1 - index]);
    return producer?.type === 'MatMul' && value?.consumers.length === 1;
  });
  return position < 0 ? undefined : inputs[1 - position];
}

/** A weight, or what is put together from weights (`cat` of the biases of queries and values, as Swin has it). */
function isOfWeights({ analysis: { graph } }: TrainingGraph, name: string): boolean {
  const value = graph.values.get(name);
  if (isWeight(value?.role)) return true;
  const maker = producerOf(graph, name);
  return maker?.type === 'Concat' && maker.inputs.every((input) => isStored(graph.values.get(input)?.role));
}

const isStored = (role: ValueRole | undefined): boolean =>
  isWeight(role) || role === 'buffer' || role === 'constant';
