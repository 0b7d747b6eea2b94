/** The kernels that an operator's own work becomes, without what is copied and cast around them. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { ChannelSums, KernelWork, NormalizedRows, WindowPooling } from '../../hardware/kernelWork.ts';
import { entryAt } from '../../model/at.ts';
import type { Mode } from '../../model/scenario.ts';
import { bytes, flops } from '../../model/units.ts';
import type { KnownCost, Work } from '../../operators/definition.ts';
import { definitionOf } from '../../operators/registry.ts';
import type { OperatorType } from './autocast.ts';
import { bytesOf, noKernels, type TypedOperator } from './eagerStep.ts';
import { sumOfScoreGradients } from './fusedAttention.ts';

interface PassKernels {
  readonly forward: readonly KernelWork[];
  readonly backwardData: readonly KernelWork[];
  readonly backwardWeight: readonly KernelWork[];
}

/** Kernels of the operators of a graph. Those that share their cost and run in the same type share them. */
export function operatorKernels(graph: TrainingGraph, mode: Mode): (typed: TypedOperator) => PassKernels {
  const known = new Map<KnownCost, (PassKernels & Pick<TypedOperator, 'type' | 'environment'>)[]>();
  return (typed) => {
    const { cost, type, environment } = typed;
    const ofCost = known.get(cost) ?? [];
    const before = ofCost.find(
      (kernels) => isSameType(kernels.type, type) && kernels.environment.layout === environment.layout,
    );
    if (before !== undefined) return before;
    const kernels = { type, environment, ...kernelsOf(graph, mode, typed) };
    known.set(cost, [...ofCost, kernels]);
    return kernels;
  };
}

const isSameType = (left: OperatorType, right: OperatorType): boolean =>
  left.dtype === right.dtype && left.bytesPerElement === right.bytesPerElement && left.mixed === right.mixed;

function kernelsOf(graph: TrainingGraph, mode: Mode, typed: TypedOperator): PassKernels {
  const learns = mode === 'training';
  const shaped = (pass: 'forward' | 'backward', kernels: readonly KernelWork[]): readonly KernelWork[] => {
    const pooling = windowPooling(graph, typed, pass);
    const normalized = normalizedRows(graph, typed, pass);
    const channelSums = learns ? channelSumsOf(graph, typed, pass) : undefined;
    if (pooling === undefined && normalized === undefined && channelSums === undefined) return kernels;
    const shape = {
      ...(pooling && { pooling }),
      ...(normalized && { normalized }),
      ...(channelSums && { channelSums }),
    };
    return kernels.map((kernel) => ({ ...kernel, ...shape }));
  };
  return {
    forward: shaped('forward', kernelOf(typed, typed.cost.forward)),
    backwardData: learns ? shaped('backward', backwardDataOf(typed)) : noKernels,
    backwardWeight: learns ? backwardWeightOf(typed) : noKernels,
  };
}

function windowPooling(
  { tensors }: TrainingGraph,
  { operator }: TypedOperator,
  pass: WindowPooling['pass'],
): WindowPooling | undefined {
  const kind = poolingKinds.get(operator.type);
  return kind && { kind, pass, inputs: entryAt(tensors, operator.inputs[0] ?? '').elements };
}

/** Pooling of images by windows. */
const poolingKinds: ReadonlyMap<string, WindowPooling['kind']> = new Map([
  ['MaxPool', 'max'],
  ['AveragePool', 'average'],
]);

/** What each channel of channels-first images costs where a block sums it alone. */
function channelSumsOf(
  { tensors }: TrainingGraph,
  { operator, environment, type }: TypedOperator,
  pass: ChannelSums['pass'],
): ChannelSums | undefined {
  const reads = definitionOf(operator)?.pytorch.channelReads;
  // cuDNN takes no bf16 (aten/src/ATen/native/Normalization.cpp, `use_cudnn`).
  const isOwn = environment.bf16 === true && type.bytesPerElement === 2;
  if (reads === undefined || (environment.layout !== 'channels-first' && !isOwn)) return undefined;
  const input = entryAt(tensors, operator.inputs[0] ?? '');
  const [images = 1, channels = 0] = input.dimensions;
  if (channels === 0) return undefined;
  return {
    pass,
    channels,
    loads: (reads[pass] * input.elements) / channels,
    ...(isOwn ? { ownPlanes: images * channels } : {}),
  };
}

/** The rows of a normalization of which each has a block to itself. */
function normalizedRows(
  { tensors }: TrainingGraph,
  { operator, cost }: TypedOperator,
  pass: NormalizedRows['pass'],
): NormalizedRows | undefined {
  const length = cost.forward.rowLength;
  if (definitionOf(operator)?.pytorch.blockPerRow !== true || !length) return undefined;
  return { rows: entryAt(tensors, operator.inputs[0] ?? '').elements / length, pass };
}

/** The kernels that the definition says, or one. */
function backwardDataOf(typed: TypedOperator): readonly KernelWork[] {
  const { operator, cost } = typed;
  const kernels = kernelOf(typed, cost.backwardData);
  const [whole] = kernels;
  const made = definitionOf(operator)?.pytorch.backwardKernels;
  if (whole?.attention !== undefined) {
    const { type, environment } = typed;
    return [...kernels, ...sumOfScoreGradients(whole.attention, type.bytesPerElement, environment)];
  }
  if (whole === undefined || made === undefined) return kernels;
  return made.map((kernel): KernelWork => {
    if (kernel.share < 1) return { ...whole, bytes: bytes(whole.bytes * kernel.share) };
    if (kernel.elementwise !== true) return whole;
    const { rowLength: _, matmuls: __, attention: ___, ...work } = whole;
    return { ...work, class: 'elementwise' };
  });
}

function backwardWeightOf(typed: TypedOperator): readonly KernelWork[] {
  const { operator, cost, type } = typed;
  const kernels = kernelOf(typed, cost.backwardWeight);
  const columns = cost.forward.rowLength;
  const perBlock = definitionOf(operator)?.pytorch.columnsPerBlock;
  if (perBlock === undefined || columns === undefined) return kernels;
  return kernels.map((kernel) => ({
    ...kernel,
    columnSums: {
      blocks: Math.ceil(columns / perBlock),
      rows: kernel.bytes / (2 * type.bytesPerElement) / columns,
      elements: kernel.bytes / (2 * type.bytesPerElement),
    },
  }));
}

function kernelOf({ cost, type, environment }: TypedOperator, work: Work): readonly KernelWork[] {
  const size = bytesOf(work.traffic, type);
  if (work.kernels === 0 && work.flops === 0 && size === 0) return noKernels;
  return [
    {
      class: cost.class,
      dtype: type.dtype,
      flops: flops(work.flops + (work.recomputedFlops ?? 0)),
      operations: work.operations,
      bytes: size,
      launches: work.kernels,
      environment,
      ...(work.matmuls === undefined ? {} : { matmuls: work.matmuls, bytesPerElement: type.bytesPerElement }),
      ...(work.attention === undefined ? {} : { attention: work.attention }),
      ...(work.rowLength === undefined ? {} : { rowLength: work.rowLength }),
    },
  ];
}
