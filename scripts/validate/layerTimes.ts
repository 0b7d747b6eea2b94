/** What is predicted of each layer of a model, by itself: the sum of its kernels, forward and backward. */

import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { PassTimes } from '../../server/src/estimate/plan/operatorTimes.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { computePath } from '../../server/src/hardware/computePath.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

export interface PassTime {
  /** Seconds. */
  readonly time: number;
  /** What its FLOPs would take at the peak. */
  readonly atPeak: number;
  /** Bytes moved over the bandwidth. */
  readonly atBandwidth: number;
}

export interface LayerTime {
  readonly forward: PassTime;
  readonly backward: PassTime;
}

/** By name of layer; a layer of unknown cost is left out, and so are all where the model cannot be costed. */
export function layerTimes(opened: OpenedModel, request: ScenarioRequest): ReadonlyMap<string, LayerTime> {
  const { training, scenario, cluster } = estimateModel(opened, [request]);
  const result = new Map<string, LayerTime>();
  if (training === undefined || scenario === undefined || cluster === undefined) return result;
  const { times, lowered } = planStep(training, scenario, cluster);
  const { gpu } = cluster;
  for (const layer of training.analysis.layers) {
    if (layer.operators.some((index) => training.costs[index]?.kind !== 'known')) continue;
    const passOf = (columns: PassTimes, backward: boolean): PassTime => {
      let [time, atPeak, moved] = [0, 0, 0];
      for (const index of layer.operators) {
        const cost = training.costs[index];
        const dtype = lowered.operators[index]?.dtype;
        if (cost?.kind !== 'known' || dtype === undefined) continue;
        time += columns.middle[index] ?? 0;
        moved += columns.bytes[index] ?? 0;
        const products = backward ? cost.backwardData.flops + cost.backwardWeight.flops : cost.forward.flops;
        atPeak += products / (computePath(gpu, dtype).peak / gpu.sustainedCompute.value);
      }
      return { time, atPeak, atBandwidth: moved / gpu.memoryBandwidth.value };
    };
    result.set(layer.name, {
      forward: passOf(times.forward, false),
      backward: passOf(times.backward, true),
    });
  }
  return result;
}
