/**
 * Values as products and sums, so that one pattern holds for every order in which a formula can be written:
 * `0.5 * x * (1 + erf(x / √2))`, `x * 0.5 * (…)`, `x · x · x` and `x ** 3`, `x / √s` and `x * rsqrt(s)`.
 */

import type { Graph } from '../model/graph.ts';
import { tally } from '../model/tally.ts';
import { beforeCasts, isPassed, producerOf, scalarOf, soleReader } from './flow.ts';

/** A value as `coefficient · Π factorⁿ`. */
export interface Product {
  readonly coefficient: number;
  /** Powers by factor, which are values that are no products, or are read elsewhere too. */
  readonly powers: ReadonlyMap<string, number>;
  readonly operators: readonly number[];
}

/** A value as `constant + Σ weight · term`. */
export interface Sum {
  readonly constant: number;
  readonly weights: ReadonlyMap<string, number>;
  readonly operators: readonly number[];
}

/** What `name` is a product of. Casts of factors are looked through. */
export function productOf(graph: Graph, name: string): Product {
  const powers = new Map<string, number>();
  const operators: number[] = [];
  let coefficient = 1;
  const expand = (value: string, power: number, isRoot: boolean): void => {
    const scalar = scalarOf(graph, value);
    if (scalar !== undefined) {
      coefficient *= scalar ** power;
      return;
    }
    const producer = producerOf(graph, value);
    const isOpen = isRoot || (operators.length < longest && soleReader(graph, value) !== undefined);
    if (producer !== undefined && isOpen) {
      const [first = '', second = ''] = producer.inputs;
      const steps = stepsOf(graph, producer.type, first, second, isPassed(graph, producer));
      if (steps !== undefined) {
        operators.push(producer.index);
        if (producer.type === 'Neg') coefficient *= (-1) ** power;
        for (const [factor, by] of steps) expand(factor, power * by, false);
        return;
      }
    }
    const source = beforeCasts(graph, value);
    tally(powers, source, power);
  };
  expand(name, 1, true);
  return { coefficient, powers, operators };
}

/** Operators of one product or sum: no formula has more, and a row of thousands of additions is none. */
const longest = 12;

/** The factors of the result of an operator with their powers; `undefined` where it makes no product. */
function stepsOf(
  graph: Graph,
  type: string,
  first: string,
  second: string,
  isCast: boolean,
): readonly (readonly [string, number])[] | undefined {
  if (isCast || type === 'Neg') return [[first, 1]];
  switch (type) {
    case 'Mul':
      return [
        [first, 1],
        [second, 1],
      ];
    case 'Div':
      return [
        [first, 1],
        [second, -1],
      ];
    case 'Sqrt':
      return [[first, 0.5]];
    case 'Reciprocal':
      return [[first, -1]];
    case 'Pow': {
      const power = scalarOf(graph, second);
      return power === undefined ? undefined : [[first, power]];
    }
    default:
      return undefined;
  }
}

/** What `name` is a sum of. Terms may be products. */
export function sumOf(graph: Graph, name: string): Sum {
  const weights = new Map<string, number>();
  const operators: number[] = [];
  let constant = 0;
  const expand = (value: string, weight: number, isRoot: boolean): void => {
    const scalar = scalarOf(graph, value);
    if (scalar !== undefined) {
      constant += weight * scalar;
      return;
    }
    const producer = producerOf(graph, value);
    const isOpen = isRoot || (operators.length < longest && soleReader(graph, value) !== undefined);
    if (producer !== undefined && isOpen) {
      const [first = '', second = ''] = producer.inputs;
      const isSum = producer.type === 'Add' || producer.type === 'Sub';
      if (isSum || producer.type === 'Neg' || isPassed(graph, producer)) {
        operators.push(producer.index);
        expand(first, producer.type === 'Neg' ? -weight : weight, false);
        if (isSum) expand(second, producer.type === 'Sub' ? -weight : weight, false);
        return;
      }
    }
    const source = beforeCasts(graph, value);
    tally(weights, source, weight);
  };
  expand(name, 1, true);
  return { constant, weights, operators };
}

/** The one factor with a power, or term with a weight; `undefined` where there is none or more. */
export function onlyWith(parts: ReadonlyMap<string, number>, amount: number): string | undefined {
  let only: string | undefined;
  for (const [name, of] of parts) {
    if (Math.abs(of - amount) > 1e-6) continue;
    if (only !== undefined) return undefined;
    only = name;
  }
  return only;
}
