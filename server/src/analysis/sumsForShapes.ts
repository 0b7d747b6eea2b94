/**
 * Sums that the TorchScript exporter writes to learn a shape. For `broadcast_tensors`, which `mse_loss` and `smooth_l1_loss` call, it
 * adds all tensors to zeros and expands each to the shape of the sum, which PyTorch does not compute (PyTorch 2.13
 * torch/onnx/_internal/torchscript_exporter/symbolic_opset9.py, `broadcast_tensors`).
 */

import { producerOf } from '../composites/flow.ts';
import type { Graph, Operator } from '../model/graph.ts';
import { inputOf } from '../operators/operatorFacts.ts';

/** Whether an operator adds to zeros, and nothing but the shape is taken of the whole sum; later operators are known in `isOfShape`. */
export function isSumForShape(
  operator: Operator,
  graph: Graph,
  outputs: ReadonlySet<string>,
  isOfShape: readonly boolean[],
): boolean {
  const [result = ''] = operator.outputs;
  if (operator.type !== 'Add' || operator.domain !== '' || outputs.has(result)) return false;
  const readers = graph.values.get(result)?.consumers ?? [];
  const isShapeRead = (index: number): boolean => {
    const reader = graph.operators[index];
    if (reader === undefined) return false;
    if (reader.type === 'Shape') return inputOf(reader, 0)?.role === 'shape';
    return reader.type === 'Add' && isOfShape[index] === true && reader.inputs[0] === result;
  };
  return readers.length > 0 && readers.every(isShapeRead) && beginsWithZeros(operator, graph);
}

function beginsWithZeros(sum: Operator, graph: Graph): boolean {
  let first: Operator | undefined = sum;
  for (let terms = 0; first?.type === 'Add' && terms < mostTerms; terms += 1) {
    first = producerOf(graph, first.inputs[0]);
  }
  if (first?.type !== 'ConstantOfShape') return false;
  const value = first.attributes.get('value');
  return (
    value === undefined ||
    (value.kind === 'tensor' && value.value.elements?.every((each) => each === 0) === true)
  );
}

/** `broadcast_tensors` of more is not searched. */
const mostTerms = 16;
