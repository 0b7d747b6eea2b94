/** The training graph of one stage of a pipeline: some operators in a row, with the tensors that come in and go out. */

import type { Parameter, TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { Composites } from '../composites/findComposites.ts';
import type { Graph, Operator, Value } from '../model/graph.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';

/** Operators `begin` to `end`, which is not among them. */
export interface OperatorRange {
  readonly begin: number;
  readonly end: number;
}

/**
 * The stage as a training graph of its own. What other stages compute are its inputs, and what they need of it its outputs; a
 * parameter that several stages use is held by each. Indices of operators count from the first of the stage. The same is given for
 * the same again, so that what is found of it can be kept with it.
 */
export const stageTraining = memoizeRecent(
  cutTraining,
  (known: OperatorRange, { begin, end }) => known.begin === begin && known.end === end,
  // Pipelines of two to sixteen stages.
  32,
);

function cutTraining(training: TrainingGraph, { begin, end }: OperatorRange): TrainingGraph {
  const { analysis } = training;
  const { costing } = analysis;
  const { folded: _, ...whole } = analysis;
  const isInside = (index: number): boolean => index >= begin && index < end;
  const moved = (indices: readonly number[]): readonly number[] =>
    indices.flatMap((index) => (isInside(index) ? [index - begin] : []));
  const held = (parameters: readonly Parameter[]): readonly Parameter[] =>
    parameters.flatMap((parameter) => {
      const operators = moved(parameter.operators);
      return operators.length === 0 ? [] : [{ ...parameter, operators }];
    });
  const graph = stageGraph(analysis.graph, begin, end, moved);
  const { gradients, auxiliary } = costing;
  /** Gradients are asked for by the operators of the stage: those of the whole graph answer. */
  const original = (operator: Operator): Operator =>
    analysis.graph.operators[operator.index + begin] ?? operator;
  return {
    analysis: {
      ...whole,
      graph,
      composites: stageComposites(analysis.composites, begin, end),
      layers: analysis.layers.flatMap((layer) => {
        const operators = moved(layer.operators);
        return operators.length === 0 ? [] : [{ ...layer, operators }];
      }),
      parameters: held(analysis.parameters),
      frozen: held(analysis.frozen),
      issues: [],
      costing: {
        auxiliary: {
          shapeArithmetic: auxiliary.shapeArithmetic.slice(begin, end),
          storedLayout: auxiliary.storedLayout.slice(begin, end),
        },
        gradients: {
          ...gradients,
          gradientOf: (operator, index) => gradients.gradientOf(original(operator), index),
        },
        groups: costing.groups.slice(begin, end),
      },
    },
    batch: training.batch,
    costs: training.costs.slice(begin, end),
    tensors: training.tensors,
    requiresGradient: training.requiresGradient,
  };
}

function stageGraph(
  graph: Graph,
  begin: number,
  end: number,
  moved: (indices: readonly number[]) => readonly number[],
): Graph {
  const operators = graph.operators
    .slice(begin, end)
    .map((operator) => ({ ...operator, index: operator.index - begin }));
  const values = new Map<string, Value>();
  const outputs = new Set(graph.outputs);
  const given: string[] = [];
  const asked: string[] = [];
  for (const { inputs, outputs: made } of operators) {
    for (const name of [...inputs, ...made]) {
      const value = graph.values.get(name);
      if (value === undefined || values.has(name)) continue;
      const { producer, ...rest } = value;
      const isMade = producer !== undefined && producer >= begin && producer < end;
      const isGiven = value.role === 'input' || (value.role === 'activation' && !isMade);
      if (isGiven) given.push(name);
      const isAsked = isMade && (outputs.has(name) || value.consumers.some((index) => index >= end));
      if (isAsked) asked.push(name);
      values.set(name, {
        ...rest,
        ...(isGiven ? { role: 'input' as const } : {}),
        ...(isMade ? { producer: producer - begin } : {}),
        consumers: moved(value.consumers),
      });
    }
  }
  return { ...graph, inputs: given, outputs: asked, operators, values };
}

function stageComposites(composites: Composites, begin: number, end: number): Composites {
  const found = new Map<number, ReturnType<Composites['get']> & object>();
  for (const [index, composite] of composites) {
    if (!composite.operators.every((own) => own >= begin && own < end)) continue;
    found.set(index - begin, { ...composite, operators: composite.operators.map((own) => own - begin) });
  }
  return found;
}
