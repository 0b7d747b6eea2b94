/**
 * A loss of scores that writes over one fp32 copy of them: it becomes the softmax, which is kept, and in backward the gradient.
 *
 * Source: NVIDIA/Megatron-LM 00119989, megatron/core/tensor_parallel/cross_entropy.py, `_VocabParallelCrossEntropy`, whatever the
 * number of workers. nanotron has the same, but for scores in fp32 that are there beside the copy until forward has ended
 * (src/nanotron/parallel/tensor_parallel/functional.py, `_ShardedCrossEntropy`).
 */

import type { KernelWork } from '../../hardware/kernelWork.ts';
import { bytes } from '../../model/units.ts';
import type { LoweredOperator } from '../behaviour.ts';
import type { LossCopy } from './autocast.ts';
import type { DividedLoss } from './dividedCrossEntropy.ts';
import { castBetween, elementwiseKernel } from './elementwiseKernel.ts';

export function inPlaceCrossEntropy(
  copy: LossCopy,
  { elements, given, stored, learns, rows, type, environment }: DividedLoss,
  saved: LoweredOperator['saved'],
): LoweredOperator {
  const pass = elementwiseKernel(2 * stored * elements, 0, environment);
  const reduced: KernelWork = { ...rows, bytes: bytes(stored * elements), launches: 1 };
  const cast = (before: number, after: number): readonly KernelWork[] =>
    castBetween(elements, before, after, environment);
  return {
    dtype: type.dtype,
    bytesPerElement: type.bytesPerElement,
    view: false,
    // The greatest of each row, less it, exponentials, their sum, over it.
    forward: [...cast(given, stored), reduced, pass, pass, reduced, pass],
    backwardData: learns ? [pass, ...cast(stored, given)] : [],
    backwardWeight: [],
    saved,
    ...(copy === 'beside scores' && given !== stored ? { forwardTemporary: bytes(stored * elements) } : {}),
    ...(learns ? { gradientsAsStored: true as const } : {}),
  };
}
