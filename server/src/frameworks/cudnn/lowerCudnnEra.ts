/**
 * The training graph as the kernels of frameworks of 2014 to 2019: cuBLAS and cuDNN calls in fp32 on channels-first tensors,
 * every other operator a kernel of its own, biases added apart, no autocast, no TF32, no fused attention.
 *
 * cuDNN picks Winograd or Fourier transforms where they are faster (its developer guide, cudnnConvolutionFwdAlgo_t): that is
 * in the time of a convolution. Before version 5 it had implicit matmuls alone for training. Without cuDNN images are
 * unfolded (`im2col.ts`).
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { RecomputedGroups } from '../../analysis/recomputedGroups.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import type { Mode, Precision } from '../../model/scenario.ts';
import type { LoweredGraph, LoweredOperator } from '../behaviour.ts';
import { lowerEager } from '../pytorch/lowerEager.ts';
import { type UnfoldingLibrary, unfoldConvolution } from './im2col.ts';

export interface CudnnEraOptions {
  /** How convolutions are computed: as cuDNN chooses, by its implicit matmuls alone, or by matmuls of unfolded images. */
  readonly convolution: ConvolutionKernels;
  /** Backward ends with the gradient of what went into the model. */
  readonly inputGradient: boolean;
}

export type ConvolutionKernels = 'cudnn' | 'implicit' | UnfoldingLibrary;

export function lowerCudnnEra(
  training: TrainingGraph,
  precision: Precision,
  mode: Mode,
  { convolution, inputGradient }: CudnnEraOptions,
  recomputed?: RecomputedGroups,
): LoweredGraph {
  const lowered = lowerEager(
    training,
    precision,
    mode,
    { convolutionTf32: false, fusedCalls: false, fusedAttention: false, channelsLast: false },
    recomputed,
  );
  if (convolution === 'cudnn' && !inputGradient) return lowered;
  const operators = lowered.operators.map((operator, index): LoweredOperator | undefined => {
    const isConvolved = operator?.forward.some(isConvolution);
    if (operator === undefined || isConvolved !== true) return operator;
    const whole = inputGradient ? withInputGradient(operator) : operator;
    if (convolution === 'cudnn') return whole;
    if (convolution === 'implicit') return replaceConvolutions(whole, withoutTransforms);
    const hasBias = training.analysis.graph.operators[index]?.inputs.length === 3;
    const unfold = (kernel: KernelWork) => unfoldConvolution(kernel, convolution, hasBias);
    return {
      ...replaceConvolutions(whole, unfold),
      forward: whole.forward.filter(isConvolution).flatMap(unfold),
    };
  });
  return { ...lowered, operators };
}

/** The data gradient of a convolution of images, of the shape of its weight gradient. */
function withInputGradient(operator: LoweredOperator): LoweredOperator {
  if (operator.backwardData.some(isConvolution)) return operator;
  const gradients = operator.backwardWeight.filter(isConvolution).map((kernel) => ({
    ...kernel,
    launches: 1,
    matmuls: (kernel.matmuls ?? []).map(({ shape, count }) => ({
      shape: shape.kind === 'convolution' ? ({ ...shape, pass: 'data' } as const) : shape,
      count,
    })),
  }));
  return { ...operator, backwardData: [...operator.backwardData, ...gradients] };
}

function replaceConvolutions(
  operator: LoweredOperator,
  convolve: (kernel: KernelWork) => readonly KernelWork[],
): LoweredOperator {
  const replace = (kernels: readonly KernelWork[]): readonly KernelWork[] =>
    kernels.flatMap((kernel) => (isConvolution(kernel) ? convolve(kernel) : [kernel]));
  return {
    ...operator,
    forward: replace(operator.forward),
    backwardData: replace(operator.backwardData),
    backwardWeight: replace(operator.backwardWeight),
  };
}

const isConvolution = (kernel: KernelWork): boolean =>
  kernel.matmuls?.some(({ shape }) => shape.kind === 'convolution') === true;

const withoutTransforms = (kernel: KernelWork): readonly KernelWork[] => [
  {
    ...kernel,
    matmuls: (kernel.matmuls ?? []).map(({ shape, count }) => ({
      shape: shape.kind === 'convolution' ? { ...shape, winograd: false, fourier: false } : shape,
      count,
    })),
  },
];
