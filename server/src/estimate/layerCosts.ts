/** Costs of layers: their work, their part of the step's time and of its communication. A parameter counts at the first layer that uses it. */

import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import type { Estimate } from '../model/estimate.ts';
import type { Layer } from '../model/graph.ts';
import { memoize } from '../model/memoize.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import type { BoundBy, LayerCost } from '../model/stepCost.ts';
import { bytes, type Seconds, seconds } from '../model/units.ts';
import { type LayerWork, type WorkInputs, worksOfLayers } from './layerWork.ts';
import { sumOver } from './sumOver.ts';
import { layersOfOrigins, unknownCostText } from './unknownParts.ts';

/** What the layers are summed from; arrays are aligned with the operators of the graph. */
export interface LayerInputs extends WorkInputs {
  /** On the timeline, waiting for the host included. */
  readonly forward: Estimate<Float64Array>;
  readonly backward: Estimate<Float64Array>;
  /** Bytes of the optimizer's state by index of the parameter. */
  readonly stateOfParameters: Float64Array;
  /** By layer index. */
  readonly communication: readonly LayerCommunication[];
  /** Whether all of backward is known; else nobody can say what of the communication it hides. */
  readonly exposureKnown: boolean;
  /** Those of `unknownOrigins`. */
  readonly origins: ReadonlyMap<number, number>;
}

export interface LayerCommunication {
  readonly time: number;
  readonly exposed: number;
  /** Infinite where nothing is sent. */
  readonly slack: number;
  readonly note: string | undefined;
}

export function layerCosts(inputs: LayerInputs): readonly LayerCost[] {
  const { analysis, folded } = inputs.training;
  const workOf = worksOfLayers(inputs);
  const names = namesOfLayers(analysis, folded !== undefined);
  const sinceOf = sinceOfLayers(inputs);
  const memoryOf = memoize(({ memory, owned }: LayerWork) => ({
    ...memory,
    optimizerState: bytes(sumOver(owned, inputs.stateOfParameters)),
  }));
  return analysis.layers.map((layer, index) => {
    const work = workOf(layer, index);
    const cost = layerCost(inputs, {
      layer,
      names: names[index] ?? [],
      work,
      memory: memoryOf(work),
      communication: inputs.communication[index],
    });
    return work.reason === undefined ? cost : { ...cost, ...whyUnknown(work.reason, sinceOf(layer)) };
  });
}

interface Since {
  readonly layer: string;
  /** Why the first is unknown; absent where only what it gives is. */
  readonly reason: string | undefined;
}

/** By layer: where what is unknown of it begins, if that is in another layer. */
function sinceOfLayers({ training, origins }: LayerInputs): (layer: Layer) => Since | undefined {
  const layerOf = layersOfOrigins(training, origins);
  return ({ name, operators }) => {
    const unknown = operators.find((index) => training.costs[index]?.kind === 'unknown');
    const origin = unknown === undefined ? undefined : origins.get(unknown);
    const layer = origin === undefined ? undefined : layerOf.get(origin);
    if (origin === undefined || layer === undefined || layer === name) return undefined;
    const cost = training.costs[origin];
    return { layer, reason: cost?.kind === 'unknown' ? unknownCostText(cost) : undefined };
  };
}

const whyUnknown = (
  reason: string,
  since: Since | undefined,
): Pick<LayerCost, 'unknown' | 'unknownSince'> => ({
  unknown: since?.reason ?? reason,
  ...(since === undefined ? {} : { unknownSince: since.layer }),
});

/** Names of the operators of every layer. The whole graph of a folded analysis is better not made for them. */
const namesOfLayers = memoizeRecent(
  (analysis: ModelAnalysis, isFolded: boolean): readonly (readonly string[])[] => {
    const nameOf = isFolded ? analysis.folded?.nameOf : undefined;
    const name = nameOf ?? nameInGraph(analysis);
    return analysis.layers.map(({ operators }) => operators.map((index) => name(index)));
  },
  (known, asked) => known === asked,
);

function nameInGraph({ graph: { operators } }: ModelAnalysis): (index: number) => string {
  return (index) => {
    const operator = operators[index];
    return operator === undefined ? '' : operator.name || (operator.outputs[0] ?? operator.type);
  };
}

/** A layer, and what is known of it alone. */
interface WorkedLayer {
  readonly layer: Layer;
  /** Of its operators. */
  readonly names: readonly string[];
  readonly work: LayerWork;
  readonly memory: LayerCost['memory'];
  readonly communication: LayerCommunication | undefined;
}

function layerCost(
  inputs: LayerInputs,
  { layer, names, work, memory, communication }: WorkedLayer,
): LayerCost {
  const { nothingKnown } = work;
  const forward = sumOver(layer.operators, inputs.forward.middle);
  const backward = sumOver(layer.operators, inputs.backward.middle);
  const low = sumOver(layer.operators, inputs.forward.low) + sumOver(layer.operators, inputs.backward.low);
  const high = sumOver(layer.operators, inputs.forward.high) + sumOver(layer.operators, inputs.backward.high);
  return {
    name: layer.name,
    type: layer.type,
    operators: names,
    parameters: work.parameters,
    output: work.output,
    flops: work.flops,
    operations: work.operations,
    bytes: work.bytes,
    time: {
      forward: nothingKnown ? null : seconds(forward),
      backward: nothingKnown ? null : seconds(backward),
      ...(nothingKnown
        ? {}
        : { kernels: { forward: seconds(work.forward.all), backward: seconds(work.backward.all) } }),
      communication: seconds(communication === undefined ? 0 : communication.time),
      exposedCommunication: exposureOf(communication, inputs.exposureKnown),
      communicationSlack: slackOf(communication, inputs.exposureKnown),
    },
    memory,
    bound: boundOf(work, forward, backward, inputs.trains),
    source: nothingKnown ? 'unknown' : 'profile',
    range: nothingKnown
      ? null
      : {
          low: seconds(Math.min(forward + backward, low)),
          high: seconds(Math.max(forward + backward, high)),
        },
    notes: notesOf(work, communication),
  };
}

/** Layers of the same work that send nothing share them. */
function notesOf(
  { notes, marks }: LayerWork,
  communication: LayerCommunication | undefined,
): readonly string[] {
  const note = communication?.note;
  if (note === undefined && marks.length === 0) return notes;
  return [...notes, ...(note === undefined ? [] : [note]), ...marks];
}

function exposureOf(communication: LayerCommunication | undefined, known: boolean): Seconds | null {
  if (communication === undefined || communication.time === 0) return seconds(0);
  return known ? seconds(communication.exposed) : null;
}

/** Nothing is said of a layer that sends nothing. */
function slackOf(communication: LayerCommunication | undefined, known: boolean): Seconds | null {
  if (communication === undefined || !known || !Number.isFinite(communication.slack)) return null;
  return seconds(communication.slack);
}

/** What takes the most of a layer's time: matmuls, other instructions, memory, or launches and waiting for them. */
function boundOf(work: LayerWork, forward: number, backward: number, trains: boolean): BoundBy {
  let { compute, memory } = work.forward;
  let launch = work.forward.launch + Math.max(0, forward - work.forward.all);
  if (trains) {
    compute += work.backward.compute;
    memory += work.backward.memory;
    launch += work.backward.launch + Math.max(0, backward - work.backward.all);
  }
  const most = Math.max(compute, memory, launch);
  if (most === 0) return 'none';
  if (most === compute) return hasMatmuls(work) ? 'compute' : 'instructions';
  return most === memory ? 'memory' : 'launch';
}

const hasMatmuls = ({ flops: { forward, backwardData, backwardWeight } }: LayerWork): boolean =>
  [forward, backwardData, backwardWeight].some((count) => count !== null && count > 0);
