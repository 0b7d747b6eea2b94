/** Signature help for the call at the cursor of a layer spec. */

import type { SignatureHelp } from '../signatureHelp.ts';
import { type Callable, type CallableParameter, findCallable } from './callable.ts';
import { cursorContext } from './cursorContext.ts';
import type { OpenCall } from './cursorPlace.ts';
import type { SpecText } from './specText.ts';

export function layerSpecSignature(document: SpecText, offset: number): SignatureHelp | undefined {
  const place = cursorContext(document.source, offset)?.place;
  if (place?.kind !== 'argument') return undefined;
  const callable = findCallable(document, place.callee);
  if (callable === undefined) return undefined;
  const labels = [
    ...callable.tensors.map((name) => ({ name, documentation: 'Tensor: a layer above, or an input.' })),
    ...callable.parameters.map((parameter) => ({
      name: parameter.rest ? `*${parameter.name}` : parameter.name,
      documentation: documentationOf(parameter),
    })),
  ];
  let from = callable.signature.indexOf('(');
  const parameters = labels.map(({ name, documentation }) => {
    const start = Math.max(callable.signature.indexOf(name, from), 0);
    const end = endOfParameter(callable.signature, start);
    from = end;
    return { start, end, documentation };
  });
  return {
    label: callable.signature,
    documentation: callable.documentation,
    parameters,
    active: activeParameter(callable, place),
  };
}

/** A parameter ends at the comma or parenthesis that closes it; its default may hold both. */
function endOfParameter(signature: string, start: number): number {
  let depth = 0;
  for (let at = start; at < signature.length; at += 1) {
    const character = signature[at];
    if (character === '(') depth += 1;
    if (depth === 0 && (character === ',' || character === ')')) return at;
    if (character === ')') depth -= 1;
  }
  return signature.length;
}

/**
 * Where the cursor is among tensors, then parameters. Sizes that follow from the input are passed over as soon as
 * keywords fill what comes after them, as binding does.
 */
function activeParameter(callable: Callable, open: OpenCall): number | undefined {
  const { parameters, tensors } = callable;
  if (open.keyword !== undefined) {
    const named = parameters.findIndex(({ name }) => name === open.keyword);
    return named < 0 ? undefined : tensors.length + named;
  }
  const position = open.positional.length;
  if (callable.takesMoreTensors)
    return tensors.length === 0 ? undefined : Math.min(position, tensors.length - 1);
  if (position < tensors.length) return position;
  const last = parameters.at(-1);
  const index = position - tensors.length;
  if (index >= parameters.length) return last?.rest ? tensors.length + parameters.length - 1 : undefined;
  return tensors.length + index;
}

function documentationOf({ documentation, follows }: CallableParameter): string {
  const note = follows ? 'Optional; inferred from the input.' : '';
  return [documentation, note].filter((part) => part !== '').join(' ');
}
