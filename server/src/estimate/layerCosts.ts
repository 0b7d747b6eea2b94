/** Costs of layers: sums over their operators; a parameter counts at the first layer that uses it. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { Dimension } from '../model/dimension.ts';
import type { ElementType } from '../model/elementType.ts';
import { formatCount } from '../model/format.ts';
import { isKnownShape, type Layer } from '../model/graph.ts';
import type { Bound, LayerCost } from '../model/stepCost.ts';
import { bytes, flops, type Seconds, seconds } from '../model/units.ts';
import { type KnownCost, noWork } from '../operators/definition.ts';
import { parameterBytes } from './gradients.ts';
import type { OperatorTimes, PassTimes } from './operatorTimes.ts';
import { unknownCostText } from './unknownParts.ts';

/** What the layers are summed from; arrays are aligned with the operators of the graph. */
export interface LayerInputs {
  readonly training: TrainingGraph;
  readonly times: OperatorTimes;
  /** On the timeline, waiting for the host included. */
  readonly forward: Spread;
  readonly backward: Spread;
  readonly savedByOperator: readonly number[];
  readonly trains: boolean;
  readonly stateBytesPerElement: number;
  /** By layer index. */
  readonly communication: readonly LayerCommunication[];
  /** Whether all of backward is known; else nobody can say what of the communication it hides. */
  readonly exposureKnown: boolean;
  readonly notes: (layer: Layer) => readonly string[];
}

export interface Spread {
  readonly middle: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
}

export interface LayerCommunication {
  readonly time: number;
  readonly exposed: number;
  readonly note: string | undefined;
}

export function layerCosts(inputs: LayerInputs): readonly LayerCost[] {
  const { training } = inputs;
  const owned = parametersByLayer(training);
  const frozen = frozenByLayer(training);
  return training.analysis.layers.map((layer, index) =>
    layerCost(inputs, layer, owned[index] ?? [], frozen.get(index), inputs.communication[index]),
  );
}

/** Elements and bytes of the frozen weights by the layer that uses them first. */
function frozenByLayer(training: TrainingGraph): ReadonlyMap<number, FrozenWeights> {
  const byLayer = new Map<number, FrozenWeights>();
  const layerOf = layerOfOperators(training);
  for (const parameter of training.analysis.frozen) {
    const layer = layerOf[parameter.operators[0] ?? -1];
    if (layer === undefined) continue;
    const before = byLayer.get(layer) ?? { elements: 0, bytes: 0 };
    byLayer.set(layer, {
      elements: before.elements + parameter.elements,
      bytes: before.bytes + parameterBytes(parameter),
    });
  }
  return byLayer;
}

interface FrozenWeights {
  readonly elements: number;
  readonly bytes: number;
}

/** Indices of parameters by the layer that uses them first. */
export function parametersByLayer(training: TrainingGraph): readonly (readonly number[])[] {
  const { layers, parameters } = training.analysis;
  const layerOf = layerOfOperators(training);
  const owned: number[][] = layers.map(() => []);
  for (const [index, parameter] of parameters.entries()) {
    const layer = layerOf[parameter.operators[0] ?? -1];
    if (layer !== undefined) owned[layer]?.push(index);
  }
  return owned;
}

export function layerOfOperators(training: TrainingGraph): readonly (number | undefined)[] {
  const layerOf: (number | undefined)[] = training.analysis.graph.operators.map(() => undefined);
  for (const [index, layer] of training.analysis.layers.entries()) {
    for (const operator of layer.operators) layerOf[operator] = index;
  }
  return layerOf;
}

function layerCost(
  inputs: LayerInputs,
  layer: Layer,
  owned: readonly number[],
  frozen: FrozenWeights | undefined,
  communication: LayerCommunication | undefined,
): LayerCost {
  const { training } = inputs;
  const { operators } = training.analysis.graph;
  const known: KnownCost[] = [];
  const names: string[] = [];
  let reason: string | undefined;
  for (const index of layer.operators) {
    const cost = training.costs[index];
    if (cost?.kind === 'known') known.push(cost);
    else if (cost !== undefined) reason ??= unknownCostText(cost);
    const operator = operators[index];
    if (operator !== undefined) names.push(operator.name || (operator.outputs[0] ?? operator.type));
  }
  const nothingKnown = known.length === 0 && reason !== undefined;
  const orNull = <Value>(value: Value): Value | null => (nothingKnown ? null : value);
  const forward = sumWork(known, 'forward');
  const backwardData = inputs.trains ? sumWork(known, 'backwardData') : noWork;
  const backwardWeight = inputs.trains ? sumWork(known, 'backwardWeight') : noWork;
  const over = (column: ArrayLike<number>): number => {
    let total = 0;
    for (const index of layer.operators) total += column[index] ?? 0;
    return total;
  };
  let elements = 0;
  let weightBytes = 0;
  for (const index of owned) {
    const parameter = training.analysis.parameters[index];
    if (parameter === undefined) continue;
    elements += parameter.elements;
    weightBytes += parameterBytes(parameter);
  }
  const time = { forward: over(inputs.forward.middle), backward: over(inputs.backward.middle) };
  const computed = nothingKnown ? [] : inputs.notes(layer);
  const notes = [
    ...computed,
    ...known.flatMap(({ note }) => note ?? []),
    ...(communication?.note === undefined ? [] : [communication.note]),
    ...(frozen === undefined ? [] : [`${formatCount(frozen.elements)} parameters frozen, not trained`]),
    ...(layer.marks?.recomputed === undefined || !inputs.trains ? [] : ['computed again in backward']),
    ...(layer.marks?.precision === undefined ? [] : [`in ${layer.marks.precision}, as its line says`]),
  ];
  return {
    name: layer.name,
    type: layer.type,
    operators: names,
    parameters: elements,
    output: outputOf(training, layer),
    flops: {
      forward: orNull(flops(forward.flops)),
      backwardData: orNull(flops(backwardData.flops)),
      backwardWeight: orNull(flops(backwardWeight.flops)),
    },
    operations: {
      forward: orNull(forward.operations),
      backward: orNull(backwardData.operations + backwardWeight.operations),
    },
    bytes: {
      forward: orNull(bytes(over(inputs.times.forward.bytes))),
      backward: orNull(bytes(over(inputs.times.backward.bytes))),
    },
    time: {
      forward: orNull(seconds(time.forward)),
      backward: orNull(seconds(time.backward)),
      communication: seconds(communication?.time ?? 0),
      exposedCommunication: exposureOf(communication, inputs.exposureKnown),
    },
    memory: {
      parameters: bytes(weightBytes + (frozen?.bytes ?? 0)),
      activations: orNull(bytes(over(inputs.savedByOperator))),
      gradient: bytes(inputs.trains ? weightBytes : 0),
      optimizerState: bytes(elements * inputs.stateBytesPerElement),
    },
    bound: boundOf(inputs, over, time),
    source: nothingKnown ? 'unknown' : 'profile',
    range: orNull([
      seconds(Math.min(time.forward + time.backward, over(inputs.forward.low) + over(inputs.backward.low))),
      seconds(Math.max(time.forward + time.backward, over(inputs.forward.high) + over(inputs.backward.high))),
    ] as const),
    notes,
    ...(reason === undefined ? {} : { unknown: reason }),
  };
}

function exposureOf(communication: LayerCommunication | undefined, known: boolean): Seconds | null {
  if (communication === undefined || communication.time === 0) return seconds(0);
  return known ? seconds(communication.exposed) : null;
}

/** What takes the most of a layer's time: products, memory, or launches and waiting for them. */
function boundOf(
  inputs: LayerInputs,
  over: (column: ArrayLike<number>) => number,
  time: { readonly forward: number; readonly backward: number },
): Bound {
  let compute = 0;
  let memory = 0;
  let launch = 0;
  const count = (pass: PassTimes, onTimeline: number): void => {
    compute += over(pass.compute);
    memory += over(pass.memory);
    launch += over(pass.launch) + Math.max(0, onTimeline - over(pass.middle));
  };
  count(inputs.times.forward, time.forward);
  if (inputs.trains) count(inputs.times.backward, time.backward);
  const most = Math.max(compute, memory, launch);
  if (most === 0) return 'none';
  return most === compute ? 'compute' : most === memory ? 'memory' : 'launch';
}

function sumWork(
  costs: readonly KnownCost[],
  pass: 'forward' | 'backwardData' | 'backwardWeight',
): { readonly flops: number; readonly operations: number } {
  let products = 0;
  let operations = 0;
  for (const cost of costs) {
    products += cost[pass].flops;
    operations += cost[pass].operations;
  }
  return { flops: products, operations };
}

/** The output of a layer: the first output of its last operator. */
function outputOf(
  training: TrainingGraph,
  layer: Layer,
): { readonly shape: readonly Dimension[] | null; readonly elementType: ElementType } {
  const { graph } = training.analysis;
  const name = graph.operators[layer.operators.at(-1) ?? -1]?.outputs[0];
  const bound = name === undefined ? undefined : training.tensors.get(name);
  if (bound !== undefined) return { shape: bound.dimensions, elementType: bound.elementType };
  const type = name === undefined ? undefined : graph.values.get(name)?.type;
  if (type?.kind !== 'tensor') return { shape: null, elementType: 'undefined' };
  return { shape: isKnownShape(type.shape) ? type.shape : null, elementType: type.elementType };
}
