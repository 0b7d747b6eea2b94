/** The one kernel of a fused group: inputs read once, outputs written once, nothing between them stored. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { KernelEnvironment } from '../../hardware/corrections.ts';
import type { KernelWork } from '../../hardware/kernelTime.ts';
import { bitsPerElement } from '../../model/elementType.ts';
import { bytes, flops } from '../../model/units.ts';
import type { KernelClass, Work } from '../../operators/definition.ts';
import type { KeptTensor, LoweredOperator } from '../behaviour.ts';
import type { OperatorType } from './autocast.ts';
import type { FusedGroup } from './fusedGroups.ts';

/** A member of a group that is not the one that stands for it. */
export const absorbed = (type: OperatorType): LoweredOperator => ({
  numeric: type.numeric,
  width: type.width,
  view: true,
  forward: none,
  backwardData: none,
  backwardWeight: none,
  saved: none,
});

const none: readonly never[] = [];

/**
 * Forward reads inputs and writes outputs; backward reads inputs and output gradients (attention its output
 * too) and writes input gradients. Attention recomputes the scores in backward: five products for four
 * (FlashAttention, arXiv 2205.14135, algorithm 4).
 */
export function lowerGroup(
  training: TrainingGraph,
  group: FusedGroup,
  type: OperatorType,
  keep: (name: string) => readonly KeptTensor[],
  mode: 'training' | 'inference',
  environment: KernelEnvironment,
): LoweredOperator {
  const kernelClass: KernelClass = group.kind;
  const tensors = group.inputs.filter((name) => !isNegligible(training, name));
  const learned = tensors.filter((name) => training.requiresGradient.has(name));
  const read = sizeOf(training, tensors, type.width);
  const written = sizeOf(training, group.outputs, type.width);
  const inputGradients = sizeOf(training, learned, type.width);
  const attention = group.kind === 'attention';
  const forward = sumWork(training, group, 'forward');
  const data = sumWork(training, group, 'backwardData');
  const weight = sumWork(training, group, 'backwardWeight');
  const backwardFlops = (data.flops + weight.flops) * (attention ? 5 / 4 : 1);
  const backwardOperations = data.operations + weight.operations;
  // The last axis is a row of a normalization, whatever came in first.
  const length = training.tensors.get(group.outputs[0] ?? '')?.dimensions.at(-1);
  const rows = group.kind === 'normalization' && length !== undefined ? { rowLength: length } : {};
  const kernel = (products: number, operations: number, size: number): KernelWork => ({
    class: kernelClass,
    numeric: type.numeric,
    flops: flops(products),
    // Scores and their softmax stay in registers; their arithmetic is part of the measured share of attention.
    operations: attention ? 0 : operations,
    bytes: bytes(size),
    launches: 1,
    environment,
    ...rows,
  });
  const learns = mode === 'training' && learned.length > 0;
  return {
    numeric: type.numeric,
    width: type.width,
    view: false,
    forward: [kernel(forward.flops, forward.operations, read + written)],
    backwardData: learns
      ? [kernel(backwardFlops, backwardOperations, read + written * (attention ? 2 : 1) + inputGradients)]
      : [],
    backwardWeight: [],
    saved: learns
      ? [...[...learned, ...(attention ? group.outputs : [])].flatMap(keep), ...statisticsOf(training, group)]
      : [],
  };
}

/** Row statistics kept for backward, in fp32: log-sum-exp of attention, mean and deviation of a normalization. */
function statisticsOf(training: TrainingGraph, group: FusedGroup): readonly KeptTensor[] {
  if (group.kind === 'elementwise') return [];
  const { operators } = training.analysis.graph;
  const softmax = group.operators.find((index) => operators[index]?.type === 'Softmax');
  const name = group.kind === 'attention' ? operators[softmax ?? -1]?.outputs[0] : group.outputs[0];
  const tensor = training.tensors.get(name ?? '');
  const rows = tensor === undefined ? 0 : tensor.elements / (tensor.dimensions.at(-1) || 1);
  return [
    {
      key: `${group.operators[0]}/statistics`,
      bytes: bytes(rows * (group.kind === 'attention' ? 4 : 8)),
      weightCopy: false,
    },
  ];
}

/** Scalars and constants of the file travel with the launch. */
function isNegligible(training: TrainingGraph, name: string): boolean {
  return training.analysis.graph.values.get(name)?.role === 'constant';
}

function sizeOf(training: TrainingGraph, names: readonly string[], width: number): number {
  let size = 0;
  for (const name of names) {
    const tensor = training.tensors.get(name);
    if (tensor === undefined) continue;
    size +=
      tensor.elements *
      (tensor.elementType === 'float32' ? width : (bitsPerElement(tensor.elementType) ?? 0) / 8);
  }
  return size;
}

function sumWork(
  training: TrainingGraph,
  group: FusedGroup,
  pass: 'forward' | 'backwardData' | 'backwardWeight',
): Pick<Work, 'flops' | 'operations'> {
  let products = 0;
  let operations = 0;
  for (const index of group.operators) {
    const cost = training.costs[index];
    if (cost?.kind !== 'known') continue;
    products += cost[pass].flops;
    operations += cost[pass].operations;
  }
  return { flops: products, operations };
}
