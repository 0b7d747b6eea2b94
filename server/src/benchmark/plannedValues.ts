/** Values of a step as the runner makes them: what they are, their shape, and the elements that are known beforehand. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { evaluateDimension } from '../model/dimension.ts';
import type { Value } from '../model/graph.ts';
import type { Scenario } from '../model/scenario.ts';
import { jsonNumber, type PlannedNumber, type PlannedValue } from './planSchema.ts';

/** By value, its elements in row-major order, where they are the same whatever the model is run with. */
export function knownContents(
  { analysis: { graph, batchSymbol }, batch }: TrainingGraph,
  scenario: Scenario,
): ReadonlyMap<string, readonly PlannedNumber[]> {
  const bindings = new Map(Object.entries(scenario.dimensions));
  if (batchSymbol !== undefined) bindings.set(batchSymbol, batch);
  const contents = new Map<string, readonly PlannedNumber[]>();
  for (const value of graph.values.values()) {
    const elements = knownElements(value, bindings);
    if (elements !== undefined) contents.set(value.name, elements);
  }
  return contents;
}

function knownElements(
  value: Value,
  bindings: ReadonlyMap<string, number>,
): readonly PlannedNumber[] | undefined {
  if (value.role === 'parameter' || value.role === 'input') return undefined;
  const elements = value.content?.elements ?? value.literal?.elements;
  if (elements === undefined) return undefined;
  const numbers: PlannedNumber[] = [];
  for (const element of elements) {
    const number = evaluateDimension(element, bindings);
    if (typeof number !== 'number') return undefined;
    numbers.push(jsonNumber(number));
  }
  return numbers;
}

export function plannedValue(
  name: string,
  training: TrainingGraph,
  contents: ReadonlyMap<string, readonly PlannedNumber[]>,
  limits: ReadonlyMap<string, number>,
): PlannedValue {
  const value = training.analysis.graph.values.get(name);
  const bound = training.tensors.get(name);
  const shape = bound?.dimensions ?? value?.content?.shape ?? value?.literal?.dimensions;
  const elements = contents.get(name);
  const limit = limits.get(name);
  const declared = value?.type.kind === 'tensor' ? value.type.elementType : undefined;
  return {
    name,
    role: elements === undefined ? roleOf(value) : 'constant',
    elementType: bound?.elementType ?? value?.literal?.elementType ?? declared ?? 'undefined',
    shape: shape === undefined ? null : [...shape],
    gradient: training.requiresGradient.has(name),
    ...(elements === undefined ? {} : { elements: [...elements] }),
    ...(limit === undefined ? {} : { limit }),
  };
}

/** What an operator computes is an activation to the runner, also where it is a parameter seen transposed. */
function roleOf(value: Value | undefined): PlannedValue['role'] {
  if (value === undefined || value.producer !== undefined) return 'activation';
  return value.role === 'frozen' ? 'buffer' : value.role;
}
