/** Which values receive a gradient in backward, and which gradient each input of an operator receives. */

import { isFloatingPoint } from '../model/elementType.ts';
import { type Graph, isWeight, type Operator, type Value } from '../model/graph.ts';
import { isDifferentiableInput } from '../operators/operatorFacts.ts';

export interface Gradients {
  /** Parameters, and what is computed from them on a differentiable way to an output. */
  readonly requires: ReadonlySet<string>;
  /** Whether a differentiable way leads from a value to an output. */
  readonly isReached: (name: string) => boolean;
  /** Whether a value is a stored tensor, or computed from stored tensors alone. */
  readonly isStored: (name: string) => boolean;
  /** Of a parameter (in any layout), of an activation, or none. */
  readonly gradientOf: (operator: Operator, index: number) => 'weight' | 'data' | 'none';
}

/** What the graph around a subgraph says of the values that the subgraph reads. */
export interface OuterGradients {
  readonly requires: (name: string) => boolean;
  readonly stored: (name: string) => boolean;
  /** Whether the inputs of the subgraph carry gradients: those of the operator that holds it do. */
  readonly inputsRequire: boolean;
}

/**
 * Gradients of a graph, as reverse-mode differentiation gives them: forward, what depends on a parameter; backward,
 * what an output depends on. Model inputs receive none, integers never.
 */
export function findGradients(graph: Graph, outer: OuterGradients): Gradients {
  const reached = reachedFromOutputs(graph);
  const requires = new Set<string>();
  /** Computed from parameters and constants alone. */
  const stored = new Set<string>();
  for (const value of graph.values.values()) {
    const trained = value.role === 'parameter' || (value.role === 'input' && outer.inputsRequire);
    if (trained && carriesGradient(value) && reached(value.name)) requires.add(value.name);
    if (value.role !== 'input' && value.producer === undefined) stored.add(value.name);
  }
  const hasGradient = (name: string): boolean =>
    requires.has(name) || (!graph.values.has(name) && outer.requires(name));

  for (const operator of graph.operators) {
    const flows =
      operator.inputs.some((name, index) => isDifferentiableInput(operator, index) && hasGradient(name)) ||
      capturedBy(operator).some(hasGradient);
    const fromStored =
      operator.inputs.length > 0 && operator.inputs.every((name) => name === '' || stored.has(name));
    for (const name of operator.outputs) {
      const value = graph.values.get(name);
      if (value === undefined) continue;
      if (isWeight(value.role) || (fromStored && capturedBy(operator).length === 0)) stored.add(name);
      if (flows && carriesGradient(value) && reached(name)) requires.add(name);
    }
  }

  const isStored = (name: string): boolean =>
    stored.has(name) || (!graph.values.has(name) && outer.stored(name));
  const gradientOf = (operator: Operator, index: number): 'weight' | 'data' | 'none' => {
    const name = operator.inputs[index];
    if (name === undefined || name === '' || !hasGradient(name)) return 'none';
    if (!isDifferentiableInput(operator, index) || !operator.outputs.some((output) => requires.has(output))) {
      return 'none';
    }
    return isStored(name) ? 'weight' : 'data';
  };
  return { requires, isReached: reached, isStored, gradientOf };
}

/** Whether a differentiable way leads from a value to an output; everything counts where no output is named. */
function reachedFromOutputs(graph: Graph): (name: string) => boolean {
  if (graph.outputs.length === 0) return () => true;
  const reached = new Set(graph.outputs);
  for (let index = graph.operators.length - 1; index >= 0; index -= 1) {
    const operator = graph.operators[index];
    if (operator === undefined) continue;
    const live = operator.outputs.some((name) => {
      const value = graph.values.get(name);
      return reached.has(name) && value !== undefined && carriesGradient(value);
    });
    if (!live) continue;
    operator.inputs.forEach((name, position) => {
      if (name !== '' && isDifferentiableInput(operator, position)) reached.add(name);
    });
    for (const name of capturedBy(operator)) reached.add(name);
  }
  return (name) => reached.has(name);
}

/** Values that the subgraphs of an operator take from around it. */
function capturedBy(operator: Operator): readonly string[] {
  let names: string[] | undefined;
  for (const attribute of operator.attributes.values()) {
    const graphs =
      attribute.kind === 'graph' ? [attribute.value] : attribute.kind === 'graphs' ? attribute.value : [];
    for (const graph of graphs) {
      const read = graph.operators.flatMap((inner) => [...inner.inputs, ...capturedBy(inner)]);
      names ??= [];
      for (const name of [...read, ...graph.outputs]) {
        if (name !== '' && !graph.values.has(name)) names.push(name);
      }
    }
  }
  return names ?? none;
}

const none: readonly string[] = [];

function carriesGradient({ type, isDetached }: Value): boolean {
  if (isDetached === true) return false;
  return type.kind !== 'tensor' || type.elementType === 'undefined' || isFloatingPoint(type.elementType);
}
