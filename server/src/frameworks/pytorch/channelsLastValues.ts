/**
 * Images that lie channels last although the model is not in that format: `permute(0, 3, 1, 2)` of what a linear layer or a layer
 * normalization gave is such a tensor, and convolutions keep to it (PyTorch 2.x aten/src/ATen/native/ConvUtils.h,
 * `cudnn_conv_suggest_memory_format`), as do operators that work element by element (TensorIterator.cpp,
 * `reorder_dimensions`: the first operand decides). Blocks of ConvNeXt are written so.
 * `everywhere`: in a model of that format every convolution gives such images.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { Operator } from '../../model/graph.ts';
import type { KernelClass } from '../../operators/definition.ts';
import { hasTrait, inPyTorch } from '../../operators/operatorFacts.ts';
import { permutationOf } from './stridedCopies.ts';

export function channelsLastValues(training: TrainingGraph, everywhere = false): ReadonlySet<string> {
  const last = new Set<string>();
  for (const operator of training.analysis.graph.operators) {
    if (!liesLast(training, operator, last) && !(everywhere && isConvolution(training, operator))) continue;
    for (const output of operator.outputs) if (isImages(training, output)) last.add(output);
  }
  return last;
}

function liesLast(training: TrainingGraph, operator: Operator, last: ReadonlySet<string>): boolean {
  // Its kernel takes and gives channels-first tensors (aten/src/ATen/native/group_norm.cpp, `input.contiguous()`).
  if (operator.type === 'GroupNormalization') return false;
  const [first = ''] = operator.inputs;
  if (inPyTorch(operator)?.view === 'permute')
    return !last.has(first) && permutationOf(operator, 4)?.join() === '0,3,1,2';
  // All that are joined decide (aten/src/ATen/native/TensorShape.cpp, `cat_compute_output_memory_format`).
  if (hasTrait(operator, 'joins') && operator.inputs.length > 1)
    return operator.inputs.every((name) => last.has(name));
  const cost = training.costs[operator.index];
  if (cost?.kind !== 'known' || !keepsLayout.has(cost.class))
    return last.has(first) && isSameSize(training, operator);
  const elements = training.tensors.get(operator.outputs[0] ?? '')?.elements;
  const deciding =
    cost.class === 'elementwise'
      ? operator.inputs.find((name) => training.tensors.get(name)?.elements === elements)
      : first;
  return deciding !== undefined && last.has(deciding);
}

const isConvolution = ({ costs }: TrainingGraph, { index }: Operator): boolean => {
  const cost = costs[index];
  return cost?.kind === 'known' && (cost.class === 'convolution' || cost.class === 'depthwise-convolution');
};

/** A copy or a cast, which a graph may write between. */
const isSameSize = ({ tensors }: TrainingGraph, { inputs, outputs }: Operator): boolean => {
  const [before, after] = [tensors.get(inputs[0] ?? ''), tensors.get(outputs[0] ?? '')];
  return before !== undefined && before.dimensions.join() === after?.dimensions.join();
};

const isImages = ({ tensors }: TrainingGraph, name: string): boolean =>
  tensors.get(name)?.dimensions.length === 4;

const keepsLayout: ReadonlySet<KernelClass> = new Set([
  'convolution',
  'depthwise-convolution',
  'elementwise',
  'normalization',
  'pooling',
]);
