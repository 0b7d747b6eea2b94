/** Stored tensors without data whose elements shapes are computed from. */

import { isUnknown } from '../model/dimension.ts';
import { isKnownShape, type Value, type ValueType } from '../model/graph.ts';
import { isHostInput } from '../operators/operatorFacts.ts';
import type { OperatorName } from '../operators/registry.ts';

/**
 * The stored tensor among the inputs of an operator that keeps its output shapes from being known, because the file
 * has neither its data nor a place where they lie; `undefined` where there is none.
 */
export function findMissingContents(
  operator: OperatorName,
  inputs: readonly (Pick<Value, 'name' | 'literal'> | undefined)[],
  outputs: readonly ValueType[],
): string | undefined {
  if (!outputs.some(isOpen)) return undefined;
  return inputs.find(
    (value, index) =>
      value?.literal !== undefined &&
      value.literal.elements === undefined &&
      value.literal.external === undefined &&
      value.literal.storedBytes === 0 &&
      isHostInput(operator, index),
  )?.name;
}

const isOpen = (type: ValueType): boolean =>
  type.kind === 'tensor' && (!isKnownShape(type.shape) || type.shape.some(isUnknown));
