/**
 * The training graph as the kernels that eager PyTorch launches: each operator its own, with the casts that
 * autocast adds, and a bias that was exported as an addition folded back into its product.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { RecomputedGroups } from '../../analysis/recomputedGroups.ts';
import type { KernelEnvironment, Layout } from '../../hardware/corrections.ts';
import type { ChannelSums, KernelWork } from '../../hardware/kernelWork.ts';
import { distinct } from '../../model/distinct.ts';
import { bitsPerElement } from '../../model/elementType.ts';
import { isWeight, type Operator, type Value } from '../../model/graph.ts';
import type { Mode, Precision } from '../../model/scenario.ts';
import { type Bytes, bytes, flops } from '../../model/units.ts';
import type { KnownCost, SavedTensor, Traffic, Work } from '../../operators/definition.ts';
import type { KeptTensor, LoweredGraph, LoweredOperator } from '../behaviour.ts';
import { assignTypes, type OperatorType, type TypeAssignment, type TypeOptions } from './autocast.ts';
import { broadcastOperand } from './broadcastOperand.ts';
import { isFoldedBias } from './foldedBias.ts';
import { type FusedGroup, fusedGroups } from './fusedGroups.ts';
import { addGradientSums } from './gradientSums.ts';
import { absorbed, lowerGroup } from './lowerGroup.ts';
import { recompute } from './recompute.ts';
import { copiesOfTransposed } from './stridedCopies.ts';
import { isView, viewStorage } from './viewStorage.ts';

export function lowerEager(
  training: TrainingGraph,
  precision: Precision,
  mode: Mode,
  options: TypeOptions & { readonly reentrant?: boolean },
  recomputed?: RecomputedGroups,
): LoweredGraph {
  const { operators, groups, environmentOf, stored } = eagerOperators(training, precision, mode, options);
  if (mode === 'inference') return { operators };
  const summed = addGradientSums(training, operators, groups, environmentOf);
  if (recomputed === undefined) return { operators: summed };
  return { operators: recompute(training, summed, recomputed, stored, options.reentrant ?? false) };
}

/** Operators before gradients are added and anything is computed again, and what compiling starts from. */
export interface EagerOperators {
  readonly operators: readonly (LoweredOperator | undefined)[];
  readonly groups: ReadonlyMap<number, FusedGroup>;
  /** What the kernels of an operator have in common with the step. */
  readonly environmentOf: (index: number) => KernelEnvironment;
  /** The value whose memory each value shares: itself, or what it is a view of. */
  readonly storage: (name: string) => string;
  /** The memory of a value as it lies there, without a cast. */
  readonly stored: (name: string) => readonly KeptTensor[];
}

export function eagerOperators(
  training: TrainingGraph,
  precision: Precision,
  mode: Mode,
  options: TypeOptions,
): EagerOperators {
  const groups = options.fusedCalls
    ? fusedGroups(training, options.fusedAttention)
    : new Map<number, FusedGroup>();
  const types = assignTypes(training, precision, options, groups);
  const castWeights = new Set<string>();
  const { storage, copies } = viewStorage(
    training,
    ({ type, inputs: [source = ''], outputs: [result = ''] }) =>
      type === 'Cast' && (types.widths.get(source) ?? 4) !== (types.widths.get(result) ?? 4),
  );
  const layout: Layout = options.channelsLast ? 'channels-last' : 'channels-first';
  const [full, half] = [
    { layout, mixed: false },
    { layout, mixed: true },
  ] as const;
  const environmentOf = (type: OperatorType | undefined): KernelEnvironment =>
    type?.mixed === true ? half : full;
  const kernels = shareKernels(training, mode, environmentOf);
  const operators = training.analysis.graph.operators.map((operator, index): LoweredOperator | undefined => {
    const cost = training.costs[index];
    const type = types.operators[index];
    if (cost === undefined || cost.kind === 'unknown' || type === undefined) return undefined;
    const environment = environmentOf(type);
    const subject = {
      training,
      operator,
      cost,
      type,
      types,
      castWeights,
      storage,
      copies,
      kernels,
      mode,
      environment,
    };
    const group = groups.get(index);
    if (group === undefined && operator.type === 'Transpose') return lowerTranspose(subject, groups);
    if (group === undefined) return lowerOperator(subject);
    if (index !== group.operators.at(-1)) return { ...absorbed(type), inside: true };
    return lowerGroup(training, group, type, (name) => keptValue(subject, name), mode, environment);
  });
  return {
    operators,
    groups,
    environmentOf: (index) => environmentOf(types.operators[index]),
    storage,
    stored: (name) => storedValue({ training, types, storage }, name),
  };
}

interface Subject {
  readonly training: TrainingGraph;
  readonly operator: Operator;
  readonly cost: KnownCost;
  readonly type: OperatorType;
  readonly types: TypeAssignment;
  /** Parameters already cast this step: autocast keeps the cast of a weight until the step ends. */
  readonly castWeights: Set<string>;
  /** The value whose memory each value shares: itself, or what it is a view of. */
  readonly storage: (name: string) => string;
  /** Reshapes that write their result. */
  readonly copies: ReadonlySet<number>;
  readonly kernels: (operator: Operator, cost: KnownCost, type: OperatorType) => PassKernels;
  readonly mode: Mode;
  readonly environment: KernelEnvironment;
}

function lowerOperator(subject: Subject): LoweredOperator {
  const { training, operator, cost, type, mode, kernels } = subject;
  if (subject.copies.has(operator.index)) return copied(subject);
  if (isView(cost, operator)) return { ...absorbed(type), view: true };
  const folded = isFoldedBias(training, operator);
  const casts = castsOf(subject);
  const copies = broadcastCopies(subject);
  const learns = mode === 'training';
  const { forward, backwardData, backwardWeight } = kernels(operator, cost, type);
  return {
    numeric: type.numeric,
    width: type.width,
    view: false,
    forward: [...joined([...casts.forward, ...copies], folded ? none : forward), ...biasOf(subject)],
    backwardData: learns ? joined([...casts.backwardData, ...copies], folded ? none : backwardData) : none,
    backwardWeight: learns ? joined(casts.backwardWeight, backwardWeight) : none,
    saved: learns ? savedBy(subject) : noTensors,
  };
}

/** A view, and the copies that its readers make of it. */
function lowerTranspose(
  { training, operator, type, types, storage, environment, mode }: Subject,
  groups: ReadonlyMap<number, FusedGroup>,
): LoweredOperator {
  const view = { ...absorbed(type), view: true };
  const { forward, backward } = copiesOfTransposed(training, operator, groups);
  if (forward + backward === 0) return view;
  const [source = ''] = operator.inputs;
  const tensor = training.tensors.get(source);
  if (tensor?.elementType !== 'float32') return view;
  const copy = movement(2 * tensor.elements * (types.widths.get(storage(source)) ?? 4), environment);
  const copies = (count: number): readonly KernelWork[] => Array.from({ length: count }, () => copy);
  return { ...view, forward: copies(forward), backwardData: mode === 'training' ? copies(backward) : none };
}

/** A reshape that writes out what is repeated, whose gradient is summed where it was, or a cast of the model's own. */
function copied({ training, operator, type, types, storage, environment, mode }: Subject): LoweredOperator {
  const elements = training.tensors.get(operator.outputs[0] ?? '')?.elements ?? 0;
  const stored = types.widths.get(storage(operator.inputs[0] ?? '')) ?? 4;
  const copy = movement(elements * (stored + type.width), environment);
  const learns = mode === 'training' && training.requiresGradient.has(operator.inputs[0] ?? '');
  return { ...absorbed(type), view: false, forward: [copy], backwardData: learns ? [copy] : none };
}

const movement = (size: number, environment: KernelEnvironment): KernelWork => ({
  class: 'elementwise',
  numeric: 'fp32',
  flops: flops(0),
  operations: 0,
  bytes: bytes(size),
  launches: 1,
  environment,
});

/**
 * A convolution's bias is added in place by a kernel of its own (PyTorch 2.x aten/src/ATen/native/Convolution.cpp,
 * `_convolution`, cuDNN); depthwise kernels add theirs themselves.
 */
function biasOf({ training, operator, cost, type, environment }: Subject): readonly KernelWork[] {
  if (cost.class !== 'convolution' || operator.inputs.length < 3) return none;
  const [output = ''] = operator.outputs;
  const elements = training.tensors.get(output)?.elements ?? 0;
  return [
    {
      class: 'elementwise',
      numeric: 'fp32',
      flops: flops(0),
      operations: elements,
      bytes: bytes(2 * elements * type.width),
      launches: 1,
      environment,
    },
  ];
}

const none: readonly KernelWork[] = [];
const noTensors: readonly KeptTensor[] = [];

function savedBy(subject: Subject): readonly KeptTensor[] {
  const { saved } = subject.cost;
  const [first] = saved;
  if (first === undefined) return noTensors;
  if (saved.length === 1) return savedOf(subject, first, 0);
  return saved.flatMap((tensor, index) => savedOf(subject, tensor, index));
}

/** Most operators have no casts; their kernels are passed on without a copy. */
const joined = (casts: readonly KernelWork[], own: readonly KernelWork[]): readonly KernelWork[] =>
  casts.length === 0 ? own : [...casts, ...own];

interface PassKernels {
  readonly type: OperatorType;
  readonly forward: readonly KernelWork[];
  readonly backwardData: readonly KernelWork[];
  readonly backwardWeight: readonly KernelWork[];
}

/** Operators that share their cost and run in the same type share their kernels. */
function shareKernels(
  graph: TrainingGraph,
  mode: Mode,
  environmentOf: (type: OperatorType) => KernelEnvironment,
): Subject['kernels'] {
  const known = new Map<KnownCost, PassKernels[]>();
  return (operator, cost, type) => {
    const ofCost = known.get(cost) ?? [];
    const before = ofCost.find(
      (kernels) =>
        kernels.type.numeric === type.numeric &&
        kernels.type.width === type.width &&
        kernels.type.mixed === type.mixed,
    );
    if (before !== undefined) return before;
    const training = mode === 'training';
    const environment = environmentOf(type);
    const summed = (pass: ChannelSums['pass'], kernels: readonly KernelWork[]): readonly KernelWork[] => {
      const sums = training ? channelSumsOf(graph, operator, pass, environment) : undefined;
      return sums === undefined ? kernels : kernels.map((kernel) => ({ ...kernel, channelSums: sums }));
    };
    const kernels: PassKernels = {
      type,
      forward: summed('forward', kernelOf(cost, cost.forward, type, environment)),
      backwardData: training ? summed('backward', backwardDataOf(operator, cost, type, environment)) : none,
      backwardWeight: training ? backwardWeightOf(operator, cost, type, environment) : none,
    };
    known.set(cost, [...ofCost, kernels]);
    return kernels;
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
  { type, inputs }: Operator,
  pass: ChannelSums['pass'],
  { layout }: KernelEnvironment,
): ChannelSums | undefined {
  if (type !== 'BatchNormalization' || layout !== 'channels-first') return undefined;
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
function backwardDataOf(
  operator: Operator,
  cost: KnownCost,
  type: OperatorType,
  environment: KernelEnvironment,
): readonly KernelWork[] {
  const kernels = kernelOf(cost, cost.backwardData, type, environment);
  const [rows] = kernels;
  if (rows === undefined) return kernels;
  if (operator.type === 'Pow') {
    const pair = { ...rows, bytes: bytes((rows.bytes * 2) / 3) };
    return [pair, pair, rows];
  }
  if (operator.type === 'Dropout') {
    const elements = cost.backwardData.traffic.fixedBytes;
    return [1 + type.width, 2 * type.width, 3 * type.width].map((size) => ({
      ...rows,
      bytes: bytes(elements * size),
    }));
  }
  if (operator.type !== 'Softmax') return kernels;
  const { rowLength: _, products: __, ...work } = rows;
  return [{ ...work, class: 'elementwise' }, rows];
}

/**
 * Scale and shift of a layer normalization are summed over all rows by a kernel with one block for each 32 columns (PyTorch
 * 1.13 to 2.6 aten/src/ATen/native/cuda/layer_norm_kernel.cu, `GammaBetaBackwardCUDAKernel_32x32`; pull request 147773:
 * "for large M and small N, we were only using few SMs"). Since 2.7 rows are shared out as well.
 */
function backwardWeightOf(
  operator: Operator,
  cost: KnownCost,
  type: OperatorType,
  environment: KernelEnvironment,
): readonly KernelWork[] {
  const kernels = kernelOf(cost, cost.backwardWeight, type, environment);
  const columns = cost.forward.rowLength;
  if (operator.type !== 'LayerNormalization' || columns === undefined) return kernels;
  return kernels.map((kernel) => ({
    ...kernel,
    columnSums: { blocks: Math.ceil(columns / 32), elements: kernel.bytes / (2 * type.width) },
  }));
}

function kernelOf(
  cost: KnownCost,
  work: Work,
  type: OperatorType,
  environment: KernelEnvironment,
): readonly KernelWork[] {
  const size = trafficBytes(work.traffic, type.width);
  if (work.kernels === 0 && work.flops === 0 && size === 0) return none;
  return [
    {
      class: cost.class,
      numeric: type.numeric,
      flops: flops(work.flops),
      operations: work.operations,
      bytes: size,
      launches: work.kernels,
      environment,
      ...(work.products === undefined ? {} : { products: work.products, width: type.width }),
      ...(work.rowLength === undefined ? {} : { rowLength: work.rowLength }),
    },
  ];
}

/** What is written out before a product reads it, and whose gradient is summed again. */
function broadcastCopies({ training, operator, type, environment }: Subject): readonly KernelWork[] {
  if (operator.type !== 'MatMul') return none;
  return distinct(operator.inputs).flatMap((name) => {
    const elements = broadcastOperand(training, operator, name);
    if (elements === undefined) return none;
    const size = (elements + (training.tensors.get(name)?.elements ?? 0)) * type.width;
    return [movement(size, environment)];
  });
}

interface Casts {
  readonly forward: readonly KernelWork[];
  readonly backwardData: readonly KernelWork[];
  readonly backwardWeight: readonly KernelWork[];
}

/** Inputs stored wider or narrower than the operator computes: cast on the way in, their gradients on the way back. */
function castsOf({
  training,
  operator,
  type,
  types,
  castWeights,
  cost,
  storage,
  environment,
}: Subject): Casts {
  if (!types.mixed || cost.class === 'view' || cost.class === 'shape' || cost.class === 'embedding') {
    return noCasts;
  }
  let casts: { forward: KernelWork[]; backwardData: KernelWork[]; backwardWeight: KernelWork[] } | undefined;
  for (const input of distinct(operator.inputs)) {
    const root = storage(input);
    const stored = types.widths.get(root) ?? 4;
    if (stored === type.width) continue;
    const tensor = training.tensors.get(input);
    const value = training.analysis.graph.values.get(root);
    if (tensor === undefined || value === undefined || tensor.elementType !== 'float32') continue;
    if (value.role === 'constant' || value.role === 'buffer') continue;
    const weight = isWeight(value.role);
    if (weight && !halfProducts.has(cost.class)) continue;
    const cast = movement(tensor.elements * (stored + type.width), environment);
    casts ??= { forward: [], backwardData: [], backwardWeight: [] };
    if (!(weight && castWeights.has(root))) {
      if (!type.readsAsStored) casts.forward.push(cast);
      // Autocast keeps only the casts of tensors that are trained (aten/src/ATen/autocast_mode.cpp, `cached_cast`).
      if (value.role === 'parameter') {
        castWeights.add(root);
        casts.backwardWeight.push(cast);
      }
    }
    if (!weight && training.requiresGradient.has(input)) casts.backwardData.push(cast);
  }
  return casts ?? noCasts;
}

const noCasts: Casts = { forward: none, backwardData: none, backwardWeight: none };

/** Normalization takes fp32 weights beside half-precision activations without a cast. */
const halfProducts: ReadonlySet<KnownCost['class']> = new Set([
  'matmul',
  'convolution',
  'depthwise-convolution',
  'attention',
  'recurrent',
]);

/**
 * What autograd keeps, named so that the same memory is counted once. Parameters are kept anyway, but the
 * half-precision copy that autocast made of one is kept for backward too.
 */
function savedOf(subject: Subject, tensor: SavedTensor, index: number): readonly KeptTensor[] {
  const { operator, type } = subject;
  if (tensor.kind === 'extra') {
    return [
      {
        key: `${operator.index}/${index}/${tensor.name}`,
        bytes: trafficBytes(tensor.traffic, type.width),
        weightCopy: false,
      },
    ];
  }
  const name = (tensor.kind === 'input' ? operator.inputs : operator.outputs)[tensor.index];
  return name === undefined ? noTensors : keptValue(subject, name, operator.type === 'MatMul');
}

/** A value as it lies in memory, in the type it was computed in. */
function storedValue(
  { training, types, storage }: Pick<Subject, 'training' | 'types' | 'storage'>,
  name: string,
): readonly KeptTensor[] {
  const root = storage(name);
  const bound = training.tensors.get(root);
  if (bound === undefined) return noTensors;
  const isFloat = bound.elementType === 'float32';
  const width = isFloat ? (types.widths.get(root) ?? 4) : (bitsPerElement(bound.elementType) ?? 0) / 8;
  return [{ key: `${root}:${width}`, bytes: bytes(bound.elements * width), weightCopy: false }];
}

/**
 * A value kept in the type its reader computes in. A cast by autocast makes a copy of its own for each reader, as only
 * those of weights are remembered (aten/src/ATen/autocast_mode.cpp, `cached_cast`), and so does a product of more than two axes of
 * the part of a tensor, which it lays out as a stack of matrices (aten/src/ATen/native/LinearAlgebra.cpp, `matmul`);
 * otherwise the whole of what a view shows is kept.
 */
function keptValue(
  { training, operator, type, types, storage }: Subject,
  name: string,
  laidOut = false,
): readonly KeptTensor[] {
  const root = storage(name);
  const value = training.analysis.graph.values.get(root);
  const read = training.tensors.get(name);
  const whole = training.tensors.get(root);
  if (read === undefined || whole === undefined || value === undefined) return noTensors;
  const isFloat = whole.elementType === 'float32';
  const computed = isFloat ? type.width : (bitsPerElement(whole.elementType) ?? 0) / 8;
  const stored = isFloat ? (types.widths.get(root) ?? 4) : computed;
  const width = type.readsAsStored ? stored : computed;
  const writtenOut = broadcastOperand(training, operator, name);
  // A table is there all the time, unless an operator makes it in each step.
  if (isTable(training, value) && writtenOut === undefined) return noTensors;
  if (isWeight(value.role) && width === stored) return noTensors;
  const weightCopy = isWeight(value.role);
  if (writtenOut !== undefined) {
    return [
      { key: `${name}:${width}@${operator.index}`, bytes: bytes(writtenOut * width), weightCopy: false },
    ];
  }
  const copiesPart = (laidOut || width !== stored) && read.elements !== whole.elements;
  const ownCopy =
    type.mixed && !types.castsByHand && width !== stored && !weightCopy ? `@${operator.index}` : '';
  return [
    {
      key: `${copiesPart ? name : root}:${width}${ownCopy}`,
      bytes: bytes((copiesPart ? read : whole).elements * width),
      weightCopy,
    },
  ];
}

const isTable = ({ analysis: { graph } }: TrainingGraph, { role, producer }: Value): boolean =>
  (role === 'constant' || role === 'buffer') &&
  (producer === undefined || graph.operators[producer]?.type === 'Constant');

const trafficBytes = (traffic: Traffic, width: number): Bytes =>
  bytes(traffic.float32Elements * width + traffic.fixedBytes);
