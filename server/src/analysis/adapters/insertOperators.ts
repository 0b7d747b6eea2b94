/** Operators put between one of a graph and all that reads its result: indices behind them move on, in all that an analysis holds. */

import type { Composites } from '../../composites/findComposites.ts';
import { itemAt } from '../../model/at.ts';
import type { Graph, Operator, Value } from '../../model/graph.ts';
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
  const { composites, layers, frozen, batchSymbol, fixedBatch, symbols, issues, costing } = analysis;
  const places = placesBehind(analysis.graph.operators.length, insertions);
  const moved = (indices: readonly number[]): readonly number[] =>
    indices.map((index) => itemAt(places.moved, index));
  const graph = withInsertions(analysis.graph, insertions, places);
  const ownOf = new Map(insertions.map((insertion) => [insertion.behind, placesOf(insertion, places)]));
  const spread = (marks: readonly boolean[]): readonly boolean[] => {
    const all = graph.operators.map(() => false);
    for (const [index, mark] of marks.entries()) all[itemAt(places.moved, index)] = mark;
    return all;
  };
  return {
    graph,
    composites: movedComposites(composites, insertions, places),
    layers: layers.map((layer) => ({
      ...layer,
      operators: layer.operators
        .flatMap((index) => [itemAt(places.moved, index), ...(ownOf.get(index) ?? [])])
        .toSorted((one, other) => one - other),
    })),
    parameters: [
      ...analysis.parameters.map((parameter) => ({ ...parameter, operators: moved(parameter.operators) })),
      ...parameters.map((parameter) => ({
        ...parameter,
        operators: graph.values.get(parameter.name)?.consumers ?? [],
      })),
    ],
    frozen: frozen.map((parameter) => ({ ...parameter, operators: moved(parameter.operators) })),
    batchSymbol,
    fixedBatch,
    symbols,
    issues,
    costing: planCosting(graph, {
      shapeArithmetic: spread(costing.auxiliary.shapeArithmetic),
      storedLayout: spread(costing.auxiliary.storedLayout),
    }),
  };
}

interface Places {
  /** By index of an operator before: its index now. */
  readonly moved: readonly number[];
}

function placesBehind(count: number, insertions: readonly Insertion[]): Places {
  const added = new Map(insertions.map(({ behind, operators }) => [behind, operators.length]));
  let next = 0;
  return {
    moved: Array.from({ length: count }, (_, index) => {
      const place = next;
      next += 1 + (added.get(index) ?? 0);
      return place;
    }),
  };
}

const placesOf = ({ behind, operators }: Insertion, { moved }: Places): readonly number[] =>
  operators.map((_, at) => itemAt(moved, behind) + 1 + at);

function withInsertions(graph: Graph, insertions: readonly Insertion[], places: Places): Graph {
  const replaced = new Map(insertions.map(({ result, replacement }) => [result, replacement]));
  const read = (name: string): string => replaced.get(name) ?? name;
  const behind = new Map(insertions.map((insertion) => [insertion.behind, insertion]));
  const operators = graph.operators.flatMap((operator): readonly Operator[] => {
    const insertion = behind.get(operator.index);
    const place = itemAt(places.moved, operator.index);
    const own = { ...operator, index: place, inputs: operator.inputs.map(read) };
    return [own, ...(insertion?.operators ?? []).map((each, at) => ({ ...each, index: place + 1 + at }))];
  });
  return {
    ...graph,
    outputs: graph.outputs.map(read),
    operators,
    values: valuesOf(graph, insertions, places),
  };
}

function valuesOf(
  graph: Graph,
  insertions: readonly Insertion[],
  places: Places,
): ReadonlyMap<string, Value> {
  const values = new Map<string, Value>();
  const moved = (index: number): number => itemAt(places.moved, index);
  for (const [name, value] of graph.values) {
    values.set(name, {
      ...value,
      ...(value.producer === undefined ? {} : { producer: moved(value.producer) }),
      consumers: value.consumers.map(moved),
    });
  }
  for (const insertion of insertions) {
    const before = values.get(insertion.result)?.consumers ?? [];
    const all = placesOf(insertion, places);
    for (const value of insertion.values)
      values.set(value.name, { consumers: [], ...values.get(value.name), ...value });
    const producers = new Map(
      insertion.operators.flatMap(({ outputs }, at) => outputs.map((name) => [name, all[at]] as const)),
    );
    const reads = insertion.operators.map(({ inputs }) => new Set(inputs));
    const touched = new Set([...producers.keys(), ...reads.flatMap((names) => [...names])]);
    for (const name of touched) {
      const value = values.get(name);
      if (value === undefined) continue;
      const producer = producers.get(name) ?? value.producer;
      const readers = all.filter((_, at) => reads[at]?.has(name) === true);
      const others =
        name === insertion.result ? [] : name === insertion.replacement ? before : value.consumers;
      values.set(name, {
        ...value,
        ...(producer === undefined ? {} : { producer }),
        consumers: [...new Set([...others, ...readers])].toSorted((one, other) => one - other),
      });
    }
  }
  return values;
}

/** Composites around what was inserted read the replacement; none contains both the result and what reads it. */
function movedComposites(
  composites: Composites,
  insertions: readonly Insertion[],
  { moved }: Places,
): Composites {
  const replaced = new Map(insertions.map(({ result, replacement }) => [result, replacement]));
  const read = (name: string): string => replaced.get(name) ?? name;
  const found = new Map(
    [...new Set(composites.values())].map((composite) => [
      composite,
      {
        ...composite,
        operators: composite.operators.map((index) => itemAt(moved, index)),
        inputs: composite.inputs.map(read),
        roles: Object.fromEntries(Object.entries(composite.roles).map(([role, name]) => [role, read(name)])),
      },
    ]),
  );
  return new Map(
    [...composites].flatMap(([index, composite]) => {
      const now = found.get(composite);
      return now === undefined ? [] : [[itemAt(moved, index), now] as const];
    }),
  );
}
