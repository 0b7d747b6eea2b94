/** What the lines of a spec are told from: types of values, who reads them, and which weights are behind them. */

import { type Graph, isKnownShape, isWeight, type Operator, type Value } from '../../model/graph.ts';
import { tally } from '../../model/tally.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';
import type { ModelAnalysis } from '../modelAnalysis.ts';

export interface GraphFacts {
  readonly graph: Graph;
  readonly isAuxiliary: (index: number) => boolean;
  readonly value: (name: string | undefined) => Value | undefined;
  /** Sizes that are all numbers. */
  readonly numbersOf: (name: string | undefined) => readonly number[] | undefined;
  readonly rankOf: (name: string | undefined) => number | undefined;
  /** The only operator that reads a value which does not leave the model. */
  readonly onlyReader: (name: string) => Operator | undefined;
  /** A trained tensor, and the axes in which its stored form is transposed here; `undefined` for any other tensor. */
  readonly weight: (name: string | undefined) => StoredWeight | undefined;
  /** Whether a stored tensor is read by one operator alone, in whatever layout. */
  readonly isOwn: (base: string) => boolean;
}

export interface StoredWeight {
  /** The stored tensor. */
  readonly base: string;
  /** As the operator reads it. */
  readonly shape: readonly number[];
  readonly isTransposed: boolean;
  readonly isFrozen: boolean;
}

export function graphFacts({ graph, costing: { auxiliary } }: ModelAnalysis): GraphFacts {
  const given = new Set(graph.outputs);
  const value = (name: string | undefined): Value | undefined => graph.values.get(name ?? '');
  const shapeOf = (name: string | undefined) => {
    const type = value(name)?.type;
    return type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : undefined;
  };
  const numbersOf = (name: string | undefined): readonly number[] | undefined => {
    const shape = shapeOf(name);
    const numbers = shape?.filter((size) => typeof size === 'number');
    return numbers?.length === shape?.length ? numbers : undefined;
  };
  const weight = (name: string | undefined): StoredWeight | undefined => {
    const read = value(name);
    const shape = numbersOf(name);
    if (read === undefined || shape === undefined || !isWeight(read.role)) return undefined;
    if (read.type.kind !== 'tensor' || read.type.elementType !== 'float32') return undefined;
    let base = read;
    let isTransposed = false;
    while (base.producer !== undefined) {
      const operator = graph.operators[base.producer];
      const source = value(operator?.inputs[0]);
      if (operator === undefined || source === undefined) return undefined;
      if (operator.type === 'Transpose' && shape.length === 2) isTransposed = !isTransposed;
      else if (operator.type !== 'Identity') return undefined;
      base = source;
    }
    return { base: base.name, shape, isTransposed, isFrozen: read.role === 'frozen' };
  };
  const uses = new Map<string, number>();
  for (const operator of graph.operators) {
    if (auxiliary.storedLayout[operator.index] === true) continue;
    for (const name of operator.inputs) {
      const base = baseOf(graph, name);
      if (base !== undefined) tally(uses, base);
    }
  }
  return {
    graph,
    isAuxiliary: (index) =>
      auxiliary.shapeArithmetic[index] === true || auxiliary.storedLayout[index] === true,
    value,
    numbersOf,
    rankOf: (name) => shapeOf(name)?.length,
    onlyReader: (name) => {
      const consumers = value(name)?.consumers ?? [];
      const [only] = consumers;
      return consumers.length !== 1 || given.has(name) ? undefined : graph.operators[only ?? -1];
    },
    weight,
    isOwn: (base) => (uses.get(base) ?? 0) <= 1,
  };
}

/** The stored weight that a value is, in another layout too. */
function baseOf(graph: Graph, name: string): string | undefined {
  let read = graph.values.get(name);
  if (!isWeight(read?.role)) return undefined;
  while (read?.producer !== undefined) {
    const operator: Operator | undefined = graph.operators[read.producer];
    if (operator === undefined || !hasTrait(operator, 'layout')) break;
    read = graph.values.get(operator.inputs[0] ?? '');
  }
  return read?.name;
}
