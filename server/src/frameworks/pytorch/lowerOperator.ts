/** One operator of eager PyTorch that no group holds: its kernels, and what is copied and cast around them. */

import { hasBackward } from '../../analysis/hasBackward.ts';
import { operatorMarks } from '../../analysis/operatorMarks.ts';
import { producerOf } from '../../composites/flow.ts';
import type { KernelEnvironment } from '../../hardware/kernelEnvironment.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { entryAt } from '../../model/at.ts';
import { countElements } from '../../model/countElements.ts';
import { distinct } from '../../model/distinct.ts';
import { type Graph, isWeight, type Operator } from '../../model/graph.ts';
import { hasTrait, inPyTorch } from '../../operators/operatorFacts.ts';
import type { LoweredOperator } from '../behaviour.ts';
import { broadcastOperand } from './broadcastOperand.ts';
import { lowerCrossEntropy } from './crossEntropy.ts';
import { dequantizedWeights } from './dequantizedWeights.ts';
import { type EagerStep, noKernels, storedBytesPerElement, type TypedOperator } from './eagerStep.ts';
import { castKernel, elementwiseKernel } from './elementwiseKernel.ts';
import { isFoldedBias } from './foldedBias.ts';
import type { FusedGroup } from './fusedGroups.ts';
import type { CastingReader, InputCasts } from './inputCasts.ts';
import { instructionsOf, withInstructions } from './instructionBound.ts';
import { keptByAutocast, keptForBackward } from './keptTensors.ts';
import { kernelsOfMask } from './kernelsOfMask.ts';
import { absorbed } from './lowerGroup.ts';
import { copiedMatrices, matricesRead } from './matricesRead.ts';
import type { NarrowScaling } from './narrowProducts.ts';
import { operandCasts } from './operandCasts.ts';
import { operatorKernels } from './operatorKernels.ts';
import { copiesOfTransposed, isGradientTransposed } from './stridedCopies.ts';
import { liesInOrder } from './strides.ts';
import { isView } from './viewStorage.ts';

/** Lowers the operators of a step, which are given in the order in which they run. */
export function operatorLowering(
  step: EagerStep,
  groups: ReadonlyMap<number, FusedGroup>,
  scaling: NarrowScaling,
  castsOf: (reader: CastingReader) => InputCasts,
): (typed: TypedOperator) => LoweredOperator {
  const { training, mode } = step;
  const operandCastsOf = operandCasts(step, scaling);
  const kernelsOf = operatorKernels(training, mode);
  const learns = mode === 'training';
  const marks = learns ? operatorMarks(training.analysis) : undefined;
  const dropped = (kernels: readonly KernelWork[], { index }: Operator): readonly KernelWork[] =>
    marks?.[index]?.attentionDropout === undefined
      ? kernels
      : kernels.map((kernel) =>
          kernel.attention === undefined
            ? kernel
            : { ...kernel, attention: { ...kernel.attention, dropped: true } },
        );
  return (typed) => {
    const { operator, cost, type } = typed;
    if (inPyTorch(operator)?.view === 'permute') return lowerTranspose(step, typed, groups);
    if (step.copies.has(operator.index)) return lowerCopy(step, typed);
    if (inPyTorch(operator)?.view === 'split') return lowerSplit(step, typed, groups);
    if (isView(cost, operator)) return lowerView(step, typed);
    const isFolded = isFoldedBias(training, step.layout, operator);
    const casts = castsOf({
      ...typed,
      inputs: operator.inputs,
      outputs: operator.outputs,
      class: cost.class,
    });
    const ordered = orderedCopies(step, typed);
    const copies = [...broadcastCopies(step, typed, operator.inputs), ...ordered];
    const { forward: whole, backwardData: wholeBack, backwardWeight } = kernelsOf(typed);
    const backwardData = dropped(
      withInstructions(wholeBack, instructionsOf(step, typed, 'backward')),
      operator,
    );
    const saved = learns ? keptForBackward(step, typed) : keptByAutocast(step, typed, casts);
    const loss = lowerCrossEntropy(step, typed, { forward: whole, backwardData, saved });
    if (loss !== undefined) return loss;
    const forward = dropped(withInstructions(whole, instructionsOf(step, typed, 'forward')), operator);
    const scaled = operandCastsOf(typed, {
      ofInput: backwardData.length > 0,
      ofWeight: backwardWeight.length > 0,
    });
    const dequantized = dequantizedWeights(step, typed);
    const own = [
      ...dequantized.kernels,
      ...casts.forward,
      ...copies,
      ...matrixCopies(step, typed),
      ...scaled.forward,
      ...kernelsOfMask(step, typed),
    ];
    const trained = operator.inputs.filter((name) => training.requiresGradient.has(name));
    const summed = hasBackward(training, operator)
      ? [...broadcastCopies(step, typed, trained), ...ordered]
      : noKernels;
    const again = backwardData.length > 0 ? dequantized.kernels : noKernels;
    const ownBackward = [...casts.backwardData, ...summed, ...scaled.backwardData, ...again];
    return {
      dtype: type.dtype,
      bytesPerElement: type.bytesPerElement,
      view: false,
      forward: [...joined(own, isFolded ? noKernels : forward), ...biasOf(step, typed)],
      ...(casts.weights.length === 0 ? {} : { weightCasts: casts.weights }),
      backwardData: learns ? joined(ownBackward, isFolded ? noKernels : backwardData) : noKernels,
      backwardWeight: learns
        ? joined([...casts.backwardWeight, ...scaled.backwardWeight], backwardWeight)
        : noKernels,
      saved,
      ...(dequantized.made === 0 ? {} : { forwardTemporary: dequantized.made }),
      ...(dequantized.made === 0 || again.length === 0 ? {} : { backwardTemporary: dequantized.made }),
    };
  };
}

/** A view, and the copies that its readers make of it. */
function lowerTranspose(
  step: EagerStep,
  typed: TypedOperator,
  groups: ReadonlyMap<number, FusedGroup>,
): LoweredOperator {
  const { operator, type, environment } = typed;
  const { training, mode } = step;
  const view = { ...absorbed(type), view: true };
  const { forward, backward } = copiesOfTransposed(training, step, operator, groups);
  const copy = copyInOrder(step, operator.outputs[0] ?? '', environment);
  const copies = (count: number): readonly KernelWork[] => Array.from({ length: count }, () => copy).flat();
  return {
    ...view,
    forward: [...copies(forward), ...laidOutCopy(step, typed)],
    backwardData: mode === 'training' ? copies(backward) : noKernels,
  };
}

/** `contiguous()` of what a view gives. */
function laidOutCopy(step: EagerStep, { operator, environment }: TypedOperator): readonly KernelWork[] {
  const [result = ''] = operator.outputs;
  return step.laidOut.has(result) ? copyInOrder(step, result, environment) : noKernels;
}

/** A tensor is copied, element by element, to one that lies in order. */
function copyInOrder(step: EagerStep, name: string, environment: KernelEnvironment): readonly KernelWork[] {
  const tensor = step.training.tensors.get(name);
  if (tensor?.elementType !== 'float32') return noKernels;
  const { elements } = tensor;
  const kernel = step.layout(name)?.strides.at(-1) === 1 ? 'strided' : 'transposed';
  const size = 2 * elements * storedBytesPerElement(step, name);
  return [elementwiseKernel(size, 0, environment, { elements, kernel })];
}

/**
 * A view, whose gradient is a view again; that of a part of its source is copied into zeros of the source's size, axis by axis
 * (PyTorch 2.x torch/csrc/autograd/FunctionsManual.cpp, `slice_backward_wrapper`; ATen/native/TensorShape.cpp, `select_backward`).
 */
function lowerView(step: EagerStep, typed: TypedOperator): LoweredOperator {
  const { operator, type, environment } = typed;
  const { training, mode } = step;
  const view = { ...absorbed(type), view: true, forward: laidOutCopy(step, typed) };
  const [source = ''] = operator.inputs;
  const [result = ''] = operator.outputs;
  if (mode !== 'training' || !hasBackward(training, operator)) return view;
  const whole = training.tensors.get(source)?.dimensions;
  const part = training.tensors.get(result)?.dimensions;
  if (whole === undefined || part === undefined || !takesParts(operator)) return view;
  const kept = hasTrait(operator, 'looks-up') ? keptBySelect(operator, whole) : part;
  const backwardData: KernelWork[] = [];
  const size = [...whole];
  for (const [axis, length] of kept.entries()) {
    const before = countElements(size);
    if (size[axis] === length) continue;
    size[axis] = length;
    backwardData.push(elementwiseKernel(before * type.bytesPerElement, 0, environment));
    const copied = 2 * countElements(size) * type.bytesPerElement;
    // A copy of no elements launches nothing, and leaves the zeros (aten/src/ATen/native/Copy.cpp).
    if (copied > 0) backwardData.push(elementwiseKernel(copied, 0, environment));
  }
  return { ...view, backwardData };
}

const takesParts = (operator: Operator): boolean =>
  inPyTorch(operator)?.view === 'slice' || hasTrait(operator, 'looks-up');

/** One entry along the axis, which the result has no more. */
const keptBySelect = ({ attributes }: Operator, whole: readonly number[]): readonly number[] => {
  const given = attributes.get('axis');
  const axis = given?.kind === 'int' ? given.value : 0;
  const selected = axis < 0 ? axis + whole.length : axis;
  return whole.map((size, position) => (position === selected ? 1 : size));
};

/**
 * Views, whose gradients are put together again (PyTorch 2.x torch/csrc/autograd/FunctionsManual.cpp, `split_backward`,
 * `unbind_backward`). Those of queries, keys and values lie tokens first where attention read them so, and are copied element by element.
 */
function lowerSplit(
  step: EagerStep,
  { operator, type, environment }: TypedOperator,
  groups: ReadonlyMap<number, FusedGroup>,
): LoweredOperator {
  const { training, mode, layout } = step;
  const view = { ...absorbed(type), view: true };
  const [source = ''] = operator.inputs;
  const learns = mode === 'training' && hasBackward(training, operator) && operator.outputs.length > 1;
  if (!learns) return view;
  const { elements } = entryAt(training.tensors, source);
  const isStrided = operator.outputs.some((part) => isGradientTransposed(training, layout, part, groups));
  const copied = isStrided ? { elements, kernel: 'strided' as const } : undefined;
  return {
    ...view,
    backwardData: [elementwiseKernel(2 * elements * type.bytesPerElement, 0, environment, copied)],
  };
}

/** A reshape that writes out what is repeated, whose gradient is summed where it was, or a cast of the model's own. */
function lowerCopy(step: EagerStep, { operator, type, environment }: TypedOperator): LoweredOperator {
  const { training, mode } = step;
  const [source = ''] = operator.inputs;
  const elements = entryAt(training.tensors, operator.outputs[0] ?? '').elements;
  const stored = storedBytesPerElement(step, source);
  const copy = castKernel(elements, stored, type.bytesPerElement, environment);
  const back = castKernel(elements, type.bytesPerElement, stored, environment);
  const learns = mode === 'training' && hasBackward(training, operator);
  return { ...absorbed(type), view: false, forward: [copy], backwardData: learns ? [back] : noKernels };
}

/** A layer normalization copies what does not lie in order, and once more in backward. */
function orderedCopies(step: EagerStep, { operator, environment }: TypedOperator): readonly KernelWork[] {
  const [source = ''] = operator.inputs;
  if (inPyTorch(operator)?.operands !== 'contiguous') return noKernels;
  // Of what has no known sizes the cost of the operator may be known all the same.
  const lies = step.layout(source);
  return lies === undefined || liesInOrder(lies) ? noKernels : copyInOrder(step, source, environment);
}

/** Operands that a matmul lays out as matrices, but for those that a `Transpose` before it accounts for. */
function matrixCopies(step: EagerStep, { operator, environment }: TypedOperator): readonly KernelWork[] {
  if (inPyTorch(operator)?.operands !== 'matrices') return noKernels;
  return distinct(operator.inputs).flatMap((name) => {
    if (isTransposed(step.training.analysis.graph, name)) return noKernels;
    if (broadcastOperand(step.training, operator, name) !== undefined) return noKernels;
    const matrices = matricesRead(step, operator, name);
    const isCopied = matrices !== undefined && copiedMatrices(step, name, matrices) !== undefined;
    return isCopied ? copyInOrder(step, name, environment) : noKernels;
  });
}

function isTransposed(graph: Graph, name: string): boolean {
  const maker = producerOf(graph, name);
  if (maker?.type === 'Identity') return isTransposed(graph, maker.inputs[0] ?? '');
  return maker?.type === 'Transpose';
}

/** What is written out before a matmul reads it, and whose gradient is summed again. */
function broadcastCopies(
  { training }: EagerStep,
  { operator, type, environment }: TypedOperator,
  operands: readonly string[],
): readonly KernelWork[] {
  if (inPyTorch(operator)?.operands !== 'matrices') return noKernels;
  return distinct(operands).flatMap((name) => {
    const elements = broadcastOperand(training, operator, name);
    if (elements === undefined) return noKernels;
    const size = (elements + entryAt(training.tensors, name).elements) * type.bytesPerElement;
    return [elementwiseKernel(size, 0, environment)];
  });
}

/**
 * A convolution's bias is added in place by a kernel of its own (PyTorch 2.x aten/src/ATen/native/Convolution.cpp,
 * `_convolution`, cuDNN); depthwise kernels add theirs themselves.
 */
function biasOf(
  { training }: EagerStep,
  { operator, cost, type, environment }: TypedOperator,
): readonly KernelWork[] {
  const bias = operator.inputs[2] ?? '';
  if (cost.class !== 'convolution' || bias === '' || isZero(training.analysis.graph, bias)) return noKernels;
  const elements = entryAt(training.tensors, operator.outputs[0] ?? '').elements;
  return [elementwiseKernel(2 * elements * type.bytesPerElement, elements, environment)];
}

/** `torch.export` writes a convolution without bias with one of zeros, which the optimizer of the exporter takes away. */
function isZero(graph: Graph, name: string): boolean {
  const value = graph.values.get(name);
  // A bias that is trained may begin as zeros.
  if (isWeight(value?.role)) return false;
  if (value?.content !== undefined) return value.content.elements.every((element) => element === 0);
  const maker = producerOf(graph, name);
  const repeats = maker !== undefined && (hasTrait(maker, 'casts') || hasTrait(maker, 'copies-elements'));
  return repeats && isZero(graph, maker.inputs[0] ?? '');
}

/** Most operators have no casts; their kernels are passed on without a copy. */
const joined = (casts: readonly KernelWork[], own: readonly KernelWork[]): readonly KernelWork[] =>
  casts.length === 0 ? own : [...casts, ...own];
