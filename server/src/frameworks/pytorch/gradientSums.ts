/**
 * Where a value is read more than once, backward adds the gradients that come back: each after the first to arrive by a
 * kernel of its own, which reads two tensors and writes one (PyTorch 2.x torch/csrc/autograd/input_buffer.cpp,
 * `InputBuffer::add`, in place or not; Caffe's Split layer and TensorFlow's AddN do the same). Residual connections do
 * so once a block, dense ones once for each later layer.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { KernelEnvironment } from '../../hardware/kernelEnvironment.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { intAt } from '../../model/at.ts';
import type { Graph, Operator } from '../../model/graph.ts';
import { memoizeRecent } from '../../model/memoizeRecent.ts';
import { isDifferentiableInput } from '../../operators/operatorFacts.ts';
import type { LoweredOperator } from '../behaviour.ts';
import { elementwiseKernel } from './elementwiseKernel.ts';
import type { FusedGroup } from './fusedGroups.ts';

/**
 * The operators with the sums among the kernels of the reader whose gradient arrives: of all but the deepest, from which
 * backward comes first. Which of branches side by side comes first only the program tells, so that depth decides.
 */
export function addGradientSums(
  training: TrainingGraph,
  operators: readonly (LoweredOperator | undefined)[],
  groups: ReadonlyMap<number, FusedGroup>,
  environmentOf: (index: number) => KernelEnvironment,
): readonly (LoweredOperator | undefined)[] {
  const { graph, costing } = training.analysis;
  const { storedLayout } = costing.auxiliary;
  const depths = depthsOf(graph, 'depths');
  const stored = storedTensors(graph, storedLayout);
  const gradientsOf = operators.map((lowered, index): readonly string[] => {
    const operator = graph.operators[index];
    if (operator === undefined || lowered === undefined || lowered.inside === true) return none;
    if (storedLayout[index] === true) return none;
    return readBy(training, operator, groups.get(index))
      .map((name) => stored.get(name) ?? name)
      .filter((name) => training.requiresGradient.has(name));
  });
  const isDeeper = (index: number, other: number): boolean => {
    const [depth = 0, otherDepth = 0] = [depths[index], depths[other]];
    const [name = '', otherName = ''] = [index, other].map((each) => graph.operators[each]?.outputs[0]);
    return depth > otherDepth || (depth === otherDepth && name > otherName);
  };
  const deepest = new Map<string, number>();
  for (const [index, names] of gradientsOf.entries()) {
    for (const name of names) {
      const other = deepest.get(name);
      if (other === undefined || isDeeper(index, other)) deepest.set(name, index);
    }
  }
  return operators.map((lowered, index) => {
    const names = gradientsOf[index] ?? none;
    const sums = names
      .filter((name, position) => deepest.get(name) !== index || names.indexOf(name) !== position)
      .flatMap((name): readonly KernelWork[] => {
        const producer = graph.values.get(name)?.producer;
        const bytesPerElement = producer === undefined ? 4 : (operators[producer]?.bytesPerElement ?? 4);
        // Of what has no known size an operator's cost is unknown already.
        const elements = training.tensors.get(name)?.elements;
        if (elements === undefined) return [];
        const sum = elementwiseKernel(3 * elements * bytesPerElement, elements, environmentOf(index));
        return [{ ...sum, purpose: 'gradient sum' }];
      });
    if (lowered === undefined || sums.length === 0) return lowered;
    return { ...lowered, backwardData: [...lowered.backwardData, ...sums] };
  });
}

/**
 * By layout of a stored tensor: the tensor. The gradient of a layout is a view of the tensor's, which is added where a reader of
 * any of them hands it back: exporters write one `Identity` or `Transpose` per reader, often ahead of all layers.
 */
const storedTensors = memoizeRecent(
  ({ operators }: Graph, storedLayout: readonly boolean[]): ReadonlyMap<string, string> => {
    const stored = new Map<string, string>();
    for (const { index, inputs, outputs } of operators) {
      const [from = ''] = inputs;
      const [to] = outputs;
      if (storedLayout[index] === true && to !== undefined) stored.set(to, stored.get(from) ?? from);
    }
    return stored;
  },
);

/** By operator: the longest way to it from what comes in. Workers that share a graph have it in common. */
const depthsOf = memoizeRecent((graph: Graph, _: 'depths'): Int32Array => longestWays(graph));

function longestWays({ operators, values }: Graph): Int32Array {
  const depths = new Int32Array(operators.length);
  for (const { index, inputs } of operators) {
    for (const name of inputs) {
      const producer = values.get(name)?.producer;
      if (producer !== undefined) depths[index] = Math.max(intAt(depths, index), intAt(depths, producer) + 1);
    }
  }
  return depths;
}

/** What hands a gradient back: the inputs of an operator whose outputs have one; a fused group reads each of its own once. */
function readBy(
  { requiresGradient }: TrainingGraph,
  operator: Operator,
  group: FusedGroup | undefined,
): readonly string[] {
  const given = group?.outputs ?? operator.outputs;
  if (!given.some((name) => requiresGradient.has(name))) return none;
  return group?.inputs ?? operator.inputs.filter((_, index) => isDifferentiableInput(operator, index));
}

const none: readonly string[] = [];
