/** Attention of a model: its operators, its heads, and whether it sees only the last positions. */

import { sightOf } from '../analysis/decoding/seesEarlierTokens.ts';
import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import { isKnownShape, type Operator } from '../model/graph.ts';

export const isStartOfAttention = (operator: Operator | undefined): boolean =>
  operator?.type === 'Softmax' || operator?.type === 'Attention';

/** Attention written out, or as one operator. */
export function coresOf({ composites, graph }: ModelAnalysis): readonly (readonly number[])[] {
  const written = [...new Set(composites.values())].flatMap(({ kind, operators }) =>
    kind === 'attention' ? [operators] : [],
  );
  const single = graph.operators.flatMap(({ type, index }) => (type === 'Attention' ? [[index]] : []));
  return [...written, ...single];
}

/** The numbers of heads that attention of the model has, where they are stated. */
export function headsOfAttention(analysis: ModelAnalysis): readonly number[] {
  const { operators, values } = analysis.graph;
  const heads = coresOf(analysis).flatMap((core) => {
    const start = core.map((index) => operators[index]).find(isStartOfAttention);
    const given = start?.attributes.get('q_num_heads');
    if (given?.kind === 'int') return [given.value];
    const type = values.get(start?.outputs[0] ?? '')?.type;
    const size =
      type?.kind === 'tensor' && isKnownShape(type.shape) && type.shape.length === 4
        ? type.shape[1]
        : undefined;
    return typeof size === 'number' ? [size] : [];
  });
  return [...new Set(heads)];
}

/** The numbers of heads of keys and values that attention in one operator has, where they are stated. */
export function keyHeadsOfAttention({ graph }: ModelAnalysis): readonly number[] {
  const heads = graph.operators.flatMap((operator) => {
    if (operator.type !== 'Attention') return [];
    const given = operator.attributes.get('kv_num_heads');
    if (given?.kind === 'int') return [given.value];
    const type = graph.values.get(operator.inputs[1] ?? '')?.type;
    if (type?.kind !== 'tensor' || !isKnownShape(type.shape) || type.shape.length !== 4) return [];
    const size = type.shape[1];
    return typeof size === 'number' ? [size] : [];
  });
  return [...new Set(heads)];
}

/** Whether some attention sees only so many of the last keys: by an attribute, or by a mask. */
export function hasSlidingWindow(analysis: ModelAnalysis): boolean {
  const { graph, composites } = analysis;
  const masks = new Set<string>();
  for (const { type, attributes, inputs } of graph.operators) {
    if (type !== 'Attention') continue;
    const before = attributes.get('left_window_size');
    if (before?.kind === 'int' && before.value >= 0) return true;
    masks.add(inputs[3] ?? '');
  }
  for (const { kind, roles } of composites.values()) if (kind === 'attention') masks.add(roles.mask ?? '');
  masks.delete('');
  return [...masks].some((mask) => sightOf(graph, mask)?.window !== undefined);
}
