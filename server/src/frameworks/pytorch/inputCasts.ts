/** The casts that autocast adds where an operator reads what is stored wider or narrower than it computes. */

import { hasBackward } from '../../analysis/hasBackward.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { distinct } from '../../model/distinct.ts';
import { isWeight } from '../../model/graph.ts';
import { isMatmulClass, type KernelClass } from '../../operators/definition.ts';
import { type EagerStep, noKernels, type TypedOperator } from './eagerStep.ts';
import { castKernel } from './elementwiseKernel.ts';

export interface InputCasts {
  readonly forward: readonly KernelWork[];
  /** Those of `forward` that cast weights. */
  readonly weights: readonly KernelWork[];
  readonly backwardData: readonly KernelWork[];
  readonly backwardWeight: readonly KernelWork[];
}

/** One kernel, or one call of several, with what it reads. */
export interface CastingReader extends Pick<TypedOperator, 'type' | 'environment'> {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly class: KernelClass;
}

/**
 * Casts of the inputs of operators and calls on the way in, and of their gradients on the way back. Operators are given in the order in
 * which they run: autocast keeps the cast of a weight until the step ends.
 */
export function inputCasts({
  training,
  types,
  storage,
  formats,
}: EagerStep): (reader: CastingReader) => InputCasts {
  const castWeights = new Set<string>();
  /** Weights whose gradient is cast: once, as the weight is. */
  const returned = new Set<string>();
  return ({ inputs, outputs, type, class: kernelClass, environment }) => {
    if (!types.mixed || kernelClass === 'view' || kernelClass === 'shape' || kernelClass === 'embedding') {
      return noCasts;
    }
    const isPassed = hasBackward(training, { outputs });
    let casts:
      | {
          forward: KernelWork[];
          weights: KernelWork[];
          backwardData: KernelWork[];
          backwardWeight: KernelWork[];
        }
      | undefined;
    for (const input of distinct(inputs)) {
      const root = storage(input);
      const stored = types.elementBytes.get(root) ?? 4;
      // What is kept in few bits is made in the type that it is read in.
      if (stored === type.bytesPerElement || formats.has(root)) continue;
      const tensor = training.tensors.get(input);
      const value = training.analysis.graph.values.get(root);
      if (tensor === undefined || value === undefined || tensor.elementType !== 'float32') continue;
      // A cast of no elements launches nothing.
      if (value.role === 'constant' || value.role === 'buffer' || tensor.elements === 0) continue;
      const weight = isWeight(value.role);
      // Normalization takes fp32 weights beside half-precision activations without a cast.
      if (weight && !isMatmulClass(kernelClass)) continue;
      const cast = castKernel(tensor.elements, stored, type.bytesPerElement, environment);
      // The gradient is cast the other way.
      const back = castKernel(tensor.elements, type.bytesPerElement, stored, environment);
      casts ??= { forward: [], weights: [], backwardData: [], backwardWeight: [] };
      if (!(weight && castWeights.has(root))) {
        if (!type.readsAsStored) {
          casts.forward.push(cast);
          if (weight) casts.weights.push(cast);
        }
        // Autocast keeps only the casts of tensors that are trained (aten/src/ATen/autocast_mode.cpp, `cached_cast`).
        if (value.role === 'parameter') castWeights.add(root);
      }
      if (value.role === 'parameter' && isPassed && !returned.has(root)) {
        returned.add(root);
        casts.backwardWeight.push(back);
      }
      if (!weight && isPassed && training.requiresGradient.has(input)) casts.backwardData.push(back);
    }
    return casts ?? noCasts;
  };
}

const noCasts: InputCasts = {
  forward: noKernels,
  weights: noKernels,
  backwardData: noKernels,
  backwardWeight: noKernels,
};
