/** Fourier transforms and determinants. FFTs are no matrix products: their work counts as operations. */

import {
  addDimensions,
  type Dimension,
  floorDivideDimensions,
  multiplyDimensions,
  subtractDimensions,
  unknownDimension,
} from '../../model/dimension.ts';
import type { CostContext, InferenceContext, OperatorDefinition, SavedTensor } from '../definition.ts';
import { type DimensionMap, unknownMap } from '../dimensionMap.ts';
import { leadingMap, likeInputBut, rowsMap } from '../dimensions/elementwise.ts';
import { normalizeAxis } from '../vocabulary/axes.ts';
import { scalarOf } from '../vocabulary/contents.ts';
import { define } from '../vocabulary/define.ts';
import { data, host, noRule } from '../vocabulary/facts.ts';
import { copyCost } from '../vocabulary/movement.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  single,
  tensor,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';
import { savedInput, savedOutput, trafficOfElements, unknownShapeCost } from '../vocabulary/work.ts';

/** 5·n·log₂ n operations per transform of length n (Cooley and Tukey 1965, as FFTW counts), for `elements` of all of them. */
export const transformOperations = (elements: number, length: number): number =>
  5 * elements * Math.log2(Math.max(2, length));

const ofOutput = (context: CostContext, length: number): number =>
  transformOperations(context.output(0)?.elements ?? 0, length);

const oneSided = (length: Dimension): Dimension => addDimensions(floorDivideDimensions(length, 2), 1);

const discreteFourierTransform = define({
  type: 'DFT',
  since: 17,
  documentation: 'discrete Fourier transform along an axis (ONNX Operators, DFT-20)',
  inputs: [data('input'), host('dft_length'), host('axis')],
  pytorch: { layer: 'DFT', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => {
    const input = context.inputShape(0);
    const elementType = elementTypeOf(context, 0);
    if (input === undefined) return unknownBecause(context, 0);
    const given = context.opset < 20 ? context.int('axis', 1) : axisInput(context);
    if (given === undefined) {
      const reason = whyUnknown(context, 2);
      const isOnesided = context.int('onesided', 0) === 1;
      const parts = isOnesided && context.int('inverse', 0) === 1 ? 1 : 2;
      // Whichever axis it is, a whole transform without a length of its own keeps every size.
      const keepsSizes = !isOnesided && context.inputType(1) === undefined;
      const sizes = input.map((size, position): Dimension => {
        if (position === input.length - 1) return parts;
        return keepsSizes ? size : unknownDimension(reason);
      });
      return single(tensor(elementType, sizes));
    }
    const axis = normalizeAxis(given, input.length);
    if (axis === undefined)
      return mismatch(
        `axis ${given} lies outside the input ${printShape(input)}`,
        tensor(elementType, input),
      );
    const wrong = wrongSignal(context, input, axis);
    if (wrong !== undefined) return mismatch(wrong, tensor(elementType, input));
    const asked = scalarOf(context, 1);
    const length =
      asked ??
      (context.inputType(1) === undefined ? (input[axis] ?? 1) : unknownDimension(whyUnknown(context, 1)));
    const onesided = context.int('onesided', 0) === 1;
    const inverse = context.int('inverse', 0) === 1;
    const shape = input.map((size, position): Dimension => {
      if (position === input.length - 1) return onesided && inverse ? 1 : 2;
      if (position !== axis) return size;
      if (!onesided) return length;
      if (!inverse) return oneSided(length);
      // Without a length, n/2 + 1 conjugate-symmetric bins come from an even n.
      return asked ?? multiplyDimensions(addDimensions(length, -1), 2);
    });
    return single(tensor(elementType, shape));
  },
  dimensions: transformMap,
  cost: (context) =>
    copyCost(context, {
      operations: ofOutput(context, context.input(0)?.dimensions.at(1) ?? 2),
      saved: context.input(0)?.dimensions.at(-1) === 1 ? [savedInput(0)] : [],
    }),
});

/** The last axis holds real and imaginary part; half a spectrum comes from a real signal, and goes back to one. */
function wrongSignal(
  context: InferenceContext,
  input: readonly Dimension[],
  axis: number,
): string | undefined {
  if (axis === input.length - 1)
    return `axis ${axis} of ${printShape(input)} holds real and imaginary part and cannot be transformed`;
  const parts = input.at(-1);
  if (context.int('onesided', 0) !== 1 || typeof parts !== 'number') return undefined;
  if (context.int('inverse', 0) === 1)
    return parts === 1 ? 'the inverse of half a spectrum takes a complex input, not a real one' : undefined;
  return parts === 2 ? 'half a spectrum describes a real signal, but the input is complex' : undefined;
}

const axisInput = (context: InferenceContext): number | undefined => {
  if (context.inputType(2) === undefined) return -2;
  const axis = scalarOf(context, 2);
  return typeof axis === 'number' ? axis : undefined;
};

const shortTimeFourierTransform = define({
  type: 'STFT',
  since: 17,
  documentation: 'Fourier transforms of overlapping frames (ONNX Operators, STFT-17)',
  inputs: [data('signal'), host('frame_step'), data('window'), host('frame_length')],
  pytorch: { layer: 'STFT', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => {
    const signal = context.inputShape(0);
    const elementType = elementTypeOf(context, 0);
    if (signal === undefined) return unknownBecause(context, 0);
    const [batch = 1, samples = 1] = signal;
    const step = scalarOf(context, 1) ?? unknownDimension(whyUnknown(context, 1));
    const frame =
      scalarOf(context, 3) ??
      context.inputShape(2)?.[0] ??
      unknownDimension(whyUnknown(context, context.inputType(3) === undefined ? 2 : 3));
    const frames = addDimensions(floorDivideDimensions(subtractDimensions(samples, frame), step), 1);
    const bins = context.int('onesided', 1) === 1 ? oneSided(frame) : frame;
    return single(tensor(elementType, [batch, frames, bins, 2]));
  },
  dimensions: (context) => leadingMap(context, ['batch']),
  cost: (context) =>
    copyCost(context, {
      operations: ofOutput(context, 2 * (context.output(0)?.dimensions[2] ?? 1)),
      saved: windowedFrames(context),
    }),
});

/**
 * Frames times their window, which the transform of real numbers keeps (PyTorch 2.13 tools/autograd/derivatives.yaml, `_fft_r2c`).
 * Without a window they are views of the signal.
 */
function windowedFrames(context: CostContext): readonly SavedTensor[] {
  const [batch = 1, frames = 1] = context.output(0)?.dimensions ?? [];
  const length = context.inputContent(3)?.[0] ?? context.input(2)?.elements;
  const signal = context.input(0);
  if (!context.hasInput(2) || length === undefined || signal === undefined) return [savedInput(0)];
  const traffic = trafficOfElements(signal, batch * frames * length);
  return [{ kind: 'extra', name: 'windowed frames', traffic }];
}

const determinant = define({
  type: 'Det',
  since: 11,
  documentation: 'determinants of square matrices (ONNX Operators, Det-22)',
  inputs: [data('X')],
  pytorch: { layer: 'Det', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => {
    const input = context.inputShape(0);
    return input === undefined
      ? unknownBecause(context, 0)
      : single(tensor(elementTypeOf(context, 0), input.slice(0, -2)));
  },
  dimensions: (context) => rowsMap(context, -2),
  cost: (context) => {
    const input = context.input(0);
    if (input === undefined) return unknownShapeCost;
    const size = input.dimensions.at(-1) ?? 1;
    // Triangles of all elements, and of each row with which other it changed places as int32 (PyTorch 2.13
    // tools/autograd/derivatives.yaml, `_linalg_det`: A, LU, pivots, result).
    const factors = { float32Elements: input.elements, fixedBytes: (4 * input.elements) / Math.max(1, size) };
    return copyCost(context, {
      perInput: (2 * size) / 3,
      saved: [savedInput(0), savedOutput(0), { kind: 'extra', name: 'factors', traffic: factors }],
    });
  },
});

export const signalOperators: readonly OperatorDefinition[] = [
  discreteFourierTransform,
  shortTimeFourierTransform,
  determinant,
];

/** All axes but the one transformed and the last, of real and imaginary part. */
function transformMap(context: InferenceContext): DimensionMap {
  const axis = context.opset < 20 ? context.int('axis', 1) : axisInput(context);
  return axis === undefined ? unknownMap(whyUnknown(context, 2)) : likeInputBut(context, [axis, -1]);
}
