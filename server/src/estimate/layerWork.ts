/**
 * Work of layers: the part of their cost that is the same wherever in the step they stand. Layers that a network repeats do
 * the same work: it is added up once, and kept for the next number of GPUs.
 */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { LoweredGraph } from '../frameworks/behaviour.ts';
import type { Dimension } from '../model/dimension.ts';
import type { ElementType } from '../model/elementType.ts';
import { formatCount } from '../model/format.ts';
import { isKnownShape, type Layer } from '../model/graph.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import type { LayerCost } from '../model/stepCost.ts';
import { bytes, flops } from '../model/units.ts';
import { type KnownCost, noWork } from '../operators/definition.ts';
import { layerOfParameters, parametersByLayer } from './layerOf.ts';
import { parameterBytes } from './plan/gradients.ts';
import type { OperatorTimes, PassTimes } from './plan/operatorTimes.ts';
import { sumOver } from './sumOver.ts';
import { unknownCostText } from './unknownParts.ts';

/** What the work of layers is summed from; arrays are aligned with the operators of the graph. */
export interface WorkInputs {
  readonly training: TrainingGraph;
  /** `times`, `savedByOperator`, `isRecomputed` and `notes` follow from it. */
  readonly lowered: LoweredGraph;
  readonly times: OperatorTimes;
  readonly savedByOperator: Float64Array;
  readonly trains: boolean;
  /** Passes forward and backward of one step. */
  readonly passes: number;
  readonly weightBytesPerElement: number;
  /** Whether backward computes it again. */
  readonly isRecomputed: (layer: Layer) => boolean;
  readonly notes: (layer: Layer) => readonly string[];
}

export interface LayerWork
  extends Pick<LayerCost, 'parameters' | 'output' | 'flops' | 'operations' | 'bytes'> {
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

/** The work of a layer by its place in the graph, added up where it is new. */
export function worksOfLayers(inputs: WorkInputs): (layer: Layer, index: number) => LayerWork {
  const { training } = inputs;
  const { folded } = training.analysis;
  const owned = parametersByLayer(training);
  const frozen = frozenByLayer(training, inputs.weightBytesPerElement);
  const works = knownWorks(inputs.lowered, inputs);
  return (layer, index) => {
    const origin = training.folded === undefined ? index : (folded?.layers[index] ?? index);
    let work = works[origin];
    if (work === undefined) {
      work = workOf(inputs, { layer, origin, owned: owned[index] ?? [], frozen: frozen.get(index) });
      works[origin] = work;
    }
    return work;
  };
}

/** By layer, the work that has been added up: for a lowered graph, until passes or the bytes of a weight change. */
const knownWorks = memoizeRecent(
  (
    _: LoweredGraph,
    __: Pick<WorkInputs, 'times' | 'passes' | 'weightBytesPerElement'>,
  ): (LayerWork | undefined)[] => [],
  (known, asked) =>
    known.times === asked.times &&
    known.passes === asked.passes &&
    known.weightBytesPerElement === asked.weightBytesPerElement,
);

/** Elements and bytes of the frozen weights by the layer that uses them first. */
function frozenByLayer(training: TrainingGraph, bytesPerElement: number): ReadonlyMap<number, Weights> {
  const byLayer = new Map<number, Weights>();
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

interface Weights {
  readonly elements: number;
  readonly bytes: number;
}

/** Where a layer stands, and what belongs to it. */
interface PlacedLayer {
  readonly layer: Layer;
  /** Its place in the graph in which repetition is folded. */
  readonly origin: number;
  readonly owned: readonly number[];
  readonly frozen: Weights | undefined;
}

function workOf(inputs: WorkInputs, { layer, origin, owned, frozen }: PlacedLayer): LayerWork {
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
  const weights = weightsOf(training, owned, inputs.weightBytesPerElement);
  const boundTimes = (pass: PassTimes): BoundTimes => ({
    compute: passes * over(pass.compute),
    memory: passes * over(pass.memory),
    launch: passes * over(pass.launch),
    all: passes * over(pass.middle),
  });
  return {
    nothingKnown,
    reason,
    parameters: weights.elements,
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
      parameters: bytes(frozen === undefined ? weights.bytes : weights.bytes + frozen.bytes),
      activations: orNull(bytes(over(inputs.savedByOperator))),
      gradient: bytes(trains ? weights.bytes : 0),
    },
    forward: boundTimes(inputs.times.forward),
    backward: boundTimes(inputs.times.backward),
    notes: [...(nothingKnown ? [] : inputs.notes(layer)), ...known.flatMap(({ note }) => note ?? [])],
    marks: marksOf(inputs, layer, frozen),
  };
}

function weightsOf(training: TrainingGraph, owned: readonly number[], bytesPerElement: number): Weights {
  let elements = 0;
  let weightBytes = 0;
  for (const index of owned) {
    const parameter = training.analysis.parameters[index];
    if (parameter === undefined) continue;
    elements += parameter.elements;
    weightBytes += parameterBytes(parameter, bytesPerElement);
  }
  return { elements, bytes: weightBytes };
}

/** What the person asked of a layer, where its cost shows it. */
const marksOf = (
  { isRecomputed }: WorkInputs,
  layer: Layer,
  frozen: Weights | undefined,
): readonly string[] => [
  ...(frozen === undefined ? [] : [`${formatCount(frozen.elements)} parameters frozen, not trained`]),
  ...(isRecomputed(layer) ? ['recomputed in backward'] : []),
  ...(layer.marks?.precision === undefined ? [] : [`in ${layer.marks.precision}, as its line says`]),
];

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
