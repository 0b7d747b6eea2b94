/** What an ONNX operator takes that a spec calls by its name: tensors, and numbers that stand for constant tensors. */

import type { Argument, Expression } from '../../formats/layer-spec/syntax.ts';
import type { ElementType } from '../../model/elementType.ts';
import { inputOf } from '../../operators/operatorFacts.ts';
import { literalType } from '../../operators/vocabulary/literalType.ts';
import { evaluate } from './evaluate.ts';
import type { GraphBuilder } from './graphBuilder.ts';
import type { SpecValue, Tensor } from './layerDefinition.ts';
import type { Line } from './loweringRun.ts';
import { isTensor, reportError, type Scope, tensorOf } from './scope.ts';
import type { Feed } from './tensorArguments.ts';

export interface OperatorInputs {
  /** By position; `undefined` where an optional one is left out with None. */
  readonly tensors: readonly (Tensor | undefined)[];
  /** The keywords. */
  readonly rest: readonly Argument[];
}

/**
 * Tensors of `from` first, then arguments by position: a name that is no dimension is a tensor, a number is a constant
 * without axes, a list of numbers one with one axis, `None` an optional input that is absent.
 */
export function operatorInputs({ call, scope, path }: Line, feed: Feed, graph: GraphBuilder): OperatorInputs {
  const rest: Argument[] = [];
  const given: (Tensor | Constant | undefined)[] = [...feed.sources];
  for (const argument of call.arguments) {
    const { value, keyword } = argument;
    if (keyword !== undefined) {
      rest.push(argument);
      continue;
    }
    const items = value.kind === 'tuple' && value.items.length > 0 ? value.items : [value];
    const tensors = items.filter((item) => isReference(item, scope));
    if (tensors.length === items.length) given.push(...items.map((item) => referenced(item, scope)));
    else if (value.kind === 'none') given.push(undefined);
    else given.push({ argument, value: evaluate(value, scope.values, scope.report) });
  }
  const operator = { domain: '', type: call.callee.text };
  const isTensorGiven = given.some((tensor) => tensor !== undefined && 'name' in tensor);
  // Where numbers are all that is given and there is a place before them, it is that of the line above.
  const isFed = isTensorGiven || (given.length > 0 && inputOf(operator, given.length) === undefined);
  const all = isFed || call.sources.length > 0 ? given : [feed.previous, ...given];
  const beside = all.find((tensor) => tensor !== undefined && 'name' in tensor);
  const elementType = beside !== undefined && 'name' in beside ? beside.elementType : undefined;
  const tensors: (Tensor | undefined)[] = [];
  for (const [index, tensor] of all.entries()) {
    if (tensor === undefined || 'name' in tensor) {
      tensors.push(tensor);
      continue;
    }
    const { argument, value } = tensor;
    if (inputOf(operator, index) === undefined) rest.push(argument);
    else if (value !== undefined) {
      const constant = constantOf(value, path, graph)?.(literalType(operator, index, elementType));
      const message = `${operator.type} takes tensors, numbers and lists of numbers here; attributes are given by name`;
      if (constant === undefined) reportError(scope, 'spec/argument', message, argument.span);
      tensors.push(constant);
    }
  }
  return { tensors, rest };
}

interface Constant {
  readonly argument: Argument;
  readonly value: SpecValue | undefined;
}

const isReference = (expression: Expression, scope: Scope): boolean =>
  expression.kind === 'member' ||
  (expression.kind === 'name' && (isTensor(expression.name, scope) || !scope.values.has(expression.name)));

function referenced(expression: Expression, scope: Scope): Tensor | undefined {
  if (expression.kind === 'name') {
    return tensorOf({ text: expression.name, span: expression.span, output: undefined }, scope);
  }
  return expression.kind === 'member'
    ? tensorOf({ ...expression.object, output: expression.member }, scope)
    : undefined;
}

/**
 * A tensor of these numbers in a type that is asked for; `undefined` for what are no numbers, and for a size that no
 * input of the model has.
 */
function constantOf(
  value: SpecValue,
  path: string,
  graph: GraphBuilder,
): ((type: ElementType) => Tensor | undefined) | undefined {
  const items: readonly SpecValue[] = Array.isArray(value) ? value : [value];
  const shape = Array.isArray(value) ? [items.length] : [];
  const numbers = items.flatMap((item) =>
    typeof item === 'number' || typeof item === 'boolean' ? [Number(item)] : [],
  );
  if (numbers.length === items.length) return (type) => graph.constant(type, shape, numbers);
  const sizes = items.flatMap((item) =>
    typeof item === 'number' || (typeof item === 'object' && item !== null && 'kind' in item) ? [item] : [],
  );
  if (sizes.length < items.length || shape.length === 0) return undefined;
  const parts = sizes.map((size) =>
    typeof size === 'number' ? graph.constant('int64', [1], [size]) : graph.sizeOf(size),
  );
  if (parts.includes(undefined)) return undefined;
  return () => graph.node(path, '', 'Concat', parts, 1, { axis: { kind: 'int', value: 0 } })[0];
}
