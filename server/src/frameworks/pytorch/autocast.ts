/**
 * Which operators run in which number type in eager PyTorch, and the casts between them.
 *
 * Which autocast runs in half precision, in fp32 or in the widest type of its inputs, each operator's definition says.
 * Parameters stay fp32 and are cast once per step.
 */

import { capturedNames } from '../../analysis/capturedNames.ts';
import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { operatorMarks } from '../../analysis/operatorMarks.ts';
import type { AttentionKernel } from '../../hardware/kernelEnvironment.ts';
import type { Dtype } from '../../model/dtype.ts';
import { isNarrow } from '../../model/dtype.ts';
import { isFloatingPoint } from '../../model/elementType.ts';
import type { Operator } from '../../model/graph.ts';
import type { Precision } from '../../model/scenario.ts';
import { isMatmulClass, type OperatorCost } from '../../operators/definition.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';
import { definitionOf } from '../../operators/registry.ts';
import { CastsByHand } from './castsByHand.ts';
import { isConvertedMask } from './convertedMasks.ts';
import { biasedMatmul } from './foldedBias.ts';
import type { FusedGroup } from './fusedGroups.ts';
import { isNarrowProduct, type NarrowScaling } from './narrowProducts.ts';

/** What an operator computes in, and how wide the float32 tensors of the file are for it. */
export interface OperatorType {
  readonly dtype: Dtype;
  /** Bytes per element. */
  readonly bytesPerElement: number;
  /** It runs under autocast. */
  readonly mixed: boolean;
  /** Its kernel reads tensors of other types as stored: no cast runs before it, and they are kept as stored. */
  readonly readsAsStored?: true;
}

export interface TypeAssignment {
  /** Aligned with the operators of the graph. */
  readonly operators: readonly OperatorType[];
  /** Bytes per element that each value is stored with where it is float32 in the file; 4 where absent. */
  readonly elementBytes: ReadonlyMap<string, number>;
  /** Autocast is on somewhere: types differ, and casts are needed. */
  readonly mixed: boolean;
  /** What casts there are stand in the model, once for all readers; autocast casts for each. */
  readonly castsByHand: boolean;
}

/** What a loss that writes over its scores computes in: their own fp32 copy, or one beside it. */
export type LossCopy = 'of scores' | 'beside scores';

export interface TypeOptions {
  /** `torch.backends.cudnn.allow_tf32`, true by default: fp32 convolutions use TF32 on GPUs that have it. */
  readonly convolutionTf32: boolean;
  /** Attention, GELU and the like are one call each, not written out operator by operator. */
  readonly fusedCalls: boolean;
  /** Whether attention is one kernel that never stores the scores; left out, as the graph shows it. */
  readonly fusedAttention?: boolean | undefined;
  /** Which kernels compute fused attention; left out, the newest. */
  readonly attentionKernel?: AttentionKernel | undefined;
  /** Gradients of layer normalization share rows out (`KernelEnvironment`). */
  readonly sharesRows?: boolean;
  /** Matmuls by an older cuBLAS (`KernelEnvironment`). */
  readonly olderMatmuls?: boolean;
  /** Matmuls of ragged sides are padded where that is faster (`KernelEnvironment`). */
  readonly padsMatmuls?: boolean;
  /** Composites but for attention are one kernel each, however the graph has them. */
  readonly fusedByHand?: boolean;
  /** Images in channels-last memory format. */
  readonly channelsLast: boolean;
  /** Activations have `inplace=True`. */
  readonly inPlace?: boolean | undefined;
  /**
   * In fp16 and bf16 everything is computed and stored in them, weights too, and nothing is cast: as after
   * `model.to(bfloat16)`, and with FSDP's `MixedPrecision(param_dtype=bfloat16)`.
   */
  readonly wholeHalf?: boolean;
  /** With `wholeHalf`: losses take their scores in fp32, whatever the program says. */
  readonly widensScores?: boolean;
  /** Losses of scores write over a copy of them. */
  readonly lossInPlace?: LossCopy;
  /** Casts of weights are remembered for a step, as autocast of PyTorch does. */
  readonly remembersCasts?: boolean;
  /** Who casts what products in fp8 read; left out, torchao in eager mode. */
  readonly narrowScaling?: NarrowScaling;
}

/** Types of all operators; a layer that a spec gives a precision of its own is in a context of its own. */
export function assignTypes(
  training: TrainingGraph,
  precision: Precision,
  options: TypeOptions,
  groups: ReadonlyMap<number, FusedGroup> = new Map(),
): TypeAssignment {
  const elementBytes = new Map<string, number>();
  const groupTypes = new Map<FusedGroup, OperatorType>();
  const marks = operatorMarks(training.analysis);
  const precisionOf = (index: number): Precision => marks?.[index]?.precision ?? precision;
  let mixed = isMixed(precision);
  const isWholeHalf = mixed && options.wholeHalf === true;
  if (isWholeHalf) narrowGiven(training, elementBytes);
  const casts = new CastsByHand(training);
  const operators = training.analysis.graph.operators.map((operator, index) => {
    const group = groups.get(index);
    const own = precisionOf(index);
    mixed ||= isMixed(own);
    const known =
      group === undefined
        ? isMixed(own) && isConvertedMask(training, operator, groups)
          ? ofCalledAttention
          : undefined
        : groupTypes.get(group);
    // What a group gives was cast as what goes into it.
    if (known !== undefined) casts.follow(operator);
    const asked =
      known ??
      (isMixed(own)
        ? isWholeHalf
          ? widensLoss(operator, options)
            ? { dtype: 'fp32', bytesPerElement: 4, mixed: false }
            : halfType(training.costs[index], own, group)
          : withCast(
              operator,
              autocastType(training, operator, training.costs[index], own, elementBytes, group),
              casts,
              elementBytes,
            )
        : fullType(training.costs[index], own, options, group));
    const type: OperatorType =
      isNarrow(asked.dtype) && !isNarrowProduct(training, operator) ? { ...asked, dtype: 'bf16' } : asked;
    if (group !== undefined) groupTypes.set(group, type);
    for (const output of operator.outputs) {
      if (output !== '' && type.bytesPerElement !== 4) elementBytes.set(output, type.bytesPerElement);
    }
    return type;
  });
  return { operators, elementBytes, mixed, castsByHand: isWholeHalf };
}

/** What a call of attention makes of its mask. */
const ofCalledAttention: OperatorType = { dtype: 'fp32', bytesPerElement: 2, mixed: true };

const withCast = (
  operator: Operator,
  type: OperatorType,
  casts: CastsByHand,
  elementBytes: ReadonlyMap<string, number>,
): OperatorType => {
  const bytesPerElement = casts.bytesPerElementOf(operator, elementBytes.get(operator.inputs[0] ?? '') ?? 4);
  return bytesPerElement === undefined ? type : { ...type, bytesPerElement };
};

const isMixed = (precision: Precision): boolean =>
  precision === 'fp16' || precision === 'bf16' || isNarrow(precision);

/** Weights and inputs of the model in half precision. */
function narrowGiven({ analysis }: TrainingGraph, elementBytes: Map<string, number>): void {
  for (const { name } of analysis.parameters) elementBytes.set(name, 2);
  for (const { name } of analysis.frozen) elementBytes.set(name, 2);
  for (const name of analysis.graph.inputs) elementBytes.set(name, 2);
}

/** A loss whose scores the program or the framework casts to fp32. */
const widensLoss = (operator: Operator, { widensScores }: TypeOptions): boolean =>
  hasTrait(operator, 'loss-of-scores') && (widensScores === true || operator.widensScores === true);

/** Every tensor is narrow; what is no matmul computes in fp32 inside its kernel. */
function halfType(
  cost: OperatorCost | undefined,
  precision: Precision,
  group: FusedGroup | undefined,
): OperatorType {
  const kernelClass = cost?.kind === 'known' ? cost.class : undefined;
  const isMatmul = group?.kind === 'attention' || isMatmulClass(kernelClass);
  if (!isMatmul) return { dtype: 'fp32', bytesPerElement: 2, mixed: true };
  const half = precision === 'fp16' ? 'fp16' : 'bf16';
  const dtype = isNarrow(precision) && kernelClass === 'matmul' ? precision : half;
  return { dtype, bytesPerElement: 2, mixed: true };
}

function autocastType(
  training: TrainingGraph,
  operator: Operator,
  cost: OperatorCost | undefined,
  precision: Precision,
  elementBytes: ReadonlyMap<string, number>,
  group: FusedGroup | undefined,
): OperatorType {
  const half: Dtype = precision === 'fp16' ? 'fp16' : 'bf16';
  // Masks and integers do not widen what they are multiplied with.
  if (operator.isPromotion === true && !isFloat(training, operator.inputs[0] ?? ''))
    return { dtype: 'fp32', bytesPerElement: 2, mixed: true };
  if (operator.isOutsideAutocast === true)
    return typeOutside(training, operator, cost, half, elementBytes, group);
  if (isDrawnFromNothing(training, operator, group))
    return { dtype: 'fp32', bytesPerElement: 2, mixed: true };
  if (group?.kind === 'attention') return { dtype: half, bytesPerElement: 2, mixed: true };
  if (group?.kind === 'normalization') return { dtype: 'fp32', bytesPerElement: 4, mixed: true };
  if (group?.kind === 'elementwise') return typeOfCall(training, group, elementBytes);
  const kernelClass = cost?.kind === 'known' ? cost.class : undefined;
  const autocast = definitionOf(operator)?.pytorch.autocast ?? 'widest';
  if ((autocast === 'half' || autocast === 'subgraph') && isMatmulClass(kernelClass)) {
    const dtype = isNarrow(precision) && kernelClass === 'matmul' ? precision : half;
    return { dtype, bytesPerElement: 2, mixed: true };
  }
  if (autocast === 'half' && kernelClass === 'elementwise')
    return { dtype: 'fp32', bytesPerElement: 2, mixed: true };
  if (autocast === 'fp32' || autocast === 'fp32-result' || autocast === 'fp32-softmax') {
    const converts = autocast === 'fp32-result' || (autocast === 'fp32-softmax' && precision !== 'bf16');
    return { dtype: 'fp32', bytesPerElement: 4, mixed: true, ...(converts ? { readsAsStored: true } : {}) };
  }
  if (autocast === 'first')
    return { dtype: 'fp32', bytesPerElement: elementBytes.get(operator.inputs[0] ?? '') ?? 4, mixed: true };
  const matmul = biasedMatmul(training, operator);
  if (autocast !== 'promote' || matmul !== undefined) {
    const inputs = matmul === undefined ? [...operator.inputs, ...capturedNames(operator)] : [matmul];
    return { dtype: 'fp32', bytesPerElement: widestInput(training, inputs, elementBytes), mixed: true };
  }
  const bytesPerElement = promoted(training, operator.inputs, elementBytes);
  return { dtype: 'fp32', bytesPerElement, mixed: true, readsAsStored: true };
}

/** Where the program turns autocast off: in the widest of what is read, as outside of all regions. */
function typeOutside(
  training: TrainingGraph,
  { inputs }: Operator,
  cost: OperatorCost | undefined,
  half: Dtype,
  elementBytes: ReadonlyMap<string, number>,
  group: FusedGroup | undefined,
): OperatorType {
  const bytesPerElement = promoted(training, group?.inputs ?? inputs, elementBytes);
  const isProduct =
    group?.kind === 'attention' || isMatmulClass(cost?.kind === 'known' ? cost.class : undefined);
  const dtype = isProduct && bytesPerElement === 2 ? half : 'fp32';
  return { dtype, bytesPerElement, mixed: true, readsAsStored: true };
}

/** What one call runs in that stands as several operators: as the list that names it says, else in its widest activation. */
function typeOfCall(
  training: TrainingGraph,
  { inputs, composite }: FusedGroup,
  elementBytes: ReadonlyMap<string, number>,
): OperatorType {
  switch (composite?.autocast) {
    case 'fp32':
      return { dtype: 'fp32', bytesPerElement: 4, mixed: true };
    case 'fp32-result':
      return { dtype: 'fp32', bytesPerElement: 4, mixed: true, readsAsStored: true };
    case 'half':
      return { dtype: 'fp32', bytesPerElement: 2, mixed: true };
    case 'promote':
      return { dtype: 'fp32', bytesPerElement: promoted(training, inputs, elementBytes), mixed: true };
    case undefined:
      return {
        dtype: 'fp32',
        bytesPerElement: widestInput(training, inputs, elementBytes),
        mixed: true,
        readsAsStored: true,
      };
  }
}

/** Bytes per element of the widest of all inputs. */
const promoted = (
  training: TrainingGraph,
  inputs: readonly string[],
  elementBytes: ReadonlyMap<string, number>,
): number =>
  Math.max(
    widestInput(training, inputs, elementBytes),
    ...inputs.map((input) => (promotes(training, input) ? (elementBytes.get(input) ?? 4) : 0)),
  );

/**
 * What layers draw without data to be like they draw in the type of what they change by it (`dtype=x.dtype`, `x.new_empty`; so do
 * torchvision, timm and transformers where they drop branches): it widens nothing.
 */
function isDrawnFromNothing(
  { analysis: { graph, costing } }: TrainingGraph,
  operator: Operator,
  group: FusedGroup | undefined,
): boolean {
  const members = group?.operators.flatMap((index) => graph.operators[index] ?? []) ?? [operator];
  const inputs = group?.inputs ?? operator.inputs;
  return (
    members.some((member) => hasTrait(member, 'random')) &&
    inputs.every((name) => {
      const value = graph.values.get(name);
      const isData = value?.role === 'activation' || value?.role === 'input';
      return !isData || costing.auxiliary.shapeArithmetic[value?.producer ?? -1] === true;
    })
  );
}

const isFloat = ({ tensors }: TrainingGraph, name: string): boolean =>
  isFloatingPoint(tensors.get(name)?.elementType ?? 'float32');

/** Whether a tensor counts in a promotion that `widestInput` leaves out: scalars do not, as numbers of Python do not. */
function promotes({ analysis, tensors }: TrainingGraph, input: string): boolean {
  const tensor = tensors.get(input);
  if (tensor?.elementType !== 'float32') return false;
  const isConstant = analysis.graph.values.get(input)?.role === 'constant';
  return isConstant ? tensor.elements > 1 : tensor.dimensions.length > 0;
}

/** The widest of what is computed or comes in; parameters count only where there is none of both (an embedding's table). */
function widestInput(
  training: TrainingGraph,
  inputs: readonly string[],
  elementBytes: ReadonlyMap<string, number>,
): number {
  let widest = 0;
  for (const input of inputs) {
    const value = training.analysis.graph.values.get(input);
    if (value?.role !== 'activation' && value?.role !== 'input') continue;
    if (value.type.kind === 'tensor' && value.type.elementType !== 'float32') continue;
    widest = Math.max(widest, elementBytes.get(input) ?? 4);
  }
  return widest === 0 ? 4 : widest;
}

function fullType(
  cost: OperatorCost | undefined,
  precision: Precision,
  options: TypeOptions,
  group: FusedGroup | undefined,
): OperatorType {
  const kernelClass = cost?.kind === 'known' ? cost.class : undefined;
  const matmuls = group?.kind === 'attention' || isMatmulClass(kernelClass);
  const tf32 =
    matmuls && (precision === 'tf32' || (kernelClass === 'convolution' && options.convolutionTf32));
  return { dtype: tf32 ? 'tf32' : 'fp32', bytesPerElement: 4, mixed: false };
}
