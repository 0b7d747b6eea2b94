/** How often a `while_loop` runs, where a counter decides: a carried number that is compared with a bound, and steps evenly. */

import type { AtenGraph, AtenNode } from '../../formats/pt2/syntax.ts';

export interface CountedLoop {
  readonly iterations: number;
  /** Whether the counter is taken to begin at 0, as what it begins at is stored with the weights. */
  readonly isAssumed: boolean;
}

/** `starts`: of each carried tensor, the number that it is filled with, where that is known. */
export function iterationsOf(
  condition: AtenGraph,
  body: AtenGraph,
  starts: readonly (number | undefined)[],
): CountedLoop | undefined {
  const [asked] = condition.outputs;
  const comparison = condition.nodes.find(({ outputs }) => outputs[0] === asked);
  const compared = comparison && numberAndTensor(comparison);
  const relation = /^torch\.ops\.aten\.(lt|le|gt|ge|ne)\.Scalar$/.exec(comparison?.target ?? '')?.[1];
  if (compared === undefined || relation === undefined) return undefined;
  const at = condition.inputs.indexOf(compared.tensor);
  const stepped = body.nodes.find(({ outputs }) => outputs[0] === body.outputs[at]);
  const change = stepped && numberAndTensor(stepped);
  const direction = /^torch\.ops\.aten\.(add|sub)\.(Tensor|Scalar)$/.exec(stepped?.target ?? '')?.[1];
  if (change === undefined || direction === undefined || body.inputs[at] !== change.tensor) return undefined;
  const step = direction === 'add' ? change.number : -change.number;
  const start = starts[at];
  const distance = (compared.number - (start === undefined ? 0 : start)) / step;
  if (!Number.isFinite(distance) || distance < 0) return undefined;
  const isClosed = relation === 'le' || relation === 'ge';
  const iterations = isClosed ? Math.floor(distance) + 1 : Math.ceil(distance);
  const goesToBound = relation === 'ne' ? Number.isInteger(distance) : step > 0 === relation.startsWith('l');
  return goesToBound ? { iterations, isAssumed: start === undefined } : undefined;
}

/** Of a call such as `lt(counter, 5)`. */
function numberAndTensor({
  arguments: given,
}: AtenNode): { readonly tensor: string; readonly number: number } | undefined {
  const [first, second] = given.values();
  if (first?.kind !== 'tensor' || second?.kind !== 'number') return undefined;
  return { tensor: first.name, number: second.value };
}

/** The number that a call of `full` and the like fills a tensor with. */
export function filledWith({ nodes }: AtenGraph, name: string): number | undefined {
  const node = nodes.find(({ outputs }) => outputs[0] === name);
  const kind = /^torch\.ops\.aten\.(zeros|ones|full|scalar_tensor)\.default$/.exec(node?.target ?? '')?.[1];
  if (kind === 'zeros' || kind === 'ones') return kind === 'zeros' ? 0 : 1;
  const value = node?.arguments.get(kind === 'full' ? 'fill_value' : 's');
  return kind !== undefined && value?.kind === 'number' ? value.value : undefined;
}
