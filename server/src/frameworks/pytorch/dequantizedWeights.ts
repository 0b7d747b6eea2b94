/** Weights in few bits, which a layer makes whole for itself where it reads them: in forward, and again for the gradient of what it reads. */

import type { KernelWork } from '../../hardware/kernelWork.ts';
import { entryAt } from '../../model/at.ts';
import { blockSizes, bytesInBlocks } from '../../model/blockFormat.ts';
import { type Bytes, bytes } from '../../model/units.ts';
import { type EagerStep, noKernels, type TypedOperator } from './eagerStep.ts';
import { elementwiseKernel } from './elementwiseKernel.ts';

export interface DequantizedWeights {
  /** One kernel for each weight, before the product and before that of backward. */
  readonly kernels: readonly KernelWork[];
  /** What they write, which is gone when the product has run. */
  readonly made: Bytes;
}

/**
 * bitsandbytes 0.45, bitsandbytes/autograd/_functions.py, `MatMul4Bit`: forward multiplies by `dequantize_4bit(B)` and keeps B as it is;
 * backward makes it whole again. Scales of blocks are made whole before, by a kernel over as many elements (functional.py,
 * `dequantize_4bit`), and added to their mean by another.
 */
export function dequantizedWeights(
  { formats, storage, training }: EagerStep,
  { operator, type, environment }: Pick<TypedOperator, 'operator' | 'type' | 'environment'>,
): DequantizedWeights {
  if (formats.size === 0) return none;
  const kernels: KernelWork[] = [];
  let made = 0;
  for (const name of operator.inputs) {
    const format = formats.get(storage(name));
    if (format === undefined) continue;
    const { elements } = entryAt(training.tensors, name);
    const scales = elements / blockSizes[format];
    const whole = elements * type.bytesPerElement;
    kernels.push(
      elementwiseKernel(scales * (1 + 4), 0, environment),
      elementwiseKernel(scales * (4 + 4), 0, environment),
      { ...elementwiseKernel(elements * bytesInBlocks[format] + whole, 0, environment), dequantizes: true },
    );
    made += whole;
  }
  return { kernels, made: bytes(made) };
}

const none: DequantizedWeights = { kernels: noKernels, made: bytes(0) };
