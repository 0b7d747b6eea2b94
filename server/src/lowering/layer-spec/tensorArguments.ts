/** The tensors a call is given: by `from`, among its arguments, or by the line above. */

import type { Argument, Expression, LayerCall, Reference } from '../../formats/layer-spec/syntax.ts';
import { evaluate } from './evaluate.ts';
import type { GraphBuilder } from './graphBuilder.ts';
import type { LayerDefinition, Tensor } from './layerDefinition.ts';
import { isTensor, reportError, type Scope, tensorOf } from './scope.ts';

/** What a call is fed with besides its arguments. */
export interface Feed {
  /** Named by `from`; `undefined` where a name is not known. */
  readonly sources: readonly (Tensor | undefined)[];
  /** The output of the line above. */
  readonly previous: Tensor | undefined;
}

/** Tensors among the arguments of a call: by position, by the name of the input, and what is left of the arguments. */
export interface GivenTensors {
  readonly tensors: readonly (Tensor | undefined)[];
  readonly named: ReadonlyMap<string, Tensor | undefined>;
  readonly rest: readonly Argument[];
}

/** Tensors after `from`. `carried` are outputs of the repetition before, which take the place of the first ones. */
export function sourcesOf(
  call: LayerCall,
  scope: Scope,
  carried: readonly Tensor[],
): readonly (Tensor | undefined)[] {
  return call.sources.map((reference, index) => carried[index] ?? tensorOf(reference, scope));
}

/**
 * Tensors among the arguments. In a function they may stand anywhere by position: a name that is no dimension is one,
 * known or not, until the first argument that is none; a tuple of names counts as its items, as in
 * `concat((a, b), dim=1)`. Any layer takes them by the name of the input: `attn_mask=mask`.
 */
export function givenTensors(
  definition: Pick<LayerDefinition, 'kind' | 'inputs'>,
  call: LayerCall,
  scope: Scope,
  feed: Feed,
  graph: GraphBuilder,
): GivenTensors {
  const given: (Tensor | number | undefined)[] = [];
  const named = new Map<string, Tensor | undefined>();
  const rest: Argument[] = [];
  let leading = true;
  for (const argument of call.arguments) {
    const { keyword, value } = argument;
    if (keyword !== undefined) {
      const reference = definition.inputs.names.includes(keyword.text) ? referenceIn(value) : undefined;
      if (reference === undefined) rest.push(argument);
      else named.set(keyword.text, tensorOf(reference, scope));
      continue;
    }
    if (definition.kind === 'module') {
      rest.push(argument);
      continue;
    }
    const items = value.kind === 'tuple' ? value.items : [value];
    const references = items.flatMap((item) => {
      const reference = referenceIn(item);
      if (reference === undefined) return [];
      const isOne =
        reference.output !== undefined ||
        isTensor(reference.text, scope) ||
        (leading && !scope.values.has(reference.text));
      return isOne ? [reference] : [];
    });
    if (references.length > 0 && references.length === items.length) {
      for (const reference of references) given.push(tensorOf(reference, scope));
      continue;
    }
    const number = definition.inputs.numbers ? evaluate(value, scope.values, scope.report) : undefined;
    if (typeof number === 'number') given.push(number);
    else {
      leading = false;
      rest.push(argument);
    }
  }
  const known = [...given, ...named.values(), feed.previous].find((tensor) => typeof tensor === 'object');
  const elementType = known?.elementType ?? 'float32';
  const tensors = given.map((tensor) =>
    typeof tensor === 'number' ? graph.constant(elementType, [], [tensor]) : tensor,
  );
  return { tensors, named, rest };
}

/** The inputs of a call in order, or `undefined` where one is missing; an issue then says which. */
export function inputsOf(
  definition: LayerDefinition,
  call: LayerCall,
  given: GivenTensors,
  scope: Scope,
  { sources, previous }: Feed,
): readonly Tensor[] | undefined {
  const { least, names, variadic } = definition.inputs;
  let tensors = [...sources, ...given.tensors];
  const named = [...given.named.values()];
  // A mask given by name is no query: what is optional does not count.
  const needed = [...given.named.keys()].filter((name) => names.indexOf(name) < least).length;
  if (tensors.length + needed < least && sources.length === 0) tensors = [previous, ...tensors];
  const known = tensors.filter((tensor) => tensor !== undefined);
  if (known.length < tensors.length || named.includes(undefined)) {
    if (previous === undefined && sources.length + given.tensors.length === 0 && scope.hasAllInputs) {
      const message = `${definition.name} has no input: nothing is above it, and the model has no inputs`;
      reportError(scope, 'spec/unknown-source', message, call.callee.span);
    }
    return undefined;
  }
  if (known.length + needed < least) {
    const message = `${definition.name} takes ${names.join(', ')}; name them with \`from\``;
    return reportError(scope, 'spec/argument', message, call.callee.span);
  }
  if (known.length > names.length && !variadic) {
    const takes = names.length === 1 ? 'one tensor' : `at most ${names.length} tensors`;
    const message = `${definition.name} takes ${takes}, not ${known.length}`;
    const span = call.sources[names.length]?.span ?? call.argumentsSpan;
    reportError(scope, 'spec/argument', message, span);
    return known.slice(0, names.length);
  }
  return known;
}

function referenceIn(expression: Expression): Reference | undefined {
  if (expression.kind === 'name') {
    return { text: expression.name, span: expression.span, output: undefined };
  }
  return expression.kind === 'member' ? { ...expression.object, output: expression.member } : undefined;
}
