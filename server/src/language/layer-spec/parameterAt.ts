/** Which parameter an argument is for. */

import type { Argument, LayerCall } from '../../formats/layer-spec/syntax.ts';
import type { Callable, CallableParameter } from './callable.ts';
import type { OpenCall } from './cursorPlace.ts';

/** The parameter of an argument of a call that was read. */
export function parameterAt(
  callable: Callable,
  call: LayerCall,
  argument: Argument,
  source: string,
): CallableParameter | undefined {
  const before = call.arguments.slice(0, call.arguments.indexOf(argument));
  return parameterOf(callable, {
    callee: callable.name,
    index: before.length,
    positional: before
      .filter(({ keyword }) => keyword === undefined)
      .map(({ span }) => source.slice(span.start, span.end)),
    keyword: argument.keyword?.text,
    keywords: [],
    nested: false,
  });
}

/** The parameter at the cursor; the first positional arguments of a function are tensors. */
export function parameterOf(callable: Callable, open: OpenCall): CallableParameter | undefined {
  if (open.keyword !== undefined) return callable.parameters.find(({ name }) => name === open.keyword);
  const position = open.positional.length - callable.tensors.length;
  if (callable.takesMoreTensors) return undefined;
  const rest = callable.parameters.at(-1);
  return callable.parameters[position] ?? (rest?.rest && position >= 0 ? rest : undefined);
}
