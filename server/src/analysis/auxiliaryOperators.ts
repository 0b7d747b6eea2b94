/**
 * Operators that are there for others: constants, arithmetic on shapes, weights turned into another layout.
 *
 * They compute nothing a person would call a step of the model, and a framework folds them or runs them on the
 * host.
 */

import { type Graph, isWeight, type Operator, type Value } from '../model/graph.ts';
import { isShapeInput, layoutOperators } from './inputRoles.ts';
import { holdsGraph } from './subgraphs.ts';

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
  for (const value of graph.values.values()) {
    if (value.producer !== undefined || value.role === 'input') continue;
    if (isWeight(value.role)) stored.add(value.name);
    else if (value.literal !== undefined) constant.add(value.name);
  }
  for (const operator of graph.operators) {
    const named = operator.outputs.filter((name) => name !== '');
    if (layoutOperators.has(operator.type) && stored.has(operator.inputs[0] ?? '')) {
      storedLayout[operator.index] = true;
      for (const name of named) stored.add(name);
    } else if (isFolded(operator, graph, constant)) {
      shapeArithmetic[operator.index] = true;
      for (const name of named) (isWeight(graph.values.get(name)?.role) ? stored : constant).add(name);
    }
  }
  for (let index = count - 1; index >= 0; index -= 1) {
    const operator = graph.operators[index];
    if (operator === undefined || shapeArithmetic[index]) continue;
    shapeArithmetic[index] = feedsOnlyShapes(operator, graph, outputs, shapeArithmetic);
  }
  return { shapeArithmetic, storedLayout };
}

/** Its result is known beforehand: contents inferred, or nothing but constants go in. */
function isFolded(operator: Operator, graph: Graph, constant: ReadonlySet<string>): boolean {
  if (operator.type === 'Constant') return true;
  const produced = operator.outputs.filter((name) => name !== '').map((name) => graph.values.get(name));
  if (produced.length === 0) return false;
  if (produced.every((value) => isWeight(value?.role))) return true;
  if (produced.every((value) => value?.content !== undefined)) return true;
  if (random.test(operator.type) || holdsGraph(operator.attributes)) return false;
  const given = operator.inputs.filter((name) => name !== '');
  return given.length > 0 && given.every((name) => constant.has(name));
}

function feedsOnlyShapes(
  operator: Operator,
  graph: Graph,
  graphOutputs: ReadonlySet<string>,
  shapeArithmetic: readonly boolean[],
): boolean {
  const values = operator.outputs
    .map((name) => graph.values.get(name))
    .filter((value) => value !== undefined);
  if (values.length === 0 || values.every(({ consumers }) => consumers.length === 0)) return false;
  return values.every(
    (value) =>
      !graphOutputs.has(value.name) &&
      value.consumers.every((consumer) => isReadAsShape(value, graph.operators[consumer], shapeArithmetic)),
  );
}

function isReadAsShape(
  value: Value,
  consumer: Operator | undefined,
  shapeArithmetic: readonly boolean[],
): boolean {
  if (consumer === undefined || holdsGraph(consumer.attributes)) return false;
  if (consumer.type === 'Shape' || consumer.type === 'Size') return false;
  if (shapeArithmetic[consumer.index]) return true;
  return consumer.inputs.every((name, index) => name !== value.name || isShapeInput(consumer.type, index));
}

/** Results differ from step to step although nothing that changes goes in. */
const random = /^(Random|Bernoulli|Multinomial|Dropout)/;
