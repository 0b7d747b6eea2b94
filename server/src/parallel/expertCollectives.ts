/**
 * What workers of expert parallelism exchange: rows go to the workers of their experts, and results come back; in backward
 * the gradients of both go the other way. Each is an all-to-all, of which a worker sends (e − 1)/e of its own rows: k for each token.
 * Sources: Lepikhin et al., arXiv:2006.16668, section 3.1; NVIDIA/Megatron-LM, megatron/core/transformer/moe/token_dispatcher.py,
 * `MoEAlltoAllTokenDispatcher`.
 */

import { chosenExperts } from '../operators/contrib/mixtureOfExperts.ts';
import type { DividedGraph } from './boundMap.ts';
import type { ExpertParallel } from './expertParallel.ts';
import type { MeshCollective } from './meshCollective.ts';

/**
 * `elementsOf`: of a value as one worker has it. `imbalance`: rows of the busiest worker over the mean, of mixtures that drop no
 * token; where experts have room for a number of rows, so many are sent.
 */
export function expertTraffic(
  { training }: DividedGraph,
  { divisions, mixtures, dispatched, combined }: ExpertParallel,
  imbalance: number,
  elementsOf: (name: string) => number,
): readonly MeshCollective[] {
  const { operators } = training.analysis.graph;
  const ways = divisions[0]?.ways ?? 1;
  const exchanged = (
    operator: number,
    name: string,
    elements: number,
    chosen?: number,
  ): readonly MeshCollective[] => {
    const own = {
      ...({ axis: 'expert', operator, collective: 'all-to-all', elements: ways * elements } as const),
      ...(chosen === undefined ? {} : { chosen }),
    };
    const forward = { ...own, pass: 'forward' } as const;
    return training.requiresGradient.has(name) ? [forward, { ...own, pass: 'backward' }] : [forward];
  };
  const ofMixtures = mixtures.flatMap((index) => {
    const operator = operators[index];
    if (operator === undefined) return [];
    const { inputs, outputs } = operator;
    const chosen = chosenExperts(operator, training.tensors);
    return [inputs[0] ?? '', outputs[0] ?? ''].flatMap((name) =>
      exchanged(index, name, elementsOf(name) * chosen * imbalance, chosen),
    );
  });
  const ofRows = [...dispatched, ...combined].flatMap(([name, index]) =>
    exchanged(index, name, elementsOf(name)),
  );
  return [...ofMixtures, ...ofRows].sort((one, other) => one.operator - other.operator);
}
