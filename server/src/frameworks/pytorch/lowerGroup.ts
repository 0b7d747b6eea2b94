/** The one kernel of a fused group: inputs read once, outputs written once, nothing between them stored. */

import { hasBackward } from '../../analysis/hasBackward.ts';
import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { KernelsOfPass } from '../../composites/composite.ts';
import type { KernelEnvironment } from '../../hardware/kernelEnvironment.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { entryAt, itemAt } from '../../model/at.ts';
import { distinct } from '../../model/distinct.ts';
import { bytesOnGpu } from '../../model/elementType.ts';
import type { Operator } from '../../model/graph.ts';
import { bytes, flops } from '../../model/units.ts';
import type { AttentionShape, BoundTensor, KernelClass, Work } from '../../operators/definition.ts';
import type { KeptTensor, LoweredOperator } from '../behaviour.ts';
import type { OperatorType } from './autocast.ts';
import { attentionShape, scoreGradients, sumOfScoreGradients } from './fusedAttention.ts';
import type { FusedGroup } from './fusedGroups.ts';
import { instructionsOfGroup } from './instructionBound.ts';

/** A member of a group that is not the one that stands for it. */
export const absorbed = (type: Pick<OperatorType, 'dtype' | 'bytesPerElement'>): LoweredOperator => ({
  dtype: type.dtype,
  bytesPerElement: type.bytesPerElement,
  view: true,
  forward: none,
  backwardData: none,
  backwardWeight: none,
  saved: none,
});

const none: readonly never[] = [];

/**
 * How the images that a group reads lie: as its kernel takes them; across, where what comes behind it takes what it gives as it is; or
 * between convolutions that take and give other ones.
 */
export type GivenImages = 'in-order' | 'across' | 'between-others';

/**
 * Forward reads inputs and writes outputs; backward reads inputs and output gradients (attention its output
 * too) and writes input gradients. Attention keeps its mask with queries, keys and values
 * (`_scaled_dot_product_efficient_attention` in PyTorch 2.x tools/autograd/derivatives.yaml) and recomputes the scores in backward: five matmuls for four
 * (FlashAttention, arXiv 2205.14135, algorithm 4).
 */
export function lowerGroup(
  training: TrainingGraph,
  group: FusedGroup,
  type: OperatorType,
  keep: (name: string) => readonly KeptTensor[],
  mode: 'training' | 'inference',
  environment: KernelEnvironment,
  images: GivenImages = 'in-order',
): LoweredOperator {
  const kernelClass: KernelClass = group.kind;
  const tensors = group.inputs.filter((name) => !isNegligible(training, name));
  const isPassed = hasBackward(training, group);
  const learned = isPassed ? tensors.filter((name) => training.requiresGradient.has(name)) : none;
  const read = sizeOf(training, tensors, type.bytesPerElement);
  const written = sizeOf(training, group.outputs, type.bytesPerElement);
  const attention = group.kind === 'attention';
  const forward = sumWork(training, group, 'forward');
  const data = sumWork(training, group, 'backwardData');
  const weight = sumWork(training, group, 'backwardWeight');
  const backwardFlops = (data.flops + weight.flops) * (attention ? 5 / 4 : 1);
  const backwardOperations = data.operations + weight.operations;
  const gathered = gatheredTensor(training, group);
  // The last axis is a row of a normalization that goes row by row, whatever came in first.
  const length = training.tensors.get(group.outputs[0] ?? '')?.dimensions.at(-1);
  const rows =
    group.kind === 'normalization' && gathered === undefined && length !== undefined
      ? { rowLength: length }
      : {};
  const again = gathered === undefined ? 0 : gathered.elements * type.bytesPerElement;
  const kernel = (matmuls: number, operations: number, size: number, launches = 1): KernelWork => ({
    class: kernelClass,
    dtype: type.dtype,
    flops: flops(matmuls),
    // Scores and their softmax stay in registers; their arithmetic is part of the measured share of attention.
    operations: attention ? 0 : operations,
    bytes: bytes(size),
    launches,
    // What steps show of batch normalization says nothing of these kernels.
    ...(gathered === undefined ? { environment } : {}),
    ...rows,
  });
  const shape = attention ? attentionShape(training, group, forward.flops) : undefined;
  // Its kernel gives the gradient of a mask as that of the scores.
  const given =
    shape === undefined ? learned : learned.filter((name) => name !== group.composite?.roles.mask);
  const inputGradients = sizeOf(training, given, type.bytesPerElement);
  const shaped = (pass: AttentionShape['pass'], work: KernelWork): KernelWork => {
    const instructions = instructionsOfGroup(training, group, pass);
    return {
      ...work,
      ...(instructions === undefined ? {} : { instructions }),
      ...(shape === undefined ? {} : { attention: { ...shape, pass } }),
    };
  };
  const ofCall = group.composite?.kernels;
  const [launchesForward, launchesBackward] =
    gathered === undefined ? [ofCall?.forward.launches ?? 1, ofCall?.backward.launches ?? 1] : [3, 5];
  const movedBy = (pass: KernelsOfPass | undefined): number | undefined => pass && pass.tensors * written;
  const moved = (tensorsMoved: number): readonly KernelWork[] =>
    gathered === undefined || !isImage(training, group)
      ? []
      : [layoutChange(tensorsMoved, gathered.elements * type.bytesPerElement, environment)];
  const moves = images === 'in-order' ? [] : moved(images === 'across' ? 1 : 2);
  const learns = mode === 'training' && learned.length > 0;
  return {
    dtype: type.dtype,
    bytesPerElement: type.bytesPerElement,
    view: false,
    forward: [
      shaped(
        'forward',
        kernel(
          forward.flops,
          forward.operations,
          movedBy(ofCall?.forward) ?? read + written + again,
          launchesForward,
        ),
      ),
      ...moves,
    ],
    backwardData: learns
      ? [
          shaped(
            'backward',
            kernel(
              backwardFlops,
              backwardOperations,
              movedBy(ofCall?.backward) ??
                read +
                  written * (attention ? 2 : 1) +
                  inputGradients +
                  2 * again +
                  (shape === undefined ? 0 : scoreGradients(shape) * type.bytesPerElement),
              launchesBackward,
            ),
          ),
          ...(shape === undefined ? [] : sumOfScoreGradients(shape, type.bytesPerElement, environment)),
          // Gradients come and go as the result lies.
          ...(images === 'across' ? [] : moves),
        ]
      : [],
    backwardWeight: [],
    ...(learns && group.composite?.makesAgain === true
      ? { backwardTemporary: bytes(sizeOf(training, tensors, type.bytesPerElement)) }
      : {}),
    saved: learns
      ? [...keptOf(group, tensors, learned).flatMap(keep), ...statisticsOf(training, group, type)]
      : [],
  };
}

function keptOf(
  { kind, composite, outputs }: FusedGroup,
  inputs: readonly string[],
  learned: readonly string[],
): readonly string[] {
  if (kind === 'attention' || composite?.keeps === 'both') return [...inputs, ...outputs];
  if (composite?.kind === 'recurrent-cell') return [...inputs, ...namesOf(composite.roles.next)];
  if (composite?.keeps === 'nothing' || composite?.keeps === 'positions') return [];
  if (composite?.keeps === 'result') return outputs;
  if (composite?.keeps === 'inputs') return inputs;
  if (composite?.keeps === 'input') return [composite.roles.input ?? ''];
  // The gradient of a scale needs what came in, whether that has a gradient or not.
  const input = composite?.roles.input ?? inputs[0] ?? '';
  return kind === 'normalization' ? distinct([input, ...learned]) : learned;
}

const namesOf = (name: string | undefined): readonly string[] => (name === undefined ? [] : [name]);

interface GatheredTensor {
  readonly elements: number;
  /** Groups of all images, each with a mean and a deviation. */
  readonly rows: number;
}

/**
 * What comes in where mean and deviation of a group are gathered before it is normalized. Before operator set 21 exporters
 * write a group normalization as an `InstanceNormalization` of [images, groups, the rest]. Forward is three kernels (moments; scale and shift
 * of each channel; both applied), backward five (sums of each channel; three coefficients of each channel, in two; the gradient
 * of the input; those of scale and shift), of which the first and the applying one read whole tensors (PyTorch 2.x
 * aten/src/ATen/native/cuda/group_norm_kernel.cu, read at commit 0081abf: `GroupNormKernelImplInternal` and its backward).
 */
function gatheredTensor(training: TrainingGraph, group: FusedGroup): GatheredTensor | undefined {
  const { operators } = training.analysis.graph;
  for (const index of group.operators) {
    const operator = itemAt(operators, index);
    const isWhole = operator.type === 'GroupNormalization';
    if (!isWhole && operator.type !== 'InstanceNormalization') continue;
    const { dimensions, elements } = entryAt(training.tensors, operator.inputs[0] ?? '');
    const [images = 1, groups = 1] = dimensions;
    return { elements, rows: images * (isWhole ? groupsOf(operator) : groups) };
  }
  return undefined;
}

function groupsOf({ attributes }: Operator): number {
  const groups = attributes.get('num_groups');
  return groups?.kind === 'int' ? groups.value : 1;
}

const isImage = (training: TrainingGraph, { outputs }: FusedGroup): boolean =>
  training.tensors.get(outputs[0] ?? '')?.dimensions.length === 4;

/**
 * On a GPU a group normalization works on channels-first tensors, and gives such back (PyTorch 2.x
 * aten/src/ATen/native/group_norm.cpp, `input.contiguous()`): between channels-last convolutions what goes in and what
 * comes out is copied, and so are their gradients. `size`: of one tensor, in bytes.
 */
const layoutChange = (tensors: number, size: number, environment: KernelEnvironment): KernelWork => ({
  class: 'elementwise',
  dtype: 'fp32',
  flops: flops(0),
  operations: 0,
  bytes: bytes(2 * tensors * size),
  launches: tensors,
  environment,
});

/** Row statistics kept for backward, in fp32: log-sum-exp of attention, mean and deviation of a normalization, or one; and positions. */
function statisticsOf(
  training: TrainingGraph,
  group: FusedGroup,
  { bytesPerElement }: OperatorType,
): readonly KeptTensor[] {
  if (group.composite?.keeps === 'positions') {
    const { elements } = entryAt(training.tensors, group.outputs[0] ?? '');
    const key = `${group.operators[0]}/positions`;
    return [{ key, bytes: bytes(elements * bytesOnGpu('int64')), weightCopy: false }];
  }
  if (group.composite?.kind === 'weight-norm') {
    // A norm for each element of the scale, in fp32.
    const { elements } = entryAt(training.tensors, group.composite.roles.scale ?? '');
    return [{ key: `${group.operators[0]}/norms`, bytes: bytes(4 * elements), weightCopy: false }];
  }
  if (group.composite?.kind === 'cosine-similarity') {
    // Both divided by their norms; of each norm one before and one behind its bound.
    const { elements } = entryAt(training.tensors, group.composite.roles.product ?? '');
    const rows = entryAt(training.tensors, group.outputs[0] ?? '').elements;
    const size = bytes(2 * bytesPerElement * elements + 4 * bytesPerElement * rows);
    return [{ key: `${group.operators[0]}/divided`, bytes: size, weightCopy: false }];
  }
  if (group.composite?.kind === 'recurrent-cell') {
    const size = bytes(gatesKept(training, group) * bytesPerElement);
    return [{ key: `${group.operators[0]}/gates`, bytes: size, weightCopy: false }];
  }
  if (group.kind === 'elementwise') return [];
  const { operators } = training.analysis.graph;
  const softmax = group.operators.find((index) => operators[index]?.type === 'Softmax');
  const name = group.kind === 'attention' ? operators[softmax ?? -1]?.outputs[0] : group.outputs[0];
  const tensor = training.tensors.get(name ?? '');
  const gathered = gatheredTensor(training, group);
  const rows = gathered?.rows ?? rowsOf(tensor);
  return [
    {
      key: `${group.operators[0]}/statistics`,
      bytes: bytes(rows * (group.kind === 'attention' || group.composite?.kind === 'rms-norm' ? 4 : 8)),
      weightCopy: false,
    },
  ];
}

/** Elements of what PyTorch calls the workspace of a cell: four gates, or three with the state and a part of its product. */
function gatesKept(training: TrainingGraph, { composite }: FusedGroup): number {
  const state = entryAt(training.tensors, composite?.roles.result ?? '').elements;
  return (composite?.name === 'LSTMCell' ? 4 : 5) * state;
}

const rowsOf = (tensor: BoundTensor | undefined): number =>
  tensor === undefined ? 0 : tensor.elements / (tensor.dimensions.at(-1) || 1);

/** Scalars and constants of the file travel with the launch; a small parameter in another layout is none. */
function isNegligible({ analysis, requiresGradient }: TrainingGraph, name: string): boolean {
  return analysis.graph.values.get(name)?.role === 'constant' && !requiresGradient.has(name);
}

function sizeOf(training: TrainingGraph, names: readonly string[], bytesPerElement: number): number {
  let size = 0;
  for (const name of names) {
    const tensor = training.tensors.get(name);
    if (tensor === undefined) continue;
    size +=
      tensor.elements * (tensor.elementType === 'float32' ? bytesPerElement : bytesOnGpu(tensor.elementType));
  }
  return size;
}

function sumWork(
  training: TrainingGraph,
  group: FusedGroup,
  pass: 'forward' | 'backwardData' | 'backwardWeight',
): Pick<Work, 'flops' | 'operations'> {
  let matmuls = 0;
  let operations = 0;
  for (const index of group.operators) {
    const cost = training.costs[index];
    if (cost?.kind !== 'known') continue;
    matmuls += cost[pass].flops;
    operations += cost[pass].operations;
  }
  return { flops: matmuls, operations };
}
