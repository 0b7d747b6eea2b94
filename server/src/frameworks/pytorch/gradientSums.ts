/**
 * Where a value is read more than once, backward adds the gradients that come back: each after the first to arrive by a
 * kernel of its own, which reads two tensors and writes one (PyTorch 2.x torch/csrc/autograd/input_buffer.cpp,
 * `InputBuffer::add`, in place or not; Caffe's Split layer and TensorFlow's AddN do the same). Residual connections do
 * so once a block, dense ones once for each later layer.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { KernelEnvironment } from '../../hardware/corrections.ts';
import type { KernelWork } from '../../hardware/kernelTime.ts';
import type { Operator } from '../../model/graph.ts';
import { bytes, flops } from '../../model/units.ts';
import type { LoweredOperator } from '../behaviour.ts';
import type { FusedGroup } from './fusedGroups.ts';

/**
 * The operators with the sums among the kernels of what made the value, whose node in autograd holds the buffer: whose
 * gradient arrives last hangs on the order of branches that do not. Of a parameter, they are those of its first reader.
 */
export function addGradientSums(
  training: TrainingGraph,
  operators: readonly (LoweredOperator | undefined)[],
  groups: ReadonlyMap<number, FusedGroup>,
  environmentOf: (index: number) => KernelEnvironment,
): readonly (LoweredOperator | undefined)[] {
  const { graph } = training.analysis;
  const firstReader = new Map<string, number>();
  const sums = new Map<number, KernelWork[]>();
  for (const [index, operator] of graph.operators.entries()) {
    const lowered = operators[index];
    if (lowered === undefined || lowered.inside === true) continue;
    for (const name of readBy(training, operator, groups.get(index))) {
      if (!training.requiresGradient.has(name)) continue;
      const first = firstReader.get(name);
      if (first === undefined) {
        firstReader.set(name, index);
        continue;
      }
      const producer = graph.values.get(name)?.producer;
      const holder = producer === undefined ? first : (groups.get(producer)?.operators.at(-1) ?? producer);
      const width = producer === undefined ? 4 : (operators[producer]?.width ?? 4);
      const elements = training.tensors.get(name)?.elements ?? 0;
      const sum = sumOf(elements, width, environmentOf(holder));
      const others = sums.get(holder);
      if (others === undefined) sums.set(holder, [sum]);
      else others.push(sum);
    }
  }
  return operators.map((lowered, index) => {
    const own = sums.get(index);
    if (lowered === undefined || own === undefined) return lowered;
    return { ...lowered, backwardData: [...lowered.backwardData, ...own] };
  });
}

/** What hands a gradient back: the inputs of an operator whose outputs have one; a fused group reads each of its own once. */
function readBy(
  { requiresGradient }: TrainingGraph,
  { inputs, outputs }: Operator,
  group: FusedGroup | undefined,
): readonly string[] {
  const given = group?.outputs ?? outputs;
  if (!given.some((name) => requiresGradient.has(name))) return none;
  return group?.inputs ?? inputs;
}

const none: readonly string[] = [];

const sumOf = (elements: number, width: number, environment: KernelEnvironment): KernelWork => ({
  class: 'elementwise',
  numeric: 'fp32',
  flops: flops(0),
  operations: elements,
  bytes: bytes(3 * elements * width),
  launches: 1,
  environment,
});
