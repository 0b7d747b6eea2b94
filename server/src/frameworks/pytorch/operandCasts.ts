/** The kernels that scale and cast what products in fp8 and NVFP4 read. In fp8 each tensor has one scale. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { isNarrow } from '../../model/dtype.ts';
import { type EagerStep, noKernels, type TypedOperator } from './eagerStep.ts';
import { elementwiseKernel } from './elementwiseKernel.ts';
import type { NarrowScaling } from './narrowProducts.ts';

interface OperandCasts {
  readonly forward: readonly KernelWork[];
  readonly backwardData: readonly KernelWork[];
  readonly backwardWeight: readonly KernelWork[];
}

/** Whether there is a gradient of what a layer reads, and of its weight. */
interface GradientProducts {
  readonly ofInput: boolean;
  readonly ofWeight: boolean;
}

const noCasts: OperandCasts = { forward: noKernels, backwardData: noKernels, backwardWeight: noKernels };

/**
 * Products of fp8 read both operands along what is summed: each operand is cast as it lies and transposed (NVIDIA, cuBLAS 12
 * documentation, "FP8 data types": TN). Operators are given in the order in which they run: layers that read the same share its casts.
 * `gradients`: the products of backward that there are; without one nothing is cast for it.
 */
export function operandCasts(
  { storage, training, mode }: Pick<EagerStep, 'storage' | 'training' | 'mode'>,
  scaling: NarrowScaling,
): (typed: TypedOperator, gradients: GradientProducts) => OperandCasts {
  const [cast, transposedBefore] = [new Set<string>(), new Set<string>()];
  return ({ operator, cost, type, environment }, { ofInput, ofWeight }) => {
    if (!isNarrow(type.dtype)) return noCasts;
    const { read, held, given } = sizesOf(cost);
    const source = storage(operator.inputs[0] ?? '');
    const isFirst = !cast.has(source);
    const isTransposed = ofWeight && !transposedBefore.has(source);
    cast.add(source);
    if (ofWeight) transposedBefore.add(source);
    const kernels = (elements: number, bytesPerElement: readonly number[]): readonly KernelWork[] =>
      bytesPerElement.map((moved) => ({
        ...elementwiseKernel(moved * elements, 0, environment),
        castsOperand: true as const,
      }));
    const { weight, weightTransposed, gradient, ...usual } =
      type.dtype === 'nvfp4' ? movedInFourBits : movedBy[scaling];
    const isFused =
      type.dtype === 'fp8' && scaling === 'transformer-engine' && isNormalized(training, source);
    const { forward, transposed } = isFused ? castByNorm : usual;
    return {
      // In inference weights are cast when they are loaded.
      forward: [
        ...(isFirst ? kernels(read, forward) : noKernels),
        ...(mode === 'training' ? kernels(held, weight) : noKernels),
      ],
      backwardData: ofInput ? [...kernels(given, gradient), ...kernels(held, weightTransposed)] : noKernels,
      backwardWeight: [
        ...(ofWeight && !ofInput ? kernels(given, gradient) : noKernels),
        ...(isTransposed ? kernels(read, transposed) : noKernels),
      ],
    };
  };
}

function isNormalized({ analysis, costs }: TrainingGraph, name: string): boolean {
  const cost = costs[analysis.graph.values.get(name)?.producer ?? -1];
  return cost?.kind === 'known' && cost.class === 'normalization';
}

/** Elements of the three matrices of a product. */
function sizesOf({
  forward: { matmuls = [] },
}: TypedOperator['cost']): Record<'read' | 'held' | 'given', number> {
  const [read, held, given] = matmuls.reduce(
    ([x, w, y], { shape, count }) =>
      shape.kind === 'matmul'
        ? [x + count * shape.m * shape.k, w + count * shape.k * shape.n, y + count * shape.m * shape.n]
        : [x, w, y],
    [0, 0, 0],
  );
  return { read, held, given };
}

/** Bytes per element that each kernel reads and writes, of operands in half precision. */
interface MovedBytes {
  /** Of what a layer reads, in forward, and to be summed over rows for the gradient of its weight. */
  readonly forward: readonly number[];
  readonly transposed: readonly number[];
  /** Of its weight, and for the gradient of what it reads. */
  readonly weight: readonly number[];
  readonly weightTransposed: readonly number[];
  /** Of the gradient of what it gives, for both products. */
  readonly gradient: readonly number[];
}

/** `LayerNormLinear` of Transformer Engine: normalization gives fp8, which is transposed in backward. */
const castByNorm: Pick<MovedBytes, 'forward' | 'transposed'> = { forward: [], transposed: [2] };

/**
 * torchao 0.10, torchao/float8/float8_utils.py, `tensor_to_scale`, and float8_tensor.py, `hp_tensor_to_float8_dynamic`: the greatest
 * absolute value is found, then the tensor is multiplied by its scale in fp32, clamped and cast. Eager: |x| (2 + 2), its maximum (2),
 * to fp32 (2 + 4), times the scale (4 + 4), clamped (4 + 4), cast (4 + 1); a transposed copy of fp8 (1 + 1). Compiled: one kernel casts (2 + 1);
 * the maximum is found where the tensor is made, but of a weight (2). Transformer Engine fecb10bd,
 * transformer_engine/common/transpose/cast_transpose.cu: both layouts by one kernel (2 + 1 + 1), with the scales of steps before; of weights
 * once in a step, for all its micro-batches (`is_first_microbatch`), which is left out.
 */
const movedBy: Readonly<Record<NarrowScaling, MovedBytes>> = {
  eager: {
    forward: [4, 2, 6, 8, 8, 5],
    transposed: [6, 8, 8, 5, 2],
    weight: [4, 2, 6, 8, 8, 5],
    weightTransposed: [6, 8, 8, 5, 2],
    gradient: [4, 2, 6, 8, 8, 5, 2],
  },
  compiled: { forward: [3], transposed: [3], weight: [2, 3], weightTransposed: [3], gradient: [4] },
  'transformer-engine': { forward: [4], transposed: [], weight: [], weightTransposed: [], gradient: [4] },
};

/** An element of NVFP4, with its part of the scale in one byte that 16 elements share. */
const fourBits = 0.5 + 1 / 16;

/**
 * NVFP4 is what Transformer Engine trains in. The greatest absolute value of a tensor is found (2), then one kernel writes both layouts
 * (2 + twice 9/16), with a Hadamard transform and random rounding where they are asked for. Of weights once in a step, which is left out.
 * Sources: Transformer Engine 2.8 transformer_engine/pytorch/tensor/nvfp4_tensor.py, `NVFP4Quantizer`, and
 * common/hadamard_transform/hadamard_transform_cast_fusion.cu; NVIDIA, "Pretraining Large Language Models with NVFP4", arXiv 2509.25149.
 */
const movedInFourBits: MovedBytes = {
  forward: [2, 2 + 2 * fourBits],
  transposed: [],
  weight: [],
  weightTransposed: [],
  gradient: [2, 2 + 2 * fourBits],
};
