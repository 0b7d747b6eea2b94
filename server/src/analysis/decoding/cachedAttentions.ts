/**
 * The attentions of a graph, and what a cache of keys and values would hold of each.
 *
 * What is kept is what one token adds: keys after their rotation by position, values, both before heads are repeated for the
 * queries that share them. So does `DynamicCache` of transformers (cache_utils.py, `update`).
 */

import { followScores } from '../../composites/attentionScores.ts';
import { followWeights } from '../../composites/attentionWeights.ts';
import { axisOfSoftmax } from '../../composites/axis.ts';
import { producerOf } from '../../composites/flow.ts';
import { isScalar } from '../../composites/walk.ts';
import type { Graph, Operator } from '../../model/graph.ts';
import { attributeReaders } from '../../operators/attributeReaders.ts';
import type { ModelAnalysis } from '../modelAnalysis.ts';
import { type MaskedSight, sightOf } from './seesEarlierTokens.ts';

export interface CachedAttention {
  /** The operator that gives what attention gives. */
  readonly operator: Operator;
  readonly query: string;
  /** Keys as the first operator of the attention reads them. */
  readonly key: string;
  /** What each token adds to the cache: keys and values, or a narrower tensor that one product makes both from. */
  readonly kept: readonly string[];
  /** Operators that work on the whole context: from keys and values to the sum over them. */
  readonly members: ReadonlySet<number>;
  /** Values between them, as long as the context; scores are so along the axis of the softmax, from the last. */
  readonly long: ReadonlyMap<string, number | undefined>;
  /** What a token sees; `undefined` where it sees those behind it too, so that nothing can be kept. */
  readonly sight: MaskedSight | undefined;
  /** Keys and values that the file takes as inputs: it is exported with a cache. */
  readonly past: readonly string[];
}

export function cachedAttentions({ graph, composites }: ModelAnalysis): readonly CachedAttention[] {
  const found: CachedAttention[] = [];
  for (const operator of graph.operators) {
    if (operator.type === 'Softmax' && composites.get(operator.index)?.kind === 'attention') {
      const written = writtenOut(graph, operator);
      if (written !== undefined) found.push(written);
    }
    const inputs = fusedInputs[`${operator.domain}.${operator.type}`];
    if (inputs !== undefined) found.push(fused(graph, operator, inputs));
  }
  return found;
}

/** Places of keys, values, mask and cache among the inputs of the operators that are attention whole. */
interface FusedInputs {
  readonly mask?: number;
  readonly past: readonly [key: number, value: number];
  /** The attribute that hides later tokens; absent where they always are hidden. */
  readonly causal?: string;
  readonly window?: string;
}

const fusedInputs: Readonly<Record<string, FusedInputs>> = {
  '.Attention': { mask: 3, past: [4, 5], causal: 'is_causal', window: 'left_window_size' },
  'com.microsoft.GroupQueryAttention': { past: [3, 4], window: 'local_window_size' },
  'com.microsoft.MultiHeadAttention': { mask: 5, past: [6, 7], causal: 'unidirectional' },
};

function fused(graph: Graph, operator: Operator, places: FusedInputs): CachedAttention {
  const [query = '', keys = '', values = ''] = operator.inputs;
  const read = attributeReaders(operator.attributes);
  const { key, kept, chain } = keptOf(graph, keys, values);
  const mask = operator.inputs[places.mask ?? -1] ?? '';
  const limit = read.int(places.window ?? '') ?? -1;
  // ONNX counts the tokens to the left of a query, the contrib operator the query too.
  const window = limit < 0 ? undefined : limit + (operator.domain === '' ? 1 : 0);
  const isCausal = places.causal === undefined || read.int(places.causal) === 1;
  const past = [
    ...places.past.flatMap((index) => operator.inputs[index] ?? []).filter((name) => name !== ''),
    ...kept.flatMap((name) => pastOf(graph, name)),
  ];
  const isPlain = isCausal || past.length > 0;
  const seen = isPlain ? {} : mask === '' ? undefined : sightOf(graph, mask);
  return {
    operator,
    query,
    key,
    kept,
    members: new Set([operator, ...chain].map(({ index }) => index)),
    long: new Map(chain.flatMap(({ outputs }) => outputs.map((name) => [name, undefined]))),
    sight: seen && { ...seen, ...(window === undefined ? {} : { window }) },
    past,
  };
}

function writtenOut(graph: Graph, softmax: Operator): CachedAttention | undefined {
  const axis = axisOfSoftmax(graph, softmax);
  const weights = axis === undefined ? undefined : followWeights(graph, softmax, axis);
  const scores = axis === undefined ? undefined : followScores(graph, softmax, axis);
  if (weights === undefined || scores === undefined) return undefined;
  const { key, kept, chain } = keptOf(graph, scores.key, weights.value);
  const path = [...scores.operators, softmax, ...weights.operators];
  const past = kept.flatMap((name) => pastOf(graph, name));
  const between = path.filter((operator) => operator !== weights.product);
  return {
    operator: weights.product,
    query: scores.query,
    key,
    kept,
    members: new Set([...chain, ...path].map(({ index }) => index)),
    long: new Map([
      ...chain.flatMap(({ outputs }) => outputs.map((name) => [name, undefined] as const)),
      ...between.flatMap(({ outputs }) => outputs.map((name) => [name, axis] as const)),
    ]),
    sight:
      scores.masks.map((mask) => sightOf(graph, mask)).find((sight) => sight !== undefined) ??
      (past.length > 0 ? {} : undefined),
    past,
  };
}

interface Kept {
  readonly key: string;
  readonly kept: readonly string[];
  /** Operators between what is kept and the products of attention. */
  readonly chain: readonly Operator[];
}

function keptOf(graph: Graph, keys: string, values: string): Kept {
  const [key, value] = [cachedSource(graph, keys), cachedSource(graph, values)];
  const latent = latentOf(graph, key, value);
  const chain = [...(latent?.operators ?? []), ...key.operators, ...value.operators];
  return { key: key.name, kept: latent?.kept ?? [...new Set([key.name, value.name])], chain };
}

/**
 * Latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1): one product makes keys and values of all heads from a
 * narrow tensor, and a rotated key that all heads share is joined to those keys. Only the two are kept
 * (transformers 5.18, modeling_deepseek_v3.py, `past_key_values.update`).
 */
function latentOf(
  graph: Graph,
  key: CachedSource,
  value: CachedSource,
): { readonly kept: readonly string[]; readonly operators: readonly Operator[] } | undefined {
  const joined = producerOf(graph, key.name);
  const split = producerOf(graph, value.name);
  if (joined?.type !== 'Concat' || split === undefined || !parts.has(split.type)) return undefined;
  const ofAll = joined.inputs.map((name) => cachedSource(graph, name));
  const own = ofAll.find(
    ({ name }) => producerOf(graph, name) === split || partsOfOne(graph, name, value.name),
  );
  const shared = ofAll.find(({ operators }) => operators.some(({ type }) => type === 'Expand'));
  if (own === undefined || shared === undefined || own === shared) return undefined;
  const halves = [producerOf(graph, own.name), split].filter((each) => each !== undefined);
  const whole = cachedSource(graph, split.inputs[0] ?? '');
  const product = producerOf(graph, whole.name);
  if (product?.type !== 'MatMul' && product?.type !== 'Gemm') return undefined;
  return {
    kept: [product.inputs[0] ?? '', shared.name],
    operators: [
      product,
      ...whole.operators,
      ...new Set(halves),
      ...own.operators,
      ...shared.operators,
      joined,
    ],
  };
}

const parts: ReadonlySet<string> = new Set(['Split', 'Slice']);

/** Two slices of one tensor. */
function partsOfOne(graph: Graph, left: string, right: string): boolean {
  const [one, other] = [left, right].map((name) => producerOf(graph, name));
  return one?.type === 'Slice' && other?.type === 'Slice' && one.inputs[0] === other.inputs[0];
}

interface CachedSource {
  readonly name: string;
  /** What lies between it and its reader. */
  readonly operators: readonly Operator[];
}

/** From what a product reads up to what computes it: views, casts, repetition of heads and scaling are passed. */
function cachedSource(graph: Graph, read: string): CachedSource {
  const operators: Operator[] = [];
  let name = read;
  for (let hops = 0; hops < 16; hops += 1) {
    const producer = producerOf(graph, name);
    if (producer === undefined || !isPassed(graph, producer)) break;
    const from = producer.inputs.find((input) => !isScalar(graph, input)) ?? producer.inputs[0] ?? '';
    operators.unshift(producer);
    name = from;
  }
  return { name, operators };
}

const passed: ReadonlySet<string> = new Set([
  'Cast',
  'CastLike',
  'Expand',
  'Flatten',
  'Identity',
  'Reshape',
  'Squeeze',
  'Tile',
  'Transpose',
  'Unsqueeze',
]);

const isPassed = (graph: Graph, { type, inputs }: Operator): boolean =>
  passed.has(type) || ((type === 'Mul' || type === 'Div') && inputs.some((input) => isScalar(graph, input)));

/** Keys or values that a `Concat` puts before those of the step, and that the model is given. */
function pastOf(graph: Graph, name: string): readonly string[] {
  const joined = producerOf(graph, name);
  if (joined?.type !== 'Concat') return [];
  return joined.inputs.filter((input) => graph.values.get(cachedSource(graph, input).name)?.role === 'input');
}
