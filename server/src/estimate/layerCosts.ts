/**
 * Costs of layers: sums over their operators; a parameter counts at the first layer that uses it.
 *
 * Layers that a network repeats do the same work: what does not depend on the place in the step is added up once, and
 * kept for the next number of GPUs.
 */

import type { ModelAnalysis, Parameter, TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { LoweredGraph } from '../frameworks/behaviour.ts';
import { floatAt, itemAt } from '../model/at.ts';
import type { Dimension } from '../model/dimension.ts';
import type { ElementType } from '../model/elementType.ts';
import type { Estimate } from '../model/estimate.ts';
import { formatCount } from '../model/format.ts';
import { isKnownShape, type Layer } from '../model/graph.ts';
import { memoize } from '../model/memoize.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import type { BoundBy, LayerCost } from '../model/stepCost.ts';
import { bytes, flops, type Seconds, seconds } from '../model/units.ts';
import { type KnownCost, noWork } from '../operators/definition.ts';
import { parameterBytes } from './plan/gradients.ts';
import type { OperatorTimes, PassTimes } from './plan/operatorTimes.ts';
import { layersOfOrigins, unknownCostText } from './unknownParts.ts';

/** What the layers are summed from; arrays are aligned with the operators of the graph. */
export interface LayerInputs {
  readonly training: TrainingGraph;
  /** `times`, `savedByOperator`, `isRecomputed` and `notes` follow from it. */
  readonly lowered: LoweredGraph;
  readonly times: OperatorTimes;
  /** On the timeline, waiting for the host included. */
  readonly forward: Estimate<Float64Array>;
  readonly backward: Estimate<Float64Array>;
  readonly savedByOperator: Float64Array;
  readonly trains: boolean;
  /** Passes forward and backward of one step. */
  readonly passes: number;
  readonly weightBytesPerElement: number;
  /** Whether backward computes it again. */
  readonly isRecomputed: (layer: Layer) => boolean;
  /** Bytes of the optimizer's state by index of the parameter. */
  readonly stateOfParameters: Float64Array;
  /** By layer index. */
  readonly communication: readonly LayerCommunication[];
  /** Whether all of backward is known; else nobody can say what of the communication it hides. */
  readonly exposureKnown: boolean;
  /** Those of `unknownOrigins`. */
  readonly origins: ReadonlyMap<number, number>;
  readonly notes: (layer: Layer) => readonly string[];
}

export interface LayerCommunication {
  readonly time: number;
  readonly exposed: number;
  /** Infinite where nothing is sent. */
  readonly slack: number;
  readonly note: string | undefined;
}

export function layerCosts(inputs: LayerInputs): readonly LayerCost[] {
  const { training } = inputs;
  const { layers, folded } = training.analysis;
  const owned = parametersByLayer(training);
  const frozen = frozenByLayer(training, inputs.weightBytesPerElement);
  const names = namesOfLayers(training.analysis, training.folded !== undefined);
  const sinceOf = sinceOfLayers(inputs);
  const works = knownWorks(inputs.lowered, inputs);
  const memoryOf = memoize(({ memory, owned: indices }: LayerWork) => ({
    ...memory,
    optimizerState: bytes(sumOver(indices, inputs.stateOfParameters)),
  }));
  return layers.map((layer, index) => {
    const origin = training.folded === undefined ? index : (folded?.layers[index] ?? index);
    let work = works[origin];
    if (work === undefined) {
      work = workOf(inputs, layer, origin, owned[index] ?? [], frozen.get(index));
      works[origin] = work;
    }
    const since = work.reason === undefined ? undefined : sinceOf(layer);
    const memory = memoryOf(work);
    return layerCost(inputs, layer, names[index] ?? [], work, memory, inputs.communication[index], since);
  });
}

/** By layer, the work that has been added up: for a lowered graph, until passes or the bytes of a weight change. */
const knownWorks = memoizeRecent(
  (
    _: LoweredGraph,
    __: Pick<LayerInputs, 'times' | 'passes' | 'weightBytesPerElement'>,
  ): (LayerWork | undefined)[] => [],
  (known, asked) =>
    known.times === asked.times &&
    known.passes === asked.passes &&
    known.weightBytesPerElement === asked.weightBytesPerElement,
);

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

/** Elements and bytes of the frozen weights by the layer that uses them first. */
function frozenByLayer(training: TrainingGraph, bytesPerElement: number): ReadonlyMap<number, FrozenWeights> {
  const byLayer = new Map<number, FrozenWeights>();
  if (training.analysis.frozen.length === 0) return byLayer;
  const layerOf = layerOfParameters(training);
  for (const parameter of training.analysis.frozen) {
    const layer = layerOf(parameter);
    if (layer === undefined) continue;
    const before = byLayer.get(layer) ?? { elements: 0, bytes: 0 };
    byLayer.set(layer, {
      elements: before.elements + parameter.elements,
      bytes: before.bytes + parameterBytes(parameter, bytesPerElement),
    });
  }
  return byLayer;
}

interface FrozenWeights {
  readonly elements: number;
  readonly bytes: number;
}

/** Indices of parameters by the layer that they belong to. */
export function parametersByLayer(training: TrainingGraph): readonly (readonly number[])[] {
  const { layers, parameters } = training.analysis;
  const layerOf = layerOfParameters(training);
  const owned: number[][] = layers.map(() => []);
  parameters.forEach((parameter, index) => {
    const layer = layerOf(parameter);
    if (layer !== undefined) owned[layer]?.push(index);
  });
  return owned;
}

/**
 * The layer that a parameter belongs to: the one that uses it first. `Parameter` lines of a spec only pass theirs on, so
 * that another line uses it; such a line is found by its name, which begins the parameter's.
 */
export function layerOfParameters(training: TrainingGraph): (parameter: Parameter) => number | undefined {
  const layerOf = layerOfOperators(training);
  const passing = new Map<string, number>();
  training.analysis.layers.forEach(({ name, type, given }, index) => {
    if (given !== undefined && type === 'Parameter') passing.set(`${name}.weight`, index);
  });
  return ({ name, operators }) => passing.get(name) ?? layerOf[operators[0] ?? -1];
}

/** By operator: its layer; every operator has one. */
export function layerOfOperators(training: TrainingGraph): Int32Array {
  const layerOf = new Int32Array(training.costs.length);
  const { layers } = training.analysis;
  for (let index = 0; index < layers.length; index += 1) {
    const operators = layers[index]?.operators ?? [];
    for (let position = 0; position < operators.length; position += 1) {
      layerOf[operators[position] ?? -1] = index;
    }
  }
  return layerOf;
}

/** The part of a layer's cost that is the same wherever in the step the layer stands. */
interface LayerWork extends Pick<LayerCost, 'parameters' | 'output' | 'flops' | 'operations' | 'bytes'> {
  readonly memory: Omit<LayerCost['memory'], 'optimizerState'>;
  /** Indices of its parameters; of layers that are alike, those of the first. */
  readonly owned: readonly number[];
  readonly nothingKnown: boolean;
  /** Why a part of it is not known. */
  readonly reason: string | undefined;
  /** Times of its kernels by what bounds them, and all of them, without waiting. */
  readonly forward: BoundTimes;
  readonly backward: BoundTimes;
  readonly notes: readonly string[];
  /** Notes on what the person asked for, which come last. */
  readonly marks: readonly string[];
}

interface BoundTimes {
  readonly compute: number;
  readonly memory: number;
  readonly launch: number;
  readonly all: number;
}

function workOf(
  inputs: LayerInputs,
  layer: Layer,
  origin: number,
  owned: readonly number[],
  frozen: FrozenWeights | undefined,
): LayerWork {
  const { training, trains, passes } = inputs;
  const known: KnownCost[] = [];
  let reason: string | undefined;
  for (const index of layer.operators) {
    const cost = training.costs[index];
    if (cost?.kind === 'known') known.push(cost);
    else if (cost !== undefined) reason ??= unknownCostText(cost);
  }
  const over = (column: Float64Array): number => sumOver(layer.operators, column);
  // What is known of the layer may be views alone: a lower bound of 0 would read as a cost of 0.
  // What is done with gradients is time of backward, also where nothing is known of how they are computed.
  const isKnownToWork = over(inputs.times.forward.middle) > 0;
  const nothingKnown = reason !== undefined && !isKnownToWork;
  const orNull = <Value>(value: Value): Value | null => (nothingKnown ? null : value);
  const forward = sumWork(known, 'forward');
  const backwardData = trains ? sumWork(known, 'backwardData') : noWork;
  const backwardWeight = trains ? sumWork(known, 'backwardWeight') : noWork;
  let elements = 0;
  let weightBytes = 0;
  for (const index of owned) {
    const parameter = training.analysis.parameters[index];
    if (parameter === undefined) continue;
    elements += parameter.elements;
    weightBytes += parameterBytes(parameter, inputs.weightBytesPerElement);
  }
  const boundTimes = (pass: PassTimes): BoundTimes => ({
    compute: passes * over(pass.compute),
    memory: passes * over(pass.memory),
    launch: passes * over(pass.launch),
    all: passes * over(pass.middle),
  });
  return {
    nothingKnown,
    reason,
    parameters: elements,
    owned,
    output: outputOf(training, layer, origin),
    flops: {
      forward: orNull(flops(passes * forward.flops)),
      backwardData: orNull(flops(passes * backwardData.flops)),
      backwardWeight: orNull(flops(passes * backwardWeight.flops)),
    },
    operations: {
      forward: orNull(passes * forward.operations),
      backward: orNull(passes * (backwardData.operations + backwardWeight.operations)),
    },
    bytes: {
      forward: orNull(bytes(passes * over(inputs.times.forward.bytes))),
      backward: orNull(bytes(passes * over(inputs.times.backward.bytes))),
    },
    memory: {
      parameters: bytes(frozen === undefined ? weightBytes : weightBytes + frozen.bytes),
      activations: orNull(bytes(over(inputs.savedByOperator))),
      gradient: bytes(trains ? weightBytes : 0),
    },
    forward: boundTimes(inputs.times.forward),
    backward: boundTimes(inputs.times.backward),
    notes: [...(nothingKnown ? [] : inputs.notes(layer)), ...known.flatMap(({ note }) => note ?? [])],
    marks: [
      ...(frozen === undefined ? [] : [`${formatCount(frozen.elements)} parameters frozen, not trained`]),
      ...(inputs.isRecomputed(layer) ? ['recomputed in backward'] : []),
      ...(layer.marks?.precision === undefined ? [] : [`in ${layer.marks.precision}, as its line says`]),
    ],
  };
}

function layerCost(
  inputs: LayerInputs,
  { name, type, operators }: Layer,
  names: readonly string[],
  work: LayerWork,
  memory: LayerCost['memory'],
  communication: LayerCommunication | undefined,
  since: Since | undefined,
): LayerCost {
  const { nothingKnown } = work;
  const forward = sumOver(operators, inputs.forward.middle);
  const backward = sumOver(operators, inputs.backward.middle);
  const low = sumOver(operators, inputs.forward.low) + sumOver(operators, inputs.backward.low);
  const high = sumOver(operators, inputs.forward.high) + sumOver(operators, inputs.backward.high);
  const cost: LayerCost = {
    name,
    type,
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
  if (work.reason === undefined) return cost;
  return {
    ...cost,
    unknown: since?.reason ?? work.reason,
    ...(since === undefined ? {} : { unknownSince: since.layer }),
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

function sumOver(operators: readonly number[], column: Float64Array): number {
  let total = 0;
  for (let position = 0; position < operators.length; position += 1) {
    total += floatAt(column, itemAt(operators, position));
  }
  return total;
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

function sumWork(
  costs: readonly KnownCost[],
  pass: 'forward' | 'backwardData' | 'backwardWeight',
): { readonly flops: number; readonly operations: number } {
  let matmuls = 0;
  let operations = 0;
  for (const cost of costs) {
    matmuls += cost[pass].flops;
    operations += cost[pass].operations;
  }
  return { flops: matmuls, operations };
}

/** The output of a layer: the first output of its last operator, looked up where the graph is shortest. */
function outputOf(
  training: TrainingGraph,
  layer: Layer,
  origin: number,
): { readonly shape: readonly Dimension[] | null; readonly elementType: ElementType } {
  const { analysis, tensors } = training.folded ?? training;
  const shown = training.folded === undefined ? layer : analysis.layers[origin];
  const name = analysis.graph.operators[shown?.operators.at(-1) ?? -1]?.outputs[0];
  const bound = name === undefined ? undefined : tensors.get(name);
  if (bound !== undefined) return { shape: bound.dimensions, elementType: bound.elementType };
  const type = name === undefined ? undefined : analysis.graph.values.get(name)?.type;
  if (type?.kind !== 'tensor') return { shape: null, elementType: 'undefined' };
  return { shape: isKnownShape(type.shape) ? type.shape : null, elementType: type.elementType };
}
