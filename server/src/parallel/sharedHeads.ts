/**
 * Fewer heads of keys and values than workers: several workers compute with the same head, each for queries of its own.
 *
 * Megatron-LM divides the projection of queries, keys and values evenly all the same, gathers what it gives over the group, and
 * takes the heads of each worker from that; their gradients are added up and scattered on the way back. Source: NVIDIA/Megatron-LM,
 * megatron/core/transformer/attention.py, `get_query_key_value_tensors`, where `num_query_groups < world_size`.
 */

import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import type { Graph, Operator } from '../model/graph.ts';
import type { BoundFactor, BoundPlace, BoundSize, DividedGraph } from './boundMap.ts';
import type { Division } from './division.ts';

/**
 * The heads of queries of attention over `ways` workers, where workers share those of keys and values; `undefined` where each has
 * heads of its own, or where the numbers do not divide.
 */
export function headsOverShared(
  { training, factorsOf }: DividedGraph,
  operator: Operator,
  ways: number,
): BoundFactor | undefined {
  if (operator.type !== 'Attention') return undefined;
  const own = factorsOf(operator.index).find(({ inputs }) =>
    [0, 1, 2].every((tensor) => inputs.some((place) => place.tensor === tensor && isOfHeads(place))),
  );
  const heads = headsOfQueries(operator, training.tensors.get(operator.inputs[0] ?? '')?.dimensions);
  if (own === undefined || heads === undefined) return undefined;
  const groups = own.size;
  if (groups % ways === 0 || ways % groups !== 0 || heads % ways !== 0) return undefined;
  const share = <Item extends object>(item: Item, isShared: boolean): Item =>
    isShared ? { ...item, shared: ways / groups } : item;
  return {
    ...own,
    size: heads,
    inputs: own.inputs.map((place) => share(place, ofKeys.includes(place.tensor))),
    outputs: own.outputs.map((place) => share(place, cachesOfKeys.includes(place.tensor))),
    sizes: (own.sizes ?? []).map(
      (size): BoundSize => share(size, size.kind === 'attribute' && size.name === 'kv_num_heads'),
    ),
  };
}

/** Keys, values, and those of earlier positions. */
const ofKeys: readonly number[] = [1, 2, 4, 5];
/** With those of this step. */
const cachesOfKeys: readonly number[] = [1, 2];

const isOfHeads = ({ axis, outer }: BoundPlace): boolean => axis > 0 && outer === 1;

/** Of [batch, heads, positions, size], or of packed heads. */
function headsOfQueries(
  { attributes }: Operator,
  dimensions: readonly number[] | undefined,
): number | undefined {
  const given = attributes.get('q_num_heads');
  if (given?.kind === 'int' && dimensions?.length === 3) return given.value;
  return dimensions?.length === 4 ? dimensions[1] : undefined;
}

/** What is gathered before each attention whose workers share heads: its projections of queries, keys and values, each once. */
export function projectionsRegrouped(
  { graph, costing }: ModelAnalysis,
  division: Division,
): ReadonlyMap<number, readonly string[]> {
  const found = new Map<number, readonly string[]>();
  for (const [index, { factor }] of division.operators) {
    if (!factor.inputs.some(({ shared }) => shared !== undefined)) continue;
    const given = graph.operators[index]?.inputs.slice(0, 3) ?? [];
    const isSplit = (name: string): boolean => division.values.has(name) && !costing.gradients.isStored(name);
    found.set(index, [...new Set(given.map((name) => projectionOf(name, graph, division, isSplit)))]);
  }
  return found;
}

/** The first value behind a projection that an operand of attention was made of. */
function projectionOf(
  name: string,
  graph: Graph,
  { operators, regrouped }: Division,
  isSplit: (name: string) => boolean,
): string {
  let own = name;
  while (regrouped?.has(own) !== true) {
    const index = graph.values.get(own)?.producer;
    const operator = index === undefined ? undefined : graph.operators[index];
    const divided = index === undefined ? undefined : operators.get(index);
    if (operator === undefined || divided === undefined || divided.parts !== undefined) return own;
    const read = divided.factor.inputs.flatMap(({ tensor }) => operator.inputs[tensor] ?? []);
    const [only, ...others] = [...new Set(read)].filter(
      (each) => isSplit(each) && graph.values.get(each)?.producer !== undefined,
    );
    if (only === undefined || others.length > 0) return own;
    own = only;
  }
  return own;
}
