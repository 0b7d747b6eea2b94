/** Which operators backward computes again together: those that lines of a layer spec mark, and the blocks of a model. */

import { entryAt } from '../model/at.ts';
import type { Graph, Layer, Operator } from '../model/graph.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import type { Checkpoint } from '../model/scenario.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';
import { repeatedBlocks } from './repeatedBlocks.ts';
import { type FoldLayout, foldedIndex } from './repetition/foldGraph.ts';

/** Aligned with the operators of a graph. */
export interface RecomputedGroups {
  /** The group of an operator, numbered in the order of the graph; -1 where it is not computed again. */
  readonly groupOf: Int32Array;
  readonly keeping: readonly Keeping[];
}

/** What is kept of a group beside what goes in. */
export const keepings = ['nothing', 'matmuls', 'alternate matmuls'] as const;
export type Keeping = (typeof keepings)[number];

/**
 * `undefined` where nothing is computed again. What a person asks of the model goes before the marks of its layers: `none`
 * before all of them, else before those within blocks; `checkpoint` left out, marks decide. Groups are found once for an
 * analysis: neither the batch nor the number of GPUs changes them.
 */
export const recomputedGroups = (
  analysis: ModelAnalysis,
  checkpoint: Checkpoint | undefined,
): RecomputedGroups | undefined => knownGroups(analysis, checkpoint).groups;

const knownGroups = memoizeRecent(
  (
    analysis: ModelAnalysis,
    checkpoint: Checkpoint | undefined,
  ): { readonly groups: RecomputedGroups | undefined } => ({
    groups: findGroups(analysis, checkpoint),
  }),
  (known, asked) => known === asked,
);

/** Layers whose mark `recompute` `checkpoint` takes the place of. */
export function overriddenMarks(analysis: ModelAnalysis, checkpoint: Checkpoint): readonly Layer[] {
  const blocks = repeatedBlocks(analysis);
  return analysis.layers.filter(
    ({ marks }, index) =>
      marks?.recomputed !== undefined && (checkpoint === 'none' || blocks?.[index] !== undefined),
  );
}

function findGroups(
  analysis: ModelAnalysis,
  checkpoint: Checkpoint | undefined,
): RecomputedGroups | undefined {
  if (checkpoint === 'none') return undefined;
  const { layers } = analysis;
  const blocks = checkpoint === undefined ? undefined : repeatedBlocks(analysis);
  if (blocks === undefined && layers.every(({ marks }) => marks?.recomputed === undefined)) return undefined;
  const ofBlocks: Keeping =
    checkpoint === 'selective' ? 'matmuls' : checkpoint === 'alternate' ? 'alternate matmuls' : 'nothing';
  // Whoever asks the graph of a folded model for its operators has all of them made.
  const count = analysis.folded?.layout.count ?? analysis.graph.operators.length;
  const keyOf = new Array<string | number | undefined>(count).fill(undefined);
  const keepingOf = new Map<string | number, Keeping>();
  const keyWithin = checkpoint === 'attention' ? attentionCores(analysis) : undefined;
  const ordinals = new Map<string, number>();
  for (const [index, { marks, operators }] of layers.entries()) {
    const block = blocks?.[index];
    if (block !== undefined && !ordinals.has(block)) ordinals.set(block, ordinals.size);
    // The second block is the first that is computed again (torchtitan, activation_checkpoint.py, `ac_freq`).
    const isKept =
      checkpoint === 'alternate-block' && block !== undefined && entryAt(ordinals, block) % 2 === 0;
    const ofLayer = block ?? marks?.recomputed;
    if (ofLayer === undefined || isKept) continue;
    for (const operator of operators) {
      const key = block !== undefined && keyWithin !== undefined ? keyWithin(operator) : ofLayer;
      if (key === undefined) continue;
      keyOf[operator] = key;
      keepingOf.set(key, typeof key === 'number' ? 'nothing' : ofBlocks);
    }
  }
  const numbers = new Map<string | number, number>();
  const keeping: Keeping[] = [];
  const groupOf = Int32Array.from(keyOf, (key) => {
    if (key === undefined) return -1;
    let number = numbers.get(key);
    if (number === undefined) {
      number = numbers.size;
      numbers.set(key, number);
      keeping.push(keepingOf.get(key) ?? 'nothing');
    }
    return number;
  });
  return numbers.size === 0 ? undefined : { groupOf, keeping };
}

/**
 * Which core of attention an operator is of, from the product of queries and keys to that with values; `undefined` where of none.
 * One operator may be all of it.
 */
function attentionCores(analysis: ModelAnalysis): (operator: number) => string | undefined {
  const { folded } = analysis;
  const { composites, graph } = folded?.analysis ?? analysis;
  return (operator) => {
    const like = folded === undefined ? operator : foldedIndex(folded.layout, operator);
    const reader = readerOfTurned(graph, graph.operators[like]);
    const composite = composites.get(reader ?? like);
    const [first] = composite?.kind === 'attention' ? composite.operators : [];
    if (first !== undefined) return `attention ${operator - like + first}`;
    return attentionTypes.has(graph.operators[like]?.type ?? '') ? `attention ${operator}` : undefined;
  };
}

/** The one reader of a stack of matrices that are transposed, as keys are for their product with queries. */
function readerOfTurned({ values }: Graph, operator: Operator | undefined): number | undefined {
  const order = operator?.type === 'Transpose' ? operator.attributes.get('perm') : undefined;
  if (operator === undefined || order?.kind !== 'ints') return undefined;
  const last = order.value.length - 1;
  const isTurned = order.value.every((from, axis) => from === (axis < last - 1 ? axis : 2 * last - 1 - axis));
  const [reader, ...others] = values.get(operator.outputs[0] ?? '')?.consumers ?? [];
  return isTurned && others.length === 0 ? reader : undefined;
}

/** Operators that are all of the core. */
const attentionTypes: ReadonlySet<string> = new Set([
  'Attention',
  'MultiHeadAttention',
  'GroupQueryAttention',
]);

/**
 * The groups of a graph with blocks left out. What is left out begins and ends within a group where the blocks that
 * were found alike do not begin where the groups do: what is left of the two is one group.
 */
export function foldGroups(
  { groupOf, keeping }: RecomputedGroups,
  { count, cut, period, copies }: FoldLayout,
): RecomputedGroups {
  const resume = cut + copies * period;
  const begunBefore = (end: number): number => {
    let last = -1;
    for (let index = 0; index < end; index += 1) last = Math.max(last, groupOf[index] ?? -1);
    return last + 1;
  };
  const left = begunBefore(resume) - begunBefore(cut);
  const folded = new Int32Array(count - copies * period);
  folded.set(groupOf.subarray(0, cut));
  const kept = keeping.slice();
  for (let index = resume; index < count; index += 1) {
    const group = groupOf[index] ?? -1;
    const moved = group < left ? group : group - left;
    folded[index - copies * period] = moved;
    if (group >= 0) kept[moved] = keeping[group] ?? 'nothing';
  }
  return { groupOf: folded, keeping: kept };
}
