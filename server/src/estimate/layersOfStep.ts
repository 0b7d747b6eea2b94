/** Costs of the layers of a step: where the time of each comes from, and what takes the place of a prediction. */

import type { GpuProfile } from '../hardware/clusterProfile.ts';
import { computePath } from '../hardware/computePath.ts';
import { kernelTime } from '../hardware/kernelTime.ts';
import type { KernelWork } from '../hardware/kernelWork.ts';
import { describeOrigin } from '../hardware/timeOrigin.ts';
import { distinct } from '../model/distinct.ts';
import type { Dtype } from '../model/dtype.ts';
import { type Estimate, estimateOf } from '../model/estimate.ts';
import type { Layer } from '../model/graph.ts';
import type { LayerCost, MessageCost } from '../model/stepCost.ts';
import type { StepTimes } from '../schedule/stepTimeline.ts';
import { layerCosts } from './layerCosts.ts';
import { communicationByLayer } from './messageCosts.ts';
import { withMeasurement } from './plan/measuredWork.ts';
import { timesAlone } from './plan/plannedTimes.ts';
import { stateOfParameters } from './plan/stateOfParameters.ts';
import { passesOf, passTimesOf, type StepPlan } from './plan/stepPlan.ts';

export function layersOf(
  plan: StepPlan,
  timelines: Estimate<StepTimes>,
  messages: readonly MessageCost[],
  exact: boolean,
  origins: ReadonlyMap<number, number>,
): readonly LayerCost[] {
  const { training, scenario } = plan;
  const inGraphOrder = ({ backward }: StepTimes): Float64Array =>
    scenario.mode === 'training' ? backward.toReversed() : new Float64Array(training.costs.length);
  const { measured } = plan;
  if (measured !== undefined) {
    // The bound of a layer and the origin of its prediction are those of its kernels.
    const { measured: _, ...predicted } = plan;
    const alone = estimateOf((bound) => timesAlone(predicted, bound));
    return layersOf(predicted, alone, messages, exact, origins).map((layer, index) => {
      const operators = training.analysis.layers[index];
      return operators === undefined
        ? layer
        : withMeasurement(layer, operators, measured, passesOf(scenario));
    });
  }
  const columns = (of: (times: StepTimes) => Float64Array): Estimate<Float64Array> =>
    estimateOf((bound) => of(timelines[bound]));
  return layerCosts({
    training,
    lowered: plan.lowered,
    times: passTimesOf(plan),
    forward: columns(({ forward }) => forward),
    backward: columns(inGraphOrder),
    savedByOperator: plan.saved.activations,
    trains: scenario.mode === 'training',
    passes: passesOf(scenario),
    weightBytesPerElement: plan.weightBytesPerElement,
    isRecomputed: ({ operators }) =>
      operators.some((index) => plan.lowered.operators[index]?.recomputed !== undefined),
    stateOfParameters: stateOfParameters(plan),
    communication: communicationByLayer(training.analysis.layers, messages),
    exposureKnown: exact,
    origins,
    notes: computeNotes(plan),
  });
}

/**
 * "curves of A100 PCIe 80 GB, 1,234 rows, matmuls in bf16 on tensor cores": where the time of a layer's matmuls comes
 * from, or else that of its first kernel. Layers of like kernels share their notes.
 */
function computeNotes({ cluster, training, lowered }: StepPlan): (layer: Layer) => readonly string[] {
  const { gpu } = cluster;
  const known = new Map<KernelWork, readonly string[]>();
  const notesOf = (kernel: KernelWork, dtype: Dtype | undefined): readonly string[] => {
    let notes = known.get(kernel);
    if (notes === undefined) {
      const origin = describeOrigin(gpu, kernelTime(gpu, kernel).origin);
      notes = [dtype === undefined ? origin : `${origin}, matmuls in ${unitOf(gpu, dtype)}`];
      known.set(kernel, notes);
    }
    return notes;
  };
  const originNotes = (layer: Layer): readonly string[] => {
    let first: KernelWork | undefined;
    for (const index of layer.operators) {
      const cost = training.costs[index];
      const operator = lowered.operators[index];
      if (cost?.kind !== 'known' || operator === undefined) continue;
      const matmuls = operator.forward.find((kernel) => kernel.flops > 0);
      if (matmuls !== undefined) return notesOf(matmuls, operator.dtype);
      first ??= operator.forward[0];
    }
    return first === undefined ? [] : notesOf(first, undefined);
  };
  return (layer) => {
    const assumed = layer.operators.flatMap((index) => lowered.operators[index]?.assumed?.name ?? []);
    return assumed.length === 0
      ? originNotes(layer)
      : [...originNotes(layer), ...distinct(assumed).map(assumedNote)];
  };
}

/** What a file does not say of a formula that is mostly one call. */
const assumedNote = (name: string): string =>
  `${name} is assumed to be one kernel; the range covers operators launched one by one`;

function unitOf(gpu: GpuProfile, dtype: Dtype): string {
  const path = computePath(gpu, dtype);
  return path.unit === 'tensor' ? `${path.actual} on tensor cores` : path.actual;
}
