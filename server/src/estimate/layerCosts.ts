/** Costs of layers: sums over their operators; a parameter counts at the first layer that uses it. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { Dimension } from '../model/dimension.ts';
import type { ElementType } from '../model/elementType.ts';
import { isKnownShape, type Layer } from '../model/graph.ts';
import type { Bound, LayerCost } from '../model/stepCost.ts';
import { bytes, flops, type Seconds, seconds } from '../model/units.ts';
import type { Work } from '../operators/definition.ts';
import { parameterBytes } from './gradients.ts';
import type { OperatorTime, PassTime } from './operatorTimes.ts';

/** What the layers are summed from; arrays are aligned with the operators of the graph. */
export interface LayerInputs {
  readonly training: TrainingGraph;
  readonly times: readonly OperatorTime[];
  /** On the timeline, waiting for the host included: [middle, low, high]. */
  readonly forward: readonly (readonly [number, number, number])[];
  readonly backward: readonly (readonly [number, number, number])[];
  readonly traffic: readonly { readonly forward: number; readonly backward: number }[];
  readonly savedByOperator: readonly number[];
  readonly gradients: boolean;
  readonly stateBytesPerElement: number;
  /** By layer index. */
  readonly communication: readonly LayerCommunication[];
  readonly notes: (layer: Layer) => readonly string[];
}

export interface LayerCommunication {
  readonly time: number;
  readonly exposed: number;
  readonly note: string | undefined;
}

export function layerCosts(inputs: LayerInputs): readonly LayerCost[] {
  const { training } = inputs;
  const owned = parametersByLayer(training);
  return training.analysis.layers.map((layer, index) =>
    layerCost(inputs, layer, owned[index] ?? [], inputs.communication[index]),
  );
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
  communication: LayerCommunication | undefined,
): LayerCost {
  const { training } = inputs;
  const { operators } = training.analysis.graph;
  const costs = layer.operators.map((index) => training.costs[index]);
  const known = costs.filter((cost) => cost?.kind === 'known');
  const reason = costs.find((cost) => cost?.kind === 'unknown')?.reason;
  const nothingKnown = known.length === 0 && reason !== undefined;
  const total = (read: (work: Work) => number, pass: 'forward' | 'backwardData' | 'backwardWeight') =>
    known.reduce((sum, cost) => sum + read(cost[pass]), 0);
  const over = (values: (index: number) => number): number =>
    layer.operators.reduce((sum, index) => sum + values(index), 0);
  const orNull = <Value>(value: Value): Value | null => (nothingKnown ? null : value);
  const parameters = owned.flatMap((index) => training.analysis.parameters[index] ?? []);
  const elements = parameters.reduce((sum, parameter) => sum + parameter.elements, 0);
  const weightBytes = parameters.reduce((sum, parameter) => sum + parameterBytes(parameter), 0);
  const span = (edge: 0 | 1 | 2): number =>
    over((index) => (inputs.forward[index]?.[edge] ?? 0) + (inputs.backward[index]?.[edge] ?? 0));
  const notes = nothingKnown ? [] : [...inputs.notes(layer)];
  if (communication?.note !== undefined) notes.push(communication.note);
  return {
    name: layer.name,
    type: layer.type,
    operators: layer.operators.flatMap((index) => {
      const operator = operators[index];
      return operator === undefined
        ? []
        : [operator.name === '' ? (operator.outputs[0] ?? operator.type) : operator.name];
    }),
    parameters: elements,
    output: outputOf(training, layer),
    flops: {
      forward: orNull(flops(total((work) => work.flops, 'forward'))),
      backwardData: orNull(flops(total((work) => work.flops, 'backwardData'))),
      backwardWeight: orNull(flops(total((work) => work.flops, 'backwardWeight'))),
    },
    operations: {
      forward: orNull(total((work) => work.operations, 'forward')),
      backward: orNull(
        total((work) => work.operations, 'backwardData') + total((work) => work.operations, 'backwardWeight'),
      ),
    },
    bytes: {
      forward: orNull(bytes(over((index) => inputs.traffic[index]?.forward ?? 0))),
      backward: orNull(bytes(over((index) => inputs.traffic[index]?.backward ?? 0))),
    },
    time: {
      forward: orNull(seconds(over((index) => inputs.forward[index]?.[0] ?? 0))),
      backward: orNull(seconds(over((index) => inputs.backward[index]?.[0] ?? 0))),
      communication: seconds(communication?.time ?? 0),
      exposedCommunication: seconds(communication?.exposed ?? 0),
    },
    memory: {
      parameters: bytes(weightBytes),
      activations: orNull(bytes(over((index) => inputs.savedByOperator[index] ?? 0))),
      gradient: bytes(inputs.gradients ? weightBytes : 0),
      optimizerState: bytes(elements * inputs.stateBytesPerElement),
    },
    bound: boundOf(inputs, layer),
    source: nothingKnown ? 'unknown' : 'profile',
    range: orNull(rangeOf(span)),
    notes,
    ...(reason === undefined ? {} : { unknown: reason }),
  };
}

const rangeOf = (span: (edge: 0 | 1 | 2) => number): readonly [Seconds, Seconds] => [
  seconds(Math.min(span(0), span(1))),
  seconds(Math.max(span(0), span(2))),
];

/** What takes the most of a layer's time: products, memory, or waiting for launches. */
function boundOf(inputs: LayerInputs, layer: Layer): Bound {
  let compute = 0;
  let memory = 0;
  let launch = 0;
  const count = (pass: PassTime | undefined, onTimeline: number): void => {
    if (pass === undefined) return;
    compute += pass.byBound.compute;
    memory += pass.byBound.memory;
    launch += pass.byBound.launch + Math.max(0, onTimeline - pass.device[0]);
  };
  for (const index of layer.operators) {
    count(inputs.times[index]?.forward, inputs.forward[index]?.[0] ?? 0);
    count(inputs.times[index]?.backward, inputs.backward[index]?.[0] ?? 0);
  }
  const most = Math.max(compute, memory, launch);
  if (most === 0) return 'none';
  return most === compute ? 'compute' : most === memory ? 'memory' : 'launch';
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
