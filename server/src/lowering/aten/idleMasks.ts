/**
 * Masks of positions that hide nothing, such as `arange(n) >= 0`. Where nobody traces, transformers leaves them out
 * (`masking_utils.py`, `_ignore_bidirectional_mask_sdpa`); tracing cannot see what a tensor holds, so that an archive has them.
 */

import type { AtenGraph, AtenNode } from '../../formats/pt2/syntax.ts';

/** The graph whose calls of attention have no such mask. */
export function withoutIdleMasks(graph: AtenGraph): AtenGraph {
  const producers = new Map(graph.nodes.flatMap((node) => node.outputs.map((name) => [name, node])));
  let isChanged = false;
  const nodes = graph.nodes.map((node) => {
    const mask = node.target.includes('scaled_dot_product') ? node.arguments.get('attn_mask') : undefined;
    if (mask?.kind !== 'tensor' || !isAlwaysTrue(producers, mask.name)) return node;
    isChanged = true;
    return { ...node, arguments: new Map(node.arguments).set('attn_mask', { kind: 'none' }) };
  });
  return isChanged ? { ...graph, nodes } : graph;
}

type Producers = ReadonlyMap<string, AtenNode>;

/** Chains of a mask are short; longer ones are not followed. */
const longestChain = 16;

function isAlwaysTrue(producers: Producers, name: string, hops = 0): boolean {
  const node = producers.get(name);
  const [first, second] = operandsOf(node);
  if (node === undefined || first === undefined || hops > longestChain) return false;
  const isTrue = (of: string | undefined): boolean =>
    of !== undefined && isAlwaysTrue(producers, of, hops + 1);
  switch (nameOf(node)) {
    case 'expand':
    case 'reshape':
    case 'unsqueeze':
    case 'view':
      return isTrue(first);
    case '__and__':
    case 'bitwise_and':
    case 'logical_and':
      return isTrue(first) && isTrue(second);
    case '__or__':
    case 'bitwise_or':
    case 'logical_or':
      return isTrue(first) || isTrue(second);
    case 'ge': {
      const least = leastPosition(producers, first, hops);
      const bound = numberOf(node, 'other');
      return least !== undefined && bound !== undefined && least >= bound;
    }
    default:
      return false;
  }
}

/** The least of positions; `undefined` for what holds anything else. */
function leastPosition(producers: Producers, name: string, hops: number): number | undefined {
  const node = producers.get(name);
  if (node === undefined || hops > longestChain) return undefined;
  const [first] = operandsOf(node);
  switch (nameOf(node)) {
    case 'arange': {
      const start = node.arguments.has('start') ? numberOf(node, 'start') : 0;
      const step = node.arguments.has('step') ? numberOf(node, 'step') : 1;
      return step !== undefined && step > 0 ? start : undefined;
    }
    case 'add': {
      const least = first === undefined ? undefined : leastPosition(producers, first, hops + 1);
      const added = node.arguments.has('alpha') ? undefined : numberOf(node, 'other');
      return least === undefined || added === undefined ? undefined : least + added;
    }
    case 'expand':
    case 'reshape':
    case 'unsqueeze':
    case 'view':
      return first === undefined ? undefined : leastPosition(producers, first, hops + 1);
    default:
      return undefined;
  }
}

/** Such as `add` of `torch.ops.aten.add.Tensor`. */
const nameOf = ({ target }: AtenNode): string | undefined => /^torch\.ops\.aten\.(\w+)\./.exec(target)?.[1];

const operandsOf = (node: AtenNode | undefined): readonly string[] =>
  [...(node?.arguments.values() ?? [])].flatMap((given) => (given.kind === 'tensor' ? [given.name] : []));

function numberOf(node: AtenNode, name: string): number | undefined {
  const given = node.arguments.get(name);
  return given?.kind === 'number' ? given.value : undefined;
}
