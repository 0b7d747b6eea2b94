/**
 * `cross_entropy` is `log_softmax` and `nll_loss`. It asks `log_softmax` for the type of its scores, which autocast therefore does
 * not widen, while `nll_loss` runs in fp32: scores in half precision have their logarithms cast between the two, and both are kept.
 *
 * Sources: PyTorch 2.13 aten/src/ATen/native/LossNLL.cpp, `cross_entropy_loss_symint`; native/cuda/Loss.cu, `nll_loss_backward_out_cuda`,
 * which fills the gradient with zeros first; aten/src/ATen/autocast_mode.h, `fp32_set_opt_dtype`; tools/autograd/derivatives.yaml.
 */

import type { KernelWork } from '../../hardware/kernelWork.ts';
import { bytes } from '../../model/units.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';
import type { LoweredOperator } from '../behaviour.ts';
import { dividedCrossEntropy } from './dividedCrossEntropy.ts';
import { type EagerStep, noKernels, storedBytesPerElement, type TypedOperator } from './eagerStep.ts';
import { castBetween, elementwiseKernel } from './elementwiseKernel.ts';
import { inPlaceCrossEntropy } from './inPlaceCrossEntropy.ts';

/** `undefined` for other operators; `own` is what the definition says of this one, without casts. */
export function lowerCrossEntropy(
  step: EagerStep,
  typed: TypedOperator,
  own: Pick<LoweredOperator, 'forward' | 'backwardData' | 'saved'>,
): LoweredOperator | undefined {
  const { operator, type, environment, cost } = typed;
  const { training, types, mode } = step;
  const [scores = ''] = operator.inputs;
  const elements = training.tensors.get(scores)?.elements;
  const [whole] = own.forward;
  if (!hasTrait(operator, 'loss-of-scores') || elements === undefined || whole === undefined)
    return undefined;
  const given = types.mixed ? storedBytesPerElement(step, scores) : type.bytesPerElement;
  const learns = mode === 'training' && own.backwardData.length > 0;
  // In fp32 by its own line, or by a program that casts the scores itself.
  const isWide = operator.widensScores === true || !type.mixed;
  const stored = isWide ? Math.max(given, type.bytesPerElement) : given;
  const loss = { ...typed, elements, given, stored, learns, rows: whole };
  if (step.lossInPlace !== undefined) return inPlaceCrossEntropy(step.lossInPlace, loss, own.saved);
  if (cost.dividesClasses === true) return dividedCrossEntropy(loss, own.saved);
  const isCast = stored !== type.bytesPerElement;
  const cast = (before: number, after: number): readonly KernelWork[] =>
    castBetween(elements, before, after, environment);
  const overRows = (operands: number, launches: number): KernelWork => ({
    ...whole,
    bytes: bytes(operands * stored * elements),
    launches,
  });
  return {
    dtype: type.dtype,
    bytesPerElement: type.bytesPerElement,
    view: false,
    forward: [
      ...cast(given, stored),
      // Rows of half precision stay in the cache between the passes over them.
      ...(isCast ? [overRows(2, 2)] : own.forward),
      ...cast(stored, type.bytesPerElement),
    ],
    backwardData: learns
      ? [
          elementwiseKernel(type.bytesPerElement * elements, 0, environment),
          ...cast(type.bytesPerElement, stored),
          overRows(3, 2),
          ...cast(stored, given),
        ]
      : noKernels,
    backwardWeight: noKernels,
    saved: [
      ...own.saved,
      ...(isCast && learns
        ? [{ key: `${operator.index}/narrow`, bytes: bytes(stored * elements), weightCopy: false }]
        : []),
    ],
    // The fp32 gradient is gone before the narrow one of the scores is there.
    ...(isCast && learns
      ? {
          gradientsAsStored: true as const,
          backwardTemporary: bytes((type.bytesPerElement - stored) * elements),
        }
      : {}),
  };
}
