/** What sharing layers and sequences means for the layers that a person knows: their collectives, and what stays whole. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { entryAt, intAt } from '../../model/at.ts';
import type { LayerCollective, WholeLayer } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import type { WholeProduct } from '../../parallel/tensorParallel.ts';
import { layerOfOperators } from '../layerOf.ts';
import type { StagePlan } from './parallelPlan.ts';

/** Those of one layer that are alike are counted together. */
export function collectivesOfLayers(stages: readonly StagePlan[]): readonly LayerCollective[] {
  return stages.flatMap(({ plan, collectives }) => {
    const { layers } = plan.training.analysis;
    const layerOf = layerOfOperators(plan.training);
    const found = new Map<string, LayerCollective>();
    for (const { operator, pass, collective, times = 1, bytes, time, whole, description } of collectives) {
      const layer = layers[intAt(layerOf, operator)]?.name ?? '';
      const key = `${layer} ${pass} ${collective} ${bytes}`;
      const before = found.get(key);
      found.set(key, {
        layer,
        pass,
        collective,
        count: before === undefined ? times : before.count + times,
        bytes,
        time: seconds(before === undefined ? time : before.time + time),
        whole: seconds(before === undefined ? whole : before.whole + whole),
        description,
      });
    }
    return [...found.values()];
  });
}

/** Layers by what they are of the model's forward, largest first. */
export function wholeLayers(training: TrainingGraph, whole: readonly WholeProduct[]): readonly WholeLayer[] {
  const { layers } = training.analysis;
  const layerOf = layerOfOperators(training);
  const flopsOf = (index: number): number => {
    const cost = training.costs[index];
    return cost?.kind === 'known' ? cost.forward.flops : 0;
  };
  const all = training.costs.reduce((total, _, index) => total + flopsOf(index), 0);
  const found = new Map<string, WholeLayer>();
  for (const { operator, reason } of whole) {
    const layer = layers[intAt(layerOf, operator)]?.name ?? '';
    const share = all === 0 ? 0 : flopsOf(operator) / all;
    const before = found.get(layer);
    found.set(
      layer,
      before === undefined ? { layer, share, reason } : { ...before, share: before.share + share },
    );
  }
  return [...found.keys()]
    .map((layer) => entryAt(found, layer))
    .sort((one, other) => other.share - one.share);
}
