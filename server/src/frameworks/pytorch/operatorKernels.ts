/** The kernels that an operator's own work becomes, without what is copied and cast around them. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { ChannelSums, KernelWork } from '../../hardware/kernelWork.ts';
import type { Mode } from '../../model/scenario.ts';
import { bytes, flops } from '../../model/units.ts';
import type { KnownCost, Work } from '../../operators/definition.ts';
import type { OperatorType } from './autocast.ts';
import { bytesOf, noKernels, type TypedOperator } from './eagerStep.ts';

interface PassKernels {
  readonly forward: readonly KernelWork[];
  readonly backwardData: readonly KernelWork[];
  readonly backwardWeight: readonly KernelWork[];
}

/** Kernels of the operators of a graph. Those that share their cost and run in the same type share them. */
export function operatorKernels(graph: TrainingGraph, mode: Mode): (typed: TypedOperator) => PassKernels {
  const known = new Map<KnownCost, (PassKernels & { readonly type: OperatorType })[]>();
  return (typed) => {
    const { cost, type } = typed;
    const ofCost = known.get(cost) ?? [];
    const before = ofCost.find((kernels) => isSameType(kernels.type, type));
    if (before !== undefined) return before;
    const kernels = { type, ...kernelsOf(graph, mode, typed) };
    known.set(cost, [...ofCost, kernels]);
    return kernels;
  };
}

const isSameType = (left: OperatorType, right: OperatorType): boolean =>
  left.dtype === right.dtype && left.bytesPerElement === right.bytesPerElement && left.mixed === right.mixed;

function kernelsOf(graph: TrainingGraph, mode: Mode, typed: TypedOperator): PassKernels {
  const forward = kernelOf(typed, typed.cost.forward);
  if (mode === 'inference') return { forward, backwardData: noKernels, backwardWeight: noKernels };
  const summed = (pass: ChannelSums['pass'], kernels: readonly KernelWork[]): readonly KernelWork[] => {
    const channelSums = channelSumsOf(graph, typed, pass);
    return channelSums === undefined ? kernels : kernels.map((kernel) => ({ ...kernel, channelSums }));
  };
  return {
    forward: summed('forward', forward),
    backwardData: summed('backward', backwardDataOf(typed)),
    backwardWeight: backwardWeightOf(typed),
  };
}

/**
 * Batch normalization of channels-first images is cuDNN's `CUDNN_BATCHNORM_SPATIAL` (PyTorch 1.5 to 2.x
 * aten/src/ATen/native/cudnn/BatchNorm.cpp; `SPATIAL_PERSISTENT` is for channels last alone): a block for each channel reads
 * its elements twice, and backward the gradient's beside them. PyTorch's own kernels for bf16 have blocks of planes too
 * (cuda/Normalization.cuh, `batch_norm_collect_statistics_kernel`).
 */
function channelSumsOf(
  { tensors }: TrainingGraph,
  { operator: { type, inputs }, environment }: TypedOperator,
  pass: ChannelSums['pass'],
): ChannelSums | undefined {
  if (type !== 'BatchNormalization' || environment.layout !== 'channels-first') return undefined;
  const input = tensors.get(inputs[0] ?? '');
  const channels = input?.dimensions[1];
  if (input === undefined || channels === undefined || channels === 0) return undefined;
  return { pass, channels, loads: ((pass === 'forward' ? 2 : 4) * input.elements) / channels };
}

/**
 * Softmax multiplies the gradient by its output in a kernel of its own before the one over rows (PyTorch 2.x
 * aten/src/ATen/native/cuda/SoftMax.cu, `softmax_backward_cuda_out`): the same three tensors twice. A power's gradient is
 * three kernels: the power below, times the exponent, times the gradient (torch/csrc/autograd/FunctionsManual.cpp,
 * `pow_backward`). Dropout's gradient is charged as three too: the mask converted, scaled, and times the gradient
 * (`infinitely_differentiable_native_dropout_backward` there). PyTorch takes that formula only where gradients are themselves
 * differentiated; it stands here because NeuSight measured three times what one kernel moves, on V100 and A100.
 */
function backwardDataOf(typed: TypedOperator): readonly KernelWork[] {
  const { operator, cost, type } = typed;
  const kernels = kernelOf(typed, cost.backwardData);
  const [rows] = kernels;
  if (rows === undefined) return kernels;
  if (operator.type === 'Pow') {
    const pair = { ...rows, bytes: bytes((rows.bytes * 2) / 3) };
    return [pair, pair, rows];
  }
  if (operator.type === 'Dropout') {
    const elements = cost.backwardData.traffic.fixedBytes;
    return [1 + type.bytesPerElement, 2 * type.bytesPerElement, 3 * type.bytesPerElement].map((size) => ({
      ...rows,
      bytes: bytes(elements * size),
    }));
  }
  if (operator.type !== 'Softmax') return kernels;
  const { rowLength: _, matmuls: __, ...work } = rows;
  return [{ ...work, class: 'elementwise' }, rows];
}

/**
 * Scale and shift of a layer normalization are summed over all rows by a kernel with one block for each 32 columns (PyTorch
 * 1.13 to 2.6 aten/src/ATen/native/cuda/layer_norm_kernel.cu, `GammaBetaBackwardCUDAKernel_32x32`; pull request 147773:
 * "for large M and small N, we were only using few SMs"). Since 2.7 rows are shared out as well.
 */
function backwardWeightOf(typed: TypedOperator): readonly KernelWork[] {
  const { operator, cost, type } = typed;
  const kernels = kernelOf(typed, cost.backwardWeight);
  const columns = cost.forward.rowLength;
  if (operator.type !== 'LayerNormalization' || columns === undefined) return kernels;
  return kernels.map((kernel) => ({
    ...kernel,
    columnSums: { blocks: Math.ceil(columns / 32), elements: kernel.bytes / (2 * type.bytesPerElement) },
  }));
}

function kernelOf({ cost, type, environment }: TypedOperator, work: Work): readonly KernelWork[] {
  const size = bytesOf(work.traffic, type);
  if (work.kernels === 0 && work.flops === 0 && size === 0) return noKernels;
  return [
    {
      class: cost.class,
      dtype: type.dtype,
      flops: flops(work.flops),
      operations: work.operations,
      bytes: size,
      launches: work.kernels,
      environment,
      ...(work.matmuls === undefined ? {} : { matmuls: work.matmuls, bytesPerElement: type.bytesPerElement }),
      ...(work.rowLength === undefined ? {} : { rowLength: work.rowLength }),
    },
  ];
}
