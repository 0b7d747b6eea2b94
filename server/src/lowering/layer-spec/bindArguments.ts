/** Matches the arguments of a call with the parameters of a definition, as Python does, and checks their kinds. */

import type { Argument, Expression, LayerCall } from '../../formats/layer-spec/syntax.ts';
import { isSymbolic } from '../../model/dimension.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import { didYouMean, nearestName } from '../../model/nearestName.ts';
import { evaluate, layerIn, type Values } from './evaluate.ts';
import {
  type ParameterDefinition,
  type ParameterType,
  printValue,
  type SpecValue,
} from './layerDefinition.ts';

export interface BoundArgument {
  readonly value: SpecValue;
  readonly span: TextSpan;
}

/**
 * The arguments by parameter name, or `undefined` where a required one is missing or wrong; issues say which.
 *
 * Positional arguments fill PyTorch's order. Where that leaves a required parameter empty, sizes that follow from
 * the input are passed over: `Conv2d(64, kernel_size=3)` has 64 output channels.
 */
export function bindArguments(
  call: LayerCall,
  given: readonly Argument[],
  parameters: readonly ParameterDefinition[],
  signature: string,
  values: Values,
  report: (issue: Issue) => void,
): ReadonlyMap<string, BoundArgument> | undefined {
  const problem = (message: string, span: TextSpan) =>
    report({ code: 'spec/argument', severity: 'error', message, span });
  const bound = new Map<string, BoundArgument>();
  const failed = new Set<string>();
  const accept = (parameter: ParameterDefinition, expression: Expression, span: TextSpan) => {
    const value =
      (parameter.type === 'layer' ? layerIn(expression) : undefined) ?? evaluate(expression, values, report);
    const wrong =
      value === undefined
        ? undefined
        : fits(value, parameter)
          ? outOfBounds(value, parameter)
          : `takes ${kinds[parameter.type]}, not ${printValue(value)}`;
    if (value !== undefined && wrong === undefined) bound.set(parameter.name, { value, span });
    else failed.add(parameter.name);
    if (wrong !== undefined) problem(`\`${parameter.name}\` ${wrong}`, expression.span);
  };

  const named = given.filter((argument) => argument.keyword !== undefined);
  const filled = new Set<string>();
  for (const argument of named) {
    const { keyword } = argument;
    if (keyword === undefined) continue;
    const parameter = parameters.find((candidate) => candidate.name === keyword.text);
    filled.add(keyword.text);
    if (parameter === undefined) {
      const names = parameters.map((candidate) => candidate.name);
      problem(
        `${call.callee.text} has no argument \`${keyword.text}\`${didYouMean(keyword.text, names) || `; it is ${signature}`}`,
        keyword.span,
      );
      const meant = nearestName(keyword.text, names);
      const near = parameters.find(({ name }) => name === meant);
      const isFree = named.every((other) => other.keyword?.text !== meant);
      // Read as the argument that was meant, so that nothing else seems wrong because of it.
      if (near === undefined || !isFree || filled.has(near.name)) continue;
      filled.add(near.name);
      accept(near, argument.value, argument.span);
    } else if (bound.has(parameter.name) || failed.has(parameter.name)) {
      problem(`\`${keyword.text}\` is given twice`, argument.span);
    } else accept(parameter, argument.value, argument.span);
  }

  const positional = given.filter((argument) => argument.keyword === undefined);
  const order = orderOf(parameters, positional.length, filled);
  const firstNamed = named[0]?.span.start ?? Number.POSITIVE_INFINITY;
  for (const [index, argument] of positional.entries()) {
    const parameter = order[index];
    if (argument.span.start > firstNamed) {
      const name = parameter === undefined ? '' : `, such as \`${parameter.name}=…\``;
      problem(`an argument behind a named one needs a name, as in Python; write it${name}`, argument.span);
    }
    if (parameter === undefined) {
      problem(
        `${call.callee.text} takes at most ${order.length} arguments here; it is ${signature}`,
        argument.span,
      );
      break;
    }
    if (bound.has(parameter.name) || failed.has(parameter.name)) {
      problem(`\`${parameter.name}\` is given twice`, argument.span);
      continue;
    }
    const rest = positional.slice(index);
    const last = rest.at(-1);
    if (parameter.rest && rest.length > 1 && last !== undefined) {
      const span = { start: argument.span.start, end: last.span.end };
      accept(parameter, { kind: 'tuple', items: rest.map((item) => item.value), span }, span);
      break;
    }
    accept(parameter, argument.value, argument.span);
  }

  let complete = true;
  for (const parameter of parameters) {
    if (parameter.default !== undefined || parameter.follows || bound.has(parameter.name)) continue;
    complete = false;
    if (failed.has(parameter.name)) continue;
    problem(`${call.callee.text} needs \`${parameter.name}\`: ${signature}`, call.callee.span);
  }
  return complete ? bound : undefined;
}

/** Parameters in the order in which `count` positional arguments fill them. */
function orderOf(
  parameters: readonly ParameterDefinition[],
  count: number,
  named: ReadonlySet<string>,
): readonly ParameterDefinition[] {
  const required = (parameter: ParameterDefinition, index: number) =>
    index >= count && parameter.default === undefined && !parameter.follows && !named.has(parameter.name);
  if (!parameters.some(required)) return parameters;
  return parameters.filter((parameter) => !parameter.follows);
}

const kinds: Readonly<Record<ParameterType, string>> = {
  integer: 'a whole number',
  number: 'a number',
  boolean: 'True or False',
  string: 'a text in quotes',
  integers: 'a whole number or a tuple of them',
  padding: "a whole number, a tuple of them, 'same' or 'valid'",
  dimension: 'a size',
  dimensions: 'sizes',
  layer: 'the name of a layer',
  any: 'a value',
};

function fits(value: SpecValue, parameter: ParameterDefinition): boolean {
  if (value === null) return parameter.default === null || parameter.type === 'any';
  const whole = (item: SpecValue) => isOpen(item) || Number.isSafeInteger(item);
  const wholes = Array.isArray(value) ? value.every(whole) : whole(value);
  switch (parameter.type) {
    case 'integer':
    case 'dimension':
      return whole(value);
    case 'number':
      return typeof value === 'number' || isOpen(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'string':
    case 'layer':
      return typeof value === 'string';
    case 'integers':
    case 'dimensions':
      return wholes;
    case 'padding':
      return wholes || value === 'same' || value === 'valid';
    case 'any':
      return true;
  }
}

/** What is wrong with a value of the right kind, or `undefined`. */
function outOfBounds(value: SpecValue, { choices, least, most }: ParameterDefinition): string | undefined {
  if (choices !== undefined && typeof value === 'string' && !choices.includes(value)) {
    const texts = choices.map((choice) => `'${choice}'`);
    return `is ${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}, not '${value}'${didYouMean(value, choices)}`;
  }
  const numbers = (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'number');
  const small = least === undefined ? undefined : numbers.find((item) => item < least);
  if (small !== undefined) return `is at least ${least}, not ${small}`;
  const large = most === undefined ? undefined : numbers.find((item) => item > most);
  return large === undefined ? undefined : `is at most ${most}, not ${large}`;
}

const isOpen = (value: SpecValue): boolean =>
  typeof value === 'object' && value !== null && 'kind' in value && isSymbolic(value);
