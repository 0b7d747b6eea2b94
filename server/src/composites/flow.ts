/** Steps along the data flow of a graph, which patterns are made of. */

import { type Graph, isKnownShape, type Operator, type Value } from '../model/graph.ts';
import { readsElements } from '../operators/operatorFacts.ts';
import type { CompositeMatch } from './composite.ts';

const outputs = new WeakMap<Graph, ReadonlySet<string>>();

function outputsOf(graph: Graph): ReadonlySet<string> {
  const known = outputs.get(graph) ?? new Set(graph.outputs);
  outputs.set(graph, known);
  return known;
}

/** The operator that computes a value; `undefined` for what is given. */
export const producerOf = ({ operators, values }: Graph, name: string | undefined): Operator | undefined =>
  operators[values.get(name ?? '')?.producer ?? -1];

/** The operators that read the elements of a value; its sizes and type may be read besides. */
export const readersOf = (graph: Graph, name = ''): readonly Operator[] =>
  (graph.values.get(name)?.consumers ?? [])
    .flatMap((index) => graph.operators[index] ?? [])
    .filter((operator) => readsElements(operator, name));

/** The one operator that reads a value; `undefined` where there are more, or the model gives it out. */
export function soleReader(graph: Graph, name: string | undefined): Operator | undefined {
  const [reader, ...others] = readersOf(graph, name);
  return others.length === 0 && !outputsOf(graph).has(name ?? '') ? reader : undefined;
}

/** A known number, whatever its shape; `undefined` for everything else. */
export function scalarOf({ values }: Graph, name: string | undefined): number | undefined {
  const elements = values.get(name ?? '')?.content?.elements;
  const [only] = elements ?? [];
  return elements?.length === 1 && typeof only === 'number' ? only : undefined;
}

/** Two numbers that fp32 arithmetic or four printed digits do not tell apart. */
export const isNear = (left: number | undefined, right: number): boolean =>
  left !== undefined && Math.abs(left - right) <= 2e-4 * Math.max(1e-9, Math.abs(right));

/** Whether a value is stored with the model: weights, tables and constants. */
export const isStored = ({ values }: Graph, name: string): boolean => {
  const role: Value['role'] | undefined = values.get(name)?.role;
  return role === 'parameter' || role === 'frozen' || role === 'buffer' || role === 'constant';
};

/** The other operand of an operator of two. */
export const otherOperand = ({ inputs }: Operator, name: string): string | undefined =>
  inputs.length !== 2
    ? undefined
    : inputs[0] === name
      ? inputs[1]
      : inputs[1] === name
        ? inputs[0]
        : undefined;

/** Dimensions of a value; `undefined` where not even their number is known. */
export function rankOf({ values }: Graph, name: string): number | undefined {
  const type = values.get(name)?.type;
  return type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape.length : undefined;
}

const floating: ReadonlySet<string> = new Set(['float16', 'bfloat16', 'float32', 'float64']);

/** Whether an operator hands a floating-point value through: `Identity`, or a cast to another floating-point type. */
export function isPassed({ values }: Graph, { type, inputs, outputs }: Operator): boolean {
  if (type === 'Identity') return true;
  if (type !== 'Cast' && type !== 'CastLike') return false;
  return [inputs[0], outputs[0]].every((name) => {
    const of = values.get(name ?? '')?.type;
    return of?.kind === 'tensor' && floating.has(of.elementType);
  });
}

/** What a value was before casts between floating-point types. */
export function beforeCasts(graph: Graph, name: string): string {
  let source = name;
  for (let hops = 0; hops < 4; hops += 1) {
    const producer = producerOf(graph, source);
    if (producer === undefined || !isPassed(graph, producer)) break;
    source = producer.inputs[0] ?? '';
  }
  return source;
}

/**
 * The operators with the casts that only they read: those that a module makes of what comes in, and those between
 * its operators.
 */
export function withCasts(graph: Graph, operators: Iterable<number>): readonly number[] {
  const members = new Set(operators);
  for (const index of members) {
    for (const input of graph.operators[index]?.inputs ?? []) {
      const producer = producerOf(graph, input);
      if (producer === undefined || members.has(producer.index) || !isPassed(graph, producer)) continue;
      const readers = graph.values.get(input)?.consumers ?? [];
      if (readers.every((reader) => members.has(reader)) && !outputsOf(graph).has(input))
        members.add(producer.index);
    }
  }
  return [...members].sort((left, right) => left - right);
}

/** The values made from an operator's output by arithmetic that nobody else reads, nearest first. */
export function resultsBelow(graph: Graph, { outputs }: Operator): readonly string[] {
  const results: string[] = [];
  let name = outputs[0];
  for (let hops = 0; hops < longestFormula && name !== undefined && name !== ''; hops += 1) {
    results.push(name);
    const reader = soleReader(graph, name);
    if (reader === undefined || !(arithmetic.has(reader.type) || isPassed(graph, reader))) break;
    name = reader.outputs[0];
  }
  return results;
}

/** Operators from the anchor of a formula to its end; the longest is RMSNorm with two casts. */
const longestFormula = 12;

const arithmetic: ReadonlySet<string> = new Set([
  'Add',
  'Div',
  'Mul',
  'Neg',
  'Pow',
  'Reciprocal',
  'Sqrt',
  'Sub',
]);

/** What these operators are together. */
export const matchOf = (
  operators: readonly Operator[],
  roles: CompositeMatch['roles'],
  launchedAs: CompositeMatch['launchedAs'],
): CompositeMatch => ({
  operators: operators.map(({ index }) => index).sort((left, right) => left - right),
  roles,
  launchedAs,
});
