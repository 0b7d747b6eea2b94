/**
 * Frozen linear layers in few bits (Dettmers et al., QLoRA, arXiv:2305.14314): their weights are made whole where they are read, in
 * forward and once more in backward.
 */

import type { BlockFormat } from '../../model/blockFormat.ts';
import type { ModelAnalysis } from '../modelAnalysis.ts';
import { linearLayers } from './linearLayers.ts';

/**
 * The analysis with the frozen weights of its linear layers in `format`, but for those that give the scores and those that something
 * else reads too, as a table of tokens does (transformers 5.18, integrations/bitsandbytes.py, `replace_with_bnb_linear`, and
 * quantizers/base.py, `get_keys_to_not_convert`: the output layer and what is tied to it stay). Stacks of experts are no linear layers.
 */
export function quantizeBase(analysis: ModelAnalysis, format: BlockFormat): ModelAnalysis {
  const { storedLayout } = analysis.costing.auxiliary;
  const layers = linearLayers(analysis);
  const places = new Set(layers.flatMap(({ operator, isHead }) => (isHead ? [] : [operator.index])));
  const weights = new Set(layers.map(({ product }) => product.weight));
  return {
    ...analysis,
    frozen: analysis.frozen.map((weight) => {
      const isRead = (index: number): boolean => places.has(index) || storedLayout[index] === true;
      return weights.has(weight.name) && weight.operators.every(isRead) ? { ...weight, format } : weight;
    }),
  };
}
