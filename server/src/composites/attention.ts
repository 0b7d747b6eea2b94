/**
 * Attention: softmax(Q·Kᵀ · scale + mask)·V, with all that exporters and models put between the two products.
 *
 * The match starts at the softmax. Upwards it passes scaling, masks, biases, caps, casts and views to the product of
 * queries and keys; downwards dropout, casts and views to the product with values. The axis of the softmax must be the
 * axis that the second product sums over, and both products must be of computed tensors: a softmax between two linear
 * layers, a router of experts and linear attention are none.
 */

import type { Graph, Operator } from '../model/graph.ts';
import { evidenceOf } from './attentionEvidence.ts';
import { keyChain, queryChain, valueChain } from './attentionOperands.ts';
import { followScores } from './attentionScores.ts';
import { followWeights } from './attentionWeights.ts';
import { axisOfSoftmax } from './axis.ts';
import { causalMask } from './causalMask.ts';
import type { CompositeMatch, CompositePattern } from './composite.ts';

/** Softmax(Q·Kᵀ·scale + mask)·V per head (Vaswani et al. 2017, eq. 1; torch.nn.functional.scaled_dot_product_attention). */
export const attention: CompositePattern = {
  kind: 'attention',
  name: 'ScaledDotProductAttention',
  anchors: ['Softmax'],
  match,
};

function match(graph: Graph, softmax: Operator): CompositeMatch | undefined {
  const axis = axisOfSoftmax(graph, softmax);
  if (axis === undefined) return undefined;
  const weights = followWeights(graph, softmax, axis);
  if (weights === undefined) return undefined;
  const scores = followScores(graph, softmax, axis);
  if (scores === undefined) return undefined;
  const values = valueChain(graph, weights.value, weights.product);
  const query = queryChain(graph, scores.query, scores.product);
  const key = keyChain(graph, scores.key, scores.product, values);
  const value = key.isRepeated ? values : { source: weights.value, operators: [] };
  const evidence = evidenceOf(graph, { scores, weights, query, key });
  const path = [...scores.operators, softmax, ...weights.operators];
  const isOne = evidence.launchedAs !== 'several';
  const own = isOne ? [...query.operators, ...key.operators, ...value.operators] : [];
  const mask = scores.masks[0];
  const isGenerated = evidence.launchedAs === 'one' && !weights.isGuarded;
  const built = isGenerated ? causalMask(graph, mask, path) : [];
  const operators = new Set([...path, ...own, ...built].map(({ index }) => index));
  return {
    operators: [...operators].sort((a, b) => a - b),
    roles: {
      query: isOne ? query.source : scores.query,
      key: isOne ? key.source : scores.key,
      value: isOne ? value.source : weights.value,
      ...(mask === undefined || built.length > 0 ? {} : { mask }),
    },
    ...evidence,
  };
}
