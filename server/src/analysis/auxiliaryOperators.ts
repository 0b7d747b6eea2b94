/**
 * Operators that are there for others: constants, arithmetic on shapes, weights turned into another layout.
 *
 * They compute nothing a person would call a step of the model, and a framework folds them or runs them on the
 * host.
 */

import { type Graph, isWeight, type Operator, type Value } from '../model/graph.ts';
import { hasTrait, inputOf, isHostInput } from '../operators/operatorFacts.ts';
import { holdsGraph } from './subgraphs.ts';
import { isSumForShape } from './sumsForShapes.ts';

export interface AuxiliaryOperators {
  /** By operator: it only makes constants, or numbers that shapes are computed from. */
  readonly shapeArithmetic: readonly boolean[];
  /** By operator: it only re-arranges stored tensors. */
  readonly storedLayout: readonly boolean[];
}

/** Tells the auxiliary operators of a graph whose roles are known. */
export function findAuxiliaryOperators(graph: Graph): AuxiliaryOperators {
  const outputs = new Set(graph.outputs);
  const count = graph.operators.length;
  const shapeArithmetic = new Array<boolean>(count).fill(false);
  const storedLayout = new Array<boolean>(count).fill(false);
  const constant = new Set<string>();
  const stored = new Set<string>();
  /** Weights, and what is computed from their contents: training changes it. */
  const trained = new Set<string>();
  for (const value of graph.values.values()) {
    if (value.producer !== undefined || value.role === 'input') continue;
    if (isWeight(value.role)) {
      stored.add(value.name);
      trained.add(value.name);
    } else if (value.literal !== undefined) constant.add(value.name);
  }
  const rememberOutputs = (operator: Operator, as: (name: string) => Set<string>): void => {
    for (const name of operator.outputs) if (name !== '') as(name).add(name);
  };
  for (const operator of graph.operators) {
    const readsTrained = operator.inputs.some(
      (name, index) => trained.has(name) && inputOf(operator, index)?.role !== 'shape',
    );
    if (readsTrained) {
      for (const name of operator.outputs) {
        if (graph.values.get(name)?.content !== undefined) trained.add(name);
      }
    }
    if (hasTrait(operator, 'layout') && stored.has(operator.inputs[0] ?? '')) {
      storedLayout[operator.index] = true;
      rememberOutputs(operator, () => stored);
    } else if (isFolded(operator, graph, constant, readsTrained)) {
      shapeArithmetic[operator.index] = true;
      rememberOutputs(operator, (name) => (isWeight(graph.values.get(name)?.role) ? stored : constant));
    }
  }
  for (let index = count - 1; index >= 0; index -= 1) {
    const operator = graph.operators[index];
    if (operator === undefined || shapeArithmetic[index]) continue;
    shapeArithmetic[index] =
      feedsOnlyShapes(operator, graph, outputs, shapeArithmetic) ||
      isSumForShape(operator, graph, outputs, shapeArithmetic);
  }
  return { shapeArithmetic, storedLayout };
}

/** Its result is known beforehand: contents inferred, or nothing but constants go in. */
function isFolded(
  operator: Operator,
  graph: Graph,
  constant: ReadonlySet<string>,
  readsTrained: boolean,
): boolean {
  if (hasTrait(operator, 'constant')) return true;
  let outputs = 0;
  let weights = 0;
  let known = 0;
  for (const name of operator.outputs) {
    if (name === '') continue;
    const value = graph.values.get(name);
    outputs += 1;
    if (isWeight(value?.role)) weights += 1;
    if (value?.content !== undefined) known += 1;
  }
  if (outputs === 0) return false;
  if (weights === outputs) return true;
  if (known === outputs && !readsTrained) return true;
  if (hasTrait(operator, 'random') || holdsGraph(operator.attributes)) return false;
  // What only a type or a shape is taken of counts as little as an input that is not there.
  const read = operator.inputs.filter(
    (name, index) => name !== '' && inputOf(operator, index)?.role !== 'shape',
  );
  return read.length > 0 && read.every((name) => constant.has(name));
}

function feedsOnlyShapes(
  operator: Operator,
  graph: Graph,
  graphOutputs: ReadonlySet<string>,
  shapeArithmetic: readonly boolean[],
): boolean {
  let read = false;
  for (const name of operator.outputs) {
    const value = graph.values.get(name);
    if (value === undefined) continue;
    if (graphOutputs.has(name)) return false;
    for (const consumer of value.consumers) {
      if (!isReadAsShape(value, graph.operators[consumer], shapeArithmetic)) return false;
      read = true;
    }
  }
  return read;
}

function isReadAsShape(
  value: Value,
  consumer: Operator | undefined,
  shapeArithmetic: readonly boolean[],
): boolean {
  if (consumer === undefined || holdsGraph(consumer.attributes)) return false;
  if (inputOf(consumer, 0)?.role === 'shape') return false;
  if (shapeArithmetic[consumer.index]) return true;
  return (
    consumer.inputs.length <= mostInputs &&
    consumer.inputs.every((name, index) => name !== value.name || isHostInput(consumer, index))
  );
}

/** No operator that the host reads for has more; a join of thousands is not searched for each of them. */
const mostInputs = 16;
