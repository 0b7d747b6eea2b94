/** Value types and inference results, made short. */

import { type Dimension, isUnknown, printDimension, unknownDimension } from '../../model/dimension.ts';
import type { ElementType } from '../../model/elementType.ts';
import { isKnownShape, type TensorContent, type TensorType, type ValueType } from '../../model/graph.ts';
import type { Inference, InferenceContext } from '../definition.ts';
import { lengthOf } from './axes.ts';

/** A tensor of known rank. */
export interface RankedTensorType extends TensorType {
  readonly shape: readonly Dimension[];
}

export const tensor = (elementType: ElementType, shape: readonly Dimension[]): RankedTensorType => ({
  kind: 'tensor',
  elementType,
  shape,
});

/** A tensor of which not even the rank is known. */
export const tensorOfUnknownShape = (elementType: ElementType, reason: string): TensorType => ({
  kind: 'tensor',
  elementType,
  shape: { kind: 'unknown-shape', reason },
});

/** The result of an operator with one output. */
export function single(type: ValueType, content?: TensorContent): Inference {
  return content === undefined ? { outputs: [type] } : { outputs: [type], contents: [content] };
}

/** An operator that contradicts its inputs: what is wrong, and what is still known of the outputs. */
export function mismatch(message: string, ...outputs: readonly ValueType[]): Inference {
  return { outputs, problem: { code: 'shape/mismatch', message } };
}

/** An operator whose attributes or inputs its definition does not allow, whatever their shapes. */
export function invalid(message: string, ...outputs: readonly ValueType[]): Inference {
  return { outputs, problem: { code: 'graph/invalid-operator', message } };
}

/** One output of unknown shape, because of what is not known of input `index`. */
export function unknownBecause(
  context: InferenceContext,
  index: number,
  elementType?: ElementType,
): Inference {
  return single(
    tensorOfUnknownShape(elementType ?? elementTypeOf(context, index), whyUnknown(context, index)),
  );
}

/** Element type of an input; 'undefined', ONNX's own word for it, where it is not known. */
export const elementTypeOf = (context: InferenceContext, index: number): ElementType =>
  context.inputElementType(index) ?? 'undefined';

/** Why the shape or contents of an input are not known. */
export function whyUnknown(context: InferenceContext, index: number): string {
  const type = context.inputType(index);
  const own = context.ownIndex?.(index) ?? index;
  if (type === undefined) return `input ${own} is missing`;
  if (type.kind === 'unknown') return type.reason;
  if (type.kind !== 'tensor') return `input ${own} is a ${type.kind}, not a tensor`;
  if (!isKnownShape(type.shape)) return type.shape.reason;
  const unknown = type.shape.find(isUnknown);
  return unknown?.reason ?? `the contents of input ${own} are known only when the model runs`;
}

/** `[2, batch, ?]`, for messages. */
export const printShape = (shape: readonly Dimension[]): string =>
  `[${shape.map(printDimension).join(', ')}]`;

/** A type without what is known of it beyond its kind, for operators that hand values through. */
export const unknownValue = (reason: string): ValueType => ({ kind: 'unknown', reason });

/** Elements of an input that lists axes or sizes: unknown ones where only its length is known before the model runs. */
export function listedElements(context: InferenceContext, index: number): readonly Dimension[] | undefined {
  const elements = context.inputContent(index)?.elements;
  if (elements !== undefined) return elements;
  const length = lengthOf(context, index);
  const unknown = unknownDimension(whyUnknown(context, index));
  return length === undefined ? undefined : Array.from({ length }, () => unknown);
}
