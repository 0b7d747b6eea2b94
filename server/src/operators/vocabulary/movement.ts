/**
 * Costs of operators that move data without computing.
 *
 * A view launches nothing: PyTorch returns another description of the same memory for `view`, `permute`, `expand`,
 * `narrow` and `split`. An ONNX Transpose from `permute` is therefore a view here; the copy that a later `reshape`
 * of the permuted tensor may need is not counted.
 */

import { isInteger } from '../../model/elementType.ts';
import type { BoundTensor, CostContext, OperatorCost, SavedTensor, Work } from '../definition.ts';
import { noWork } from '../definition.ts';
import {
  backwardOf,
  cost,
  isShapeArithmetic,
  needsGradient,
  shapeCost,
  trafficOf,
  unknownShapeCost,
  work,
} from './work.ts';

/** What the gradient of a view costs: again a view, a copy into zeros, a sum over copies, or a concatenation. */
export type ViewGradient = 'view' | 'scatter' | 'sum' | 'concatenation';

export function viewCost(context: CostContext, gradient: ViewGradient = 'view'): OperatorCost {
  if (isShapeArithmetic(context) && !needsGradient(context)) return shapeCost;
  const input = context.input(0);
  if (gradient === 'view' || !needsGradient(context)) return cost('view', noWork);
  const output = context.output(0);
  if (input === undefined || output === undefined) return unknownShapeCost;
  const { data, weight } = backwardOf(context, (index) =>
    index === 0 ? viewGradientWork(gradient, input, output) : noWork,
  );
  return cost('view', noWork, { data, weight });
}

function viewGradientWork(gradient: ViewGradient, input: BoundTensor, output: BoundTensor): Work {
  switch (gradient) {
    case 'view':
      return noWork;
    case 'scatter':
      // Zeros of the input's size are written, then the gradient is copied into its place.
      return input.elements === output.elements
        ? noWork
        : work({ traffic: trafficOf(input, output, output), kernels: 2 });
    case 'sum':
      return input.elements === output.elements
        ? noWork
        : work({ operations: output.elements, traffic: trafficOf(output, input) });
    case 'concatenation':
      return work({ traffic: trafficOf(input, input) });
  }
}

/** A copy: what is read of the inputs, and all outputs, cross memory once; so do their gradients. */
export function copyCost(
  context: CostContext,
  options?: {
    /** Elements of input 0 that are read, where not all are. */
    readonly read?: number;
    /** As many elements of input 0 are read as output 0 has. */
    readonly readsWhatItGives?: true;
    readonly operations?: number;
    /** For each element of output 0, or of input 0. */
    readonly perOutput?: number;
    readonly perInput?: number;
    readonly saved?: readonly SavedTensor[];
    /** Gradients are written into zeros of the whole input first. */
    readonly scatters?: boolean;
    /** The gradient is a view of the output's gradient. */
    readonly gradientIsView?: boolean;
  },
): OperatorCost {
  if (isShapeArithmetic(context) && !needsGradient(context)) return shapeCost;
  const outputs = Array.from({ length: context.outputCount }, (_, index) => context.output(index));
  const [output] = outputs;
  const inputs = Array.from({ length: context.inputCount }, (_, index) => context.input(index));
  const [input, ...others] = inputs;
  if (output === undefined || input === undefined) return unknownShapeCost;
  const { perOutput = 0, perInput = 0, operations: fixed = 0 } = options ?? {};
  const most = options?.readsWhatItGives === true ? output.elements : options?.read;
  const read = most === undefined ? input : { ...input, elements: Math.min(most, input.elements) };
  const operations = fixed + perOutput * output.elements + perInput * input.elements;
  const forward = work({ operations, traffic: trafficOf(read, ...others, ...outputs) });
  if (!needsGradient(context)) return cost('movement', forward);
  const { data, weight } = backwardOf(context, (index) => {
    const target = context.input(index);
    if (options?.gradientIsView === true || target === undefined) return noWork;
    const zeros = options?.scatters === true ? [target] : [];
    return work({
      operations,
      traffic: trafficOf(output, options?.scatters === true ? output : target, ...zeros),
      kernels: 1 + zeros.length,
    });
  });
  return cost('movement', forward, { data, weight, saved: options?.saved ?? [] });
}

/** A tensor is written and nothing read; a small one that is known beforehand costs nothing. */
export function fillCost(context: CostContext): OperatorCost {
  const output = context.output(0);
  if (output === undefined) return unknownShapeCost;
  if (isShapeArithmetic(context) && isInteger(output.elementType)) return shapeCost;
  return cost('movement', work({ traffic: trafficOf(output) }));
}
