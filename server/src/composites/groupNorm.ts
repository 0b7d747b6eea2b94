/** Group normalization, which is an operator of its own from operator set 18, and right for PyTorch from 21. */

import type { Graph, Operator } from '../model/graph.ts';
import type { CompositePattern } from './composite.ts';
import { beforeCasts, isStored, otherOperand, producerOf, rankOf, soleReader } from './flow.ts';

/**
 * Instance normalization of [images, groups, rest], put back into its shape, scaled and shifted: Wu & He, arXiv 1803.08494;
 * PyTorch `aten::group_norm`.
 */
export const groupNorm: CompositePattern = {
  kind: 'group-norm',
  name: 'GroupNorm',
  anchors: ['InstanceNormalization'],
  modules: ['GroupNorm'],
  match: (graph, normalization) => {
    const grouped = producerOf(graph, normalization.inputs[0]);
    const next = soleReader(graph, normalization.outputs[0]);
    if (grouped?.type !== 'Reshape' || rankOf(graph, normalization.inputs[0] ?? '') !== 3) return undefined;
    const back = next?.type === 'Reshape' ? next : undefined;
    const scale = affine(graph, back ?? normalization, 'Mul');
    const bias = affine(graph, scale?.operator ?? back ?? normalization, 'Add');
    // With a group for each channel of a sequence there is nothing to put back.
    if (back === undefined && (scale === undefined || bias === undefined)) return undefined;
    const operators = [normalization, back, scale?.operator, bias?.operator].flatMap((each) => each ?? []);
    return {
      operators: operators.map(({ index }) => index),
      roles: {
        input: normalization.inputs[0] ?? '',
        ...(scale === undefined ? {} : { scale: scale.stored }),
        ...(bias === undefined ? {} : { bias: bias.stored }),
      },
      launchedAs: 'assumed-one',
    };
  },
};

/** The product or sum of what an operator gives with a stored tensor. */
function affine(
  graph: Graph,
  { outputs }: Operator,
  type: 'Mul' | 'Add',
): { readonly operator: Operator; readonly stored: string } | undefined {
  const operator = soleReader(graph, outputs[0]);
  if (operator?.type !== type) return undefined;
  const stored = otherOperand(operator, outputs[0] ?? '');
  return stored !== undefined && isStored(graph, beforeCasts(graph, stored))
    ? { operator, stored }
    : undefined;
}
