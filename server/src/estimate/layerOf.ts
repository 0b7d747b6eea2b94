/** The layer that an operator belongs to, and the one that a parameter does. */

import type { Parameter, TrainingGraph } from '../analysis/modelAnalysis.ts';

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
 * that another line uses it; such a line is found by its name, which begins the parameter's. One that no gradient reaches belongs
 * to what reads it.
 */
export function layerOfParameters(training: TrainingGraph): (parameter: Parameter) => number | undefined {
  const layerOf = layerOfOperators(training);
  const passing = new Map<string, number>();
  training.analysis.layers.forEach(({ name, type, given }, index) => {
    if (given !== undefined && type === 'Parameter') passing.set(`${name}.weight`, index);
  });
  return ({ name, operators }) => {
    const first = operators[0] ?? training.analysis.graph.values.get(name)?.consumers[0];
    return passing.get(name) ?? layerOf[first ?? -1];
  };
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
