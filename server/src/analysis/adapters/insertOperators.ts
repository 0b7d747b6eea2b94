/** Operators put between one of a graph and all that reads its result: indices behind them move on, in all that an analysis holds. */

import type { Composite } from '../../composites/composite.ts';
import type { Composites } from '../../composites/findComposites.ts';
import { itemAt } from '../../model/at.ts';
import type { Graph, Operator, Value } from '../../model/graph.ts';
import { memoize } from '../../model/memoize.ts';
import type { ModelAnalysis, Parameter } from '../modelAnalysis.ts';
import { planCosting } from '../planCosting.ts';

export interface Insertion {
  /** Index of the operator that they follow, in whose layer they are. */
  readonly behind: number;
  /** In the order in which they run. */
  readonly operators: readonly Omit<Operator, 'index'>[];
  /** What the operators give, and what they read that the graph does not have: parameters and constants. */
  readonly values: readonly Pick<Value, 'name' | 'role' | 'type' | 'content'>[];
  /** What was read of the graph before, and the result that is read in its place. */
  readonly result: string;
  readonly replacement: string;
}

/**
 * The analysis with `insertions`, of which no two are behind the same operator. `parameters`: those of the new values that are trained, without
 * the operators that read them. What is inserted is no part of a composite. It is not folded: blocks may differ in what they were given.
 */
export function insertOperators(
  analysis: ModelAnalysis,
  insertions: readonly Insertion[],
  parameters: readonly Omit<Parameter, 'operators'>[],
): ModelAnalysis {
  const { folded: _, ...whole } = analysis;
  const shift = shiftOf(analysis.graph.operators.length, insertions);
  const graph = withInsertions(analysis.graph, insertions, shift);
  const placesBehind = new Map(insertions.map((insertion) => [insertion.behind, placesOf(insertion, shift)]));
  const moved = (parameter: Parameter): Parameter => ({
    ...parameter,
    operators: parameter.operators.map(shift.place),
  });
  const marked = (marks: readonly boolean[]): readonly boolean[] => {
    const all = graph.operators.map(() => false);
    for (const [index, mark] of marks.entries()) all[shift.place(index)] = mark;
    return all;
  };
  const { shapeArithmetic, storedLayout } = analysis.costing.auxiliary;
  return {
    ...whole,
    graph,
    composites: movedComposites(analysis.composites, shift),
    layers: analysis.layers.map((layer) => ({
      ...layer,
      operators: layer.operators
        .flatMap((index) => [shift.place(index), ...(placesBehind.get(index) ?? [])])
        .toSorted((one, other) => one - other),
    })),
    parameters: [
      ...analysis.parameters.map(moved),
      ...parameters.map((parameter) => ({
        ...parameter,
        operators: graph.values.get(parameter.name)?.consumers ?? [],
      })),
    ],
    frozen: analysis.frozen.map(moved),
    costing: planCosting(graph, {
      shapeArithmetic: marked(shapeArithmetic),
      storedLayout: marked(storedLayout),
    }),
  };
}

/** What insertions make of an operator's index, and of what it reads. */
interface Shift {
  readonly place: (index: number) => number;
  readonly read: (name: string) => string;
}

function shiftOf(count: number, insertions: readonly Insertion[]): Shift {
  const added = new Map(insertions.map(({ behind, operators }) => [behind, operators.length]));
  const replaced = new Map(insertions.map(({ result, replacement }) => [result, replacement]));
  let next = 0;
  const places = Array.from({ length: count }, (_, index) => {
    const place = next;
    next += 1 + (added.get(index) ?? 0);
    return place;
  });
  return { place: (index) => itemAt(places, index), read: (name) => replaced.get(name) ?? name };
}

const placesOf = ({ behind, operators }: Insertion, { place }: Shift): readonly number[] =>
  operators.map((_, at) => place(behind) + 1 + at);

function withInsertions(graph: Graph, insertions: readonly Insertion[], shift: Shift): Graph {
  const behind = new Map(insertions.map((insertion) => [insertion.behind, insertion]));
  const operators = graph.operators.flatMap((operator): readonly Omit<Operator, 'index'>[] => [
    { ...operator, inputs: operator.inputs.map(shift.read) },
    ...(behind.get(operator.index)?.operators ?? []),
  ]);
  return {
    ...graph,
    outputs: graph.outputs.map(shift.read),
    operators: operators.map((operator, index) => ({ ...operator, index })),
    values: valuesOf(graph, insertions, shift),
  };
}

function valuesOf(graph: Graph, insertions: readonly Insertion[], shift: Shift): ReadonlyMap<string, Value> {
  const values = new Map<string, Value>();
  for (const [name, value] of graph.values) {
    values.set(name, {
      ...value,
      ...(value.producer === undefined ? {} : { producer: shift.place(value.producer) }),
      consumers: value.consumers.map(shift.place),
    });
  }
  const consumersOf = (name: string): readonly number[] => values.get(name)?.consumers ?? [];
  const change = (name: string, changes: Partial<Value>): void => {
    const value = values.get(name);
    if (value !== undefined) values.set(name, { ...value, ...changes });
  };
  for (const insertion of insertions) {
    const { result, replacement } = insertion;
    // Layers may share a weight, and then its adapter.
    for (const value of insertion.values)
      values.set(value.name, { ...value, consumers: consumersOf(value.name) });
    change(replacement, { consumers: consumersOf(result) });
    change(result, { consumers: [] });
    const places = placesOf(insertion, shift);
    for (const [at, { inputs, outputs }] of insertion.operators.entries()) {
      const place = itemAt(places, at);
      for (const name of outputs) change(name, { producer: place });
      for (const name of new Set(inputs)) {
        change(name, { consumers: [...consumersOf(name), place].toSorted((one, other) => one - other) });
      }
    }
  }
  return values;
}

/** Composites around what was inserted read the replacement; none contains both the result and what reads it. */
function movedComposites(composites: Composites, { place, read }: Shift): Composites {
  const moved = memoize(
    (composite: Composite): Composite => ({
      ...composite,
      operators: composite.operators.map(place),
      inputs: composite.inputs.map(read),
      roles: Object.fromEntries(Object.entries(composite.roles).map(([role, name]) => [role, read(name)])),
    }),
  );
  return new Map([...composites].map(([index, composite]) => [place(index), moved(composite)]));
}
