/** What the definition of an operator says of it, whatever its version. An operator without a definition says nothing. */

import type { OperatorInput, PyTorchFacts, Trait } from './definition.ts';
import { definitionOf, type OperatorName } from './registry.ts';

/** What is known of input `index`; `undefined` where the operator or such an input of it is not known. */
export function inputOf(operator: OperatorName, index: number): OperatorInput | undefined {
  const inputs = definitionOf(operator)?.inputs;
  const last = inputs?.at(-1);
  return inputs?.[index] ?? (last?.variadic === true ? last : undefined);
}

/** Whether a gradient flows through input `index`. It may through every input of an operator that is not known. */
export const isDifferentiableInput = (operator: OperatorName, index: number): boolean =>
  inputOf(operator, index)?.gradient ?? true;

/** Whether a stored tensor at input `index` is a weight. */
export function isWeightInput(operator: OperatorName, index: number): boolean {
  const role = inputOf(operator, index)?.role;
  return role === 'weight' || role === 'operand';
}

/** Whether the host reads the numbers of input `index`. */
export const isHostInput = (operator: OperatorName, index: number): boolean =>
  inputOf(operator, index)?.role === 'host';

/** Whether an operator reads elements of a tensor, not its sizes or type alone. */
export const readsElements = (
  operator: OperatorName & { readonly inputs: readonly string[] },
  name: string,
) => operator.inputs.some((input, index) => input === name && inputOf(operator, index)?.role !== 'shape');

export const hasTrait = (operator: OperatorName | undefined, trait: Trait): boolean =>
  (operator && definitionOf(operator)?.traits?.includes(trait)) ?? false;

/** Whether input `index` comes out again, so that a tensor behind the operator is still the tensor. */
export const passesElements = (operator: OperatorName, index: number): boolean =>
  index === 0 && (hasTrait(operator, 'layout') || hasTrait(operator, 'passes-elements'));

/** What eager PyTorch makes of it. */
export const inPyTorch = (operator: OperatorName | undefined): PyTorchFacts | undefined =>
  operator && definitionOf(operator)?.pytorch;
