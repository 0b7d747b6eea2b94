/**
 * A part of an analysed graph as an analysis of its own: operators in a row, of which repeated blocks may be left out.
 *
 * What other parts compute are its inputs, and what they need of it its outputs; a parameter that several parts use is held by
 * each. Indices of operators count from the first of the part.
 */

import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import type { Fold } from '../analysis/repetition/foldGraph.ts';
import type { Composite } from '../composites/composite.ts';
import { floatAt, itemAt } from '../model/at.ts';
import type { Graph, Operator, Value } from '../model/graph.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { OperatorRange } from './operatorRange.ts';

/** Those of pipelines of two to sixty-four stages. */
const mostParts = 128;

export interface GraphPart extends OperatorRange {
  /** Of the operators of the range. */
  readonly fold?: Fold;
}

function isSamePart(known: GraphPart, asked: GraphPart): boolean {
  return known.begin === asked.begin && known.end === asked.end && isSameContent(known.fold, asked.fold);
}

/** Found once for an analysis: nothing of it depends on a batch. */
export const analysisOfPart = memoizeRecent(
  (analysis: ModelAnalysis, part: GraphPart): ModelAnalysis => {
    const { folded: _, ...whole } = analysis;
    const { indexIn } = placesOf(part);
    return {
      ...whole,
      ...structureOf(analysis.graph, { part, of: analysis }),
      parameters: ofOperatorsIn(analysis.parameters, part, indexIn),
      frozen: ofOperatorsIn(analysis.frozen, part, indexIn),
      issues: [],
    };
  },
  isSamePart,
  mostParts,
);

/**
 * The analysis of a part that is like another but for names: it has the graph of that one, with the layers and parameters of its
 * own operators.
 */
export const analysisLike = memoizeRecent(
  (analysis: ModelAnalysis, { part, like }: LikePart): ModelAnalysis => {
    const { indexIn } = placesOf(part);
    return {
      ...like,
      layers: ofOperatorsIn(analysis.layers, part, indexIn),
      parameters: ofOperatorsIn(analysis.parameters, part, indexIn),
      frozen: ofOperatorsIn(analysis.frozen, part, indexIn),
    };
  },
  (known, asked) => known.like === asked.like && isSamePart(known.part, asked.part),
  mostParts,
);

interface LikePart {
  readonly part: GraphPart;
  readonly like: ModelAnalysis;
}

type IndexIn = Places['indexIn'];

/** Layers or parameters with the operators that a part has of them; those that it has none of are left out. */
function ofOperatorsIn<Item extends WithOperators>(
  items: readonly Item[],
  { begin, end }: OperatorRange,
  indexIn: IndexIn,
): readonly Item[] {
  const { first, last } = spansOf(items, 'operators');
  const own: Item[] = [];
  // Deep models have thousands, of which a stage has a few: no callback for each of the others.
  for (let place = 0; place < items.length; place += 1) {
    if (floatAt(last, place) < begin || floatAt(first, place) >= end) continue;
    const item = itemAt(items, place);
    const operators = item.operators.flatMap((index) => indexIn(index) ?? []);
    if (operators.length > 0) own.push({ ...item, operators });
  }
  return own;
}

interface WithOperators {
  readonly operators: readonly number[];
}

/** The first and the last operator of each; infinite, so that it is nowhere, where it has none. */
const spansOf = memoizeRecent(
  (items: readonly WithOperators[], _: 'operators') => ({
    first: Float64Array.from(items, ({ operators }) => Math.min(...operators)),
    last: Float64Array.from(items, ({ operators }) => Math.max(...operators)),
  }),
  (known, asked) => known === asked,
);

/** The items of a column of the whole graph that belong to the part. */
export function ofPart<Item>(items: readonly Item[], { begin, end, fold }: GraphPart): readonly Item[] {
  const own = items.slice(begin, end);
  return fold === undefined
    ? own
    : [...own.slice(0, fold.cut), ...own.slice(fold.cut + fold.copies * fold.period)];
}

/** Where operators of the whole graph stand in a part of it. */
function placesOf({ begin, end, fold }: GraphPart): {
  /** `undefined` where the operator is not in the part. */
  readonly indexIn: (index: number) => number | undefined;
  /** The same for what a block behind those left out reads: of the last of them, what the last block kept does instead. */
  readonly standIn: (index: number) => number | undefined;
  readonly indexOf: (own: number) => number;
} {
  const dropped = fold === undefined ? 0 : fold.copies * fold.period;
  const cut = fold === undefined ? end : begin + fold.cut;
  const resume = cut + dropped;
  const indexIn = (index: number): number | undefined =>
    index < begin || index >= end || (index >= cut && index < resume)
      ? undefined
      : index < cut
        ? index - begin
        : index - dropped - begin;
  return {
    indexIn,
    standIn: (index) =>
      fold !== undefined && index >= resume - fold.period && index < resume
        ? index - dropped - begin
        : indexIn(index),
    indexOf: (own) => (begin + own < cut ? begin + own : begin + own + dropped),
  };
}

/** The same for all workers that share a graph, whatever each holds of a parameter. */
type Structure = Pick<ModelAnalysis, 'composites' | 'layers' | 'costing'>;

const structureOf = memoizeRecent(
  (graph: Graph, { part, of }: { readonly part: GraphPart; readonly of: Structure }) =>
    structureOfPart(graph, of, part),
  (known, asked) =>
    known.of.composites === asked.of.composites &&
    known.of.layers === asked.of.layers &&
    known.of.costing === asked.of.costing &&
    isSamePart(known.part, asked.part),
  mostParts,
);

function structureOfPart(
  graph: Graph,
  { composites, layers, costing }: Structure,
  part: GraphPart,
): Structure & Pick<ModelAnalysis, 'graph'> {
  const places = placesOf(part);
  const { auxiliary, gradients } = costing;
  const { graph: own, nameIn } = cutGraph(graph, part, places);
  return {
    graph: own,
    composites: cutComposites(composites, places, nameIn),
    layers: ofOperatorsIn(layers, part, places.indexIn),
    costing: {
      auxiliary: {
        shapeArithmetic: ofPart(auxiliary.shapeArithmetic, part),
        storedLayout: ofPart(auxiliary.storedLayout, part),
      },
      gradients: {
        ...gradients,
        // Gradients are asked for by the operators of the part: those of the whole graph answer.
        gradientOf: (operator, index) =>
          gradients.gradientOf(graph.operators[places.indexOf(operator.index)] ?? operator, index),
      },
      groups: ofPart(costing.groups, part),
    },
  };
}

type Places = ReturnType<typeof placesOf>;
/** What an operator of the part calls a value of the whole graph. */
type NameIn = (name: string, reader: number) => string;

function cutGraph(
  graph: Graph,
  part: GraphPart,
  { indexIn, standIn, indexOf }: Places,
): { readonly graph: Graph; readonly nameIn: NameIn } {
  /** Values of the last block left out, by those of the last block kept that stand for them. */
  const renamed = new Map<string, string>();
  for (let index = part.begin; part.fold !== undefined && index < part.end; index += 1) {
    const own = indexIn(index) === undefined ? standIn(index) : undefined;
    if (own === undefined) continue;
    graph.operators[index]?.outputs.forEach((name, output) => {
      renamed.set(name, graph.operators[indexOf(own)]?.outputs[output] ?? '');
    });
  }
  const resume = part.fold === undefined ? part.end : part.begin + part.fold.cut;
  const nameIn: NameIn = (name, reader) => (reader >= resume ? (renamed.get(name) ?? name) : name);
  const operators = ofPart(graph.operators, part).map(
    (operator, index): Operator => ({
      ...operator,
      index,
      inputs:
        renamed.size === 0 ? operator.inputs : operator.inputs.map((name) => nameIn(name, operator.index)),
    }),
  );
  const readers = new Map<string, number[]>();
  for (const { index, inputs } of operators) {
    for (const name of inputs) {
      const known = readers.get(name);
      if (known === undefined) readers.set(name, [index]);
      else if (known.at(-1) !== index) known.push(index);
    }
  }
  const values = new Map<string, Value>();
  const outputs = new Set(graph.outputs);
  const given: string[] = [];
  const asked: string[] = [];
  const take = (name: string): void => {
    if (values.has(name)) return;
    const value = graph.values.get(name);
    if (value === undefined) return;
    const { producer, ...rest } = value;
    const made = producer === undefined ? undefined : indexIn(producer);
    const isGiven = value.role === 'input' || (value.role === 'activation' && made === undefined);
    if (isGiven) given.push(name);
    if (made !== undefined && (outputs.has(name) || value.consumers.some((index) => index >= part.end)))
      asked.push(name);
    values.set(name, {
      ...rest,
      ...(isGiven ? { role: 'input' as const } : {}),
      ...(made === undefined ? {} : { producer: made }),
      consumers: readers.get(name) ?? [],
    });
  };
  for (const operator of operators) {
    for (const name of operator.inputs) take(name);
    for (const name of operator.outputs) take(name);
  }
  const whole = graph.whole ?? graph;
  return { graph: { ...graph, inputs: given, outputs: asked, operators, values, whole }, nameIn };
}

/** A composite across the cut of a fold is that of the last block left out and the block behind. */
function cutComposites(
  composites: ModelAnalysis['composites'],
  { indexIn, standIn }: Places,
  nameIn: NameIn,
): ModelAnalysis['composites'] {
  const found = new Map<number, Composite>();
  const passed = new Set<Composite>();
  for (const [index, composite] of composites) {
    if (indexIn(index) === undefined || passed.has(composite)) continue;
    // It stands at each of its operators.
    passed.add(composite);
    const last = composite.operators.at(-1) ?? index;
    const isBehind = composite.operators.some((member) => indexIn(member) === undefined);
    const operators = composite.operators.flatMap(
      (member) => (isBehind && member < last ? standIn(member) : indexIn(member)) ?? [],
    );
    if (operators.length !== composite.operators.length) continue;
    const name = (each: string): string => nameIn(each, last);
    const moved: Composite = {
      ...composite,
      operators,
      roles: Object.fromEntries(Object.entries(composite.roles).map(([role, each]) => [role, name(each)])),
      inputs: composite.inputs.map(name),
    };
    for (const member of operators) found.set(member, moved);
  }
  return found;
}
