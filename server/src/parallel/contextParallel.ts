/**
 * Context parallelism of any graph: every tensor is split along the sequence, every operator computes the positions it has.
 *
 * The split starts at the tokens and goes through the graph in its order. Of a product of two split tensors the first is
 * divided along its positions, as queries are; the other is read whole, as keys and values are. All-to-all divides the
 * operators of attention by heads instead. What computes over all positions stays whole on each worker, and is listed.
 * Sources: Liu et al., arXiv:2310.01889, section 3; Jacobs et al., arXiv:2309.14509, section 3.1.
 */

import { sightOf } from '../analysis/decoding/seesEarlierTokens.ts';
import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import { type Graph, isKnownShape, isWeight, type Operator } from '../model/graph.ts';
import type { ContextExchange } from '../model/scenario.ts';
import { hasTrait, inputOf } from '../operators/operatorFacts.ts';
import type { BoundFactor, DividedGraph } from './boundMap.ts';
import type { AxisDivision, DividedFactor, Division, Split } from './division.ts';
import { matchOf } from './followSplit.ts';
import type { WholeProduct } from './tensorParallel.ts';

/** Operators that together are one attention, and how it meets other positions: by heads where heads divide. */
export interface AttentionCore {
  readonly operators: readonly number[];
  readonly exchange: ContextExchange;
}

export interface ContextParallel {
  readonly division: AxisDivision;
  readonly cores: readonly AttentionCore[];
  /** Work that each worker does for the whole sequence. */
  readonly whole: readonly WholeProduct[];
}

/** `tensor`: what is divided over another axis already, whose workers divide heads and positions, too. */
export function divideContext(
  divided: DividedGraph,
  { ways, exchange }: { readonly ways: number; readonly exchange: ContextExchange },
  tensor: AxisDivision,
): ContextParallel {
  const { training } = divided;
  const { graph, costing } = training.analysis;
  const { shapeArithmetic, storedLayout } = costing.auxiliary;
  const values = new Map<string, Split>();
  const operators = new Map<number, DividedFactor>();
  const whole: WholeProduct[] = [];
  const isAsFile = (index: number): boolean =>
    shapeArithmetic[index] === true || storedLayout[index] === true;
  const isWeightValue = (name: string | undefined): boolean =>
    isWeight(graph.values.get(name ?? '')?.role) || costing.gradients.isStored(name ?? '');
  /** Other workers of a group divide what is left of the same factor. */
  const waysOf = (index: number, factor: BoundFactor): number => {
    const own = tensor.division.operators.get(index)?.factor;
    return own !== undefined && JSON.stringify(own.inputs) === JSON.stringify(factor.inputs)
      ? ways * tensor.ways
      : ways;
  };
  const isDivisible = (operator: Operator, factor: BoundFactor): boolean => {
    if (factor.coupled !== undefined || factor.classes === true) return false;
    if (factor.outputs.length > 0) return true;
    // A sum over positions adds up over workers, with no part of a weight on each.
    return (
      factor.partial !== undefined &&
      factor.inputs.every(({ tensor: each }) => !isWeightValue(operator.inputs[each]))
    );
  };
  const matching = (operator: Operator, side: 'inputs' | 'outputs', each: number, place: Split) => {
    const factors = divided.factorsOf(operator.index).filter((factor) => isDivisible(operator, factor));
    const match = matchOf(factors, (factor) => factor[side], each, place, ways);
    if (match === undefined) return undefined;
    const { factor, within } = match;
    return factor.size % (within * waysOf(operator.index, factor)) === 0 ? match : undefined;
  };
  const agrees = (operator: Operator, { factor, within }: DividedFactor): boolean =>
    [
      ...factor.inputs.map((own) => [operator.inputs[own.tensor], own] as const),
      ...factor.outputs.map((own) => [operator.outputs[own.tensor], own] as const),
    ].every(([name, { axis, outer }]) => {
      const known = name === undefined ? undefined : values.get(name);
      return known === undefined || (known.axis === axis && known.outer === outer * within);
    });
  const divide = (operator: Operator, match: DividedFactor): void => {
    const { factor, within } = match;
    operators.set(operator.index, match);
    for (const { tensor: each, axis, outer } of factor.outputs) {
      const name = operator.outputs[each] ?? '';
      if (name !== '') values.set(name, { axis, outer: outer * within });
    }
    // What was computed of no token, such as positions or a mask, is computed for the worker's own positions.
    for (const { tensor: each, axis, outer } of factor.inputs) {
      const name = operator.inputs[each] ?? '';
      if (!values.has(name)) pull(name, { axis, outer: outer * within });
    }
  };
  const pull = (name: string, place: Split): void => {
    const producer = graph.values.get(name)?.producer;
    const operator = producer === undefined ? undefined : graph.operators[producer];
    if (operator === undefined || operators.has(operator.index) || isAsFile(operator.index)) return;
    const match = matching(operator, 'outputs', operator.outputs.indexOf(name), place);
    if (match !== undefined && match.factor.outputs.length > 0 && agrees(operator, match))
      divide(operator, match);
  };

  for (const name of sequencesOf(training.analysis)) {
    const size = training.tensors.get(name)?.dimensions[1] ?? 1;
    if (size % ways === 0) values.set(name, { axis: 1, outer: 1 });
  }
  for (const operator of graph.operators) {
    const { index, inputs } = operator;
    if (isAsFile(index) || operators.has(index)) continue;
    const read = inputs.flatMap((name, each): readonly (readonly [number, Split])[] => {
      const place = inputOf(operator, each)?.role === 'shape' ? undefined : values.get(name);
      return place === undefined ? [] : [[each, place]];
    });
    if (read.length === 0) continue;
    let match: DividedFactor | undefined;
    for (const [each, place] of read) {
      const found = matching(operator, 'inputs', each, place);
      if (found === undefined || !agrees(operator, found)) continue;
      match = found;
      break;
    }
    if (match !== undefined) divide(operator, match);
    else if (computes(divided, index))
      whole.push({ operator: index, reason: whyWhole(operator, read, divided, ways) });
  }
  const cores = coresOf(training.analysis).flatMap((own): readonly AttentionCore[] => {
    if (!own.some((index) => operators.has(index))) return [];
    if (exchange !== 'all-to-all') return [{ operators: own, exchange }];
    const byHeads = divideHeads(divided, own, (index, factor) => waysOf(index, factor));
    if (byHeads === undefined) return [{ operators: own, exchange: 'all-gather' }];
    for (const index of own) {
      operators.delete(index);
      for (const name of graph.operators[index]?.outputs ?? [])
        if (!isReadOutside(graph, name, own)) values.delete(name);
    }
    for (const [index, factor] of byHeads.operators) operators.set(index, factor);
    for (const [name, place] of byHeads.values) values.set(name, place);
    return [{ operators: own, exchange }];
  });
  return { division: { axis: 'context', ways, division: { values, operators } }, cores, whole };
}

/** Inputs [batch, sequence] that pick rows of a table, or [batch, sequence, features]. */
export function sequencesOf({ graph, costing }: ModelAnalysis): readonly string[] {
  const isWeightValue = (name: string): boolean =>
    isWeight(graph.values.get(name)?.role) || costing.gradients.isStored(name);
  const picking = new Set<string>();
  for (const operator of graph.operators) {
    const [table = '', indices] = operator.inputs;
    if (!hasTrait(operator, 'looks-up') || !isWeightValue(table)) continue;
    let name = indices;
    for (let steps = 0; name !== undefined && steps < mostSteps; steps += 1) {
      const value = graph.values.get(name);
      if (value?.role === 'input') picking.add(name);
      name = value?.producer === undefined ? undefined : graph.operators[value.producer]?.inputs[0];
    }
  }
  return graph.inputs.filter((name) => {
    const type = graph.values.get(name)?.type;
    if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) return false;
    const rank = type.shape.length;
    return (picking.has(name) && rank === 2) || (rank === 3 && type.elementType.includes('float'));
  });
}

/** Casts, clips and reshapes between the tokens and the table. */
const mostSteps = 8;

/** The numbers of heads that attention of the model has, where they are stated. */
export function headsOfAttention(analysis: ModelAnalysis): readonly number[] {
  const { operators, values } = analysis.graph;
  const heads = coresOf(analysis).flatMap((core) => {
    const start = core.map((index) => operators[index]).find(isStartOfAttention);
    const given = start?.attributes.get('q_num_heads');
    if (given?.kind === 'int') return [given.value];
    const type = values.get(start?.outputs[0] ?? '')?.type;
    const size =
      type?.kind === 'tensor' && isKnownShape(type.shape) && type.shape.length === 4
        ? type.shape[1]
        : undefined;
    return typeof size === 'number' ? [size] : [];
  });
  return [...new Set(heads)];
}

/** The numbers of heads of keys and values that attention in one operator has, where they are stated. */
export function keyHeadsOfAttention({ graph }: ModelAnalysis): readonly number[] {
  const heads = graph.operators.flatMap((operator) => {
    if (operator.type !== 'Attention') return [];
    const given = operator.attributes.get('kv_num_heads');
    if (given?.kind === 'int') return [given.value];
    const type = graph.values.get(operator.inputs[1] ?? '')?.type;
    if (type?.kind !== 'tensor' || !isKnownShape(type.shape) || type.shape.length !== 4) return [];
    const size = type.shape[1];
    return typeof size === 'number' ? [size] : [];
  });
  return [...new Set(heads)];
}

/** Whether some attention sees only so many of the last keys: by an attribute, or by a mask. */
export function hasSlidingWindow(analysis: ModelAnalysis): boolean {
  const { graph, composites } = analysis;
  const masks = new Set<string>();
  for (const { type, attributes, inputs } of graph.operators) {
    if (type !== 'Attention') continue;
    const before = attributes.get('left_window_size');
    if (before?.kind === 'int' && before.value >= 0) return true;
    masks.add(inputs[3] ?? '');
  }
  for (const { kind, roles } of composites.values()) if (kind === 'attention') masks.add(roles.mask ?? '');
  masks.delete('');
  return [...masks].some((mask) => sightOf(graph, mask)?.window !== undefined);
}

const isStartOfAttention = (operator: Operator | undefined): boolean =>
  operator?.type === 'Softmax' || operator?.type === 'Attention';

/** Attention written out, or as one operator. */
function coresOf({ composites, graph }: ModelAnalysis): readonly (readonly number[])[] {
  const written = [...new Set(composites.values())].flatMap(({ kind, operators }) =>
    kind === 'attention' ? [operators] : [],
  );
  const single = graph.operators.flatMap(({ type, index }) => (type === 'Attention' ? [[index]] : []));
  return [...written, ...single];
}

const isReadOutside = (graph: Graph, name: string, core: readonly number[]): boolean =>
  graph.outputs.includes(name) ||
  (graph.values.get(name)?.consumers ?? []).some((index) => !core.includes(index));

/** The operators of attention divided by heads, with the tensors between them; `undefined` where heads do not divide. */
function divideHeads(
  divided: DividedGraph,
  core: readonly number[],
  waysOf: (index: number, factor: BoundFactor) => number,
): Division | undefined {
  const { graph } = divided.training.analysis;
  const values = new Map<string, Split>();
  const operators = new Map<number, DividedFactor>();
  const within = new Set(core);
  const waiting: string[] = [];
  const divide = (operator: Operator, match: DividedFactor): boolean => {
    if (match.factor.coupled !== undefined) return false;
    if (match.factor.size % (match.within * waysOf(operator.index, match.factor)) !== 0) return false;
    operators.set(operator.index, match);
    for (const [places, names] of [
      [match.factor.inputs, operator.inputs],
      [match.factor.outputs, operator.outputs],
    ] as const) {
      for (const { tensor, axis, outer } of places) {
        const name = names[tensor] ?? '';
        if (name === '' || values.has(name)) continue;
        values.set(name, { axis, outer: outer * match.within });
        waiting.push(name);
      }
    }
    return true;
  };
  const start = core.map((index) => graph.operators[index]).find(isStartOfAttention);
  const factor = start && headsOf(start, divided);
  if (start === undefined || factor === undefined || !divide(start, { factor, within: 1 })) return undefined;
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const value = graph.values.get(name);
    const place = values.get(name);
    if (value === undefined || place === undefined) continue;
    for (const index of [...(value.producer === undefined ? [] : [value.producer]), ...value.consumers]) {
      const operator = graph.operators[index];
      if (operator === undefined || !within.has(index) || operators.has(index)) continue;
      const side = index === value.producer ? 'outputs' : 'inputs';
      const each = operator[side].indexOf(name);
      const match = matchOf(divided.factorsOf(index), (own) => own[side], each, place, waysOf(index, factor));
      if (match === undefined || !divide(operator, match)) return undefined;
    }
  }
  // What comes in is as it is after the exchange; what goes out as before.
  const inside = [...values].filter(([name]) => {
    const value = graph.values.get(name);
    return (
      value?.producer !== undefined &&
      value.consumers.some((index) => within.has(index)) &&
      !isReadOutside(graph, name, core)
    );
  });
  return { values: new Map(inside), operators };
}

/** The axis before positions and features of scores; of packed heads the last one. */
function headsOf(operator: Operator, { training, factorsOf }: DividedGraph): BoundFactor | undefined {
  const rank = training.tensors.get(operator.outputs[0] ?? '')?.dimensions.length;
  if (rank === undefined) return undefined;
  const axis = operator.type === 'Attention' && rank === 3 ? 2 : rank - 3;
  return factorsOf(operator.index).find(
    ({ inputs, outputs }) =>
      inputs.some((place) => place.tensor === 0 && place.axis === axis) &&
      outputs.some((place) => place.tensor === 0 && place.axis === axis) &&
      (operator.type !== 'Attention' || inputs.some((place) => place.tensor === 1)),
  );
}

const computes = ({ training }: DividedGraph, index: number): boolean => {
  const cost = training.costs[index];
  return cost?.kind === 'known' && cost.forward.flops > 0;
};

/** Why an operator reads the whole of what is split. */
function whyWhole(
  operator: Operator,
  read: readonly (readonly [number, Split])[],
  { factorsOf }: DividedGraph,
  ways: number,
): string {
  for (const [tensor, { axis }] of read) {
    const factor = factorsOf(operator.index).find(({ inputs }) =>
      inputs.some((place) => place.tensor === tensor && place.axis === axis),
    );
    if (factor?.coupled !== undefined) return factor.coupled;
    if (factor?.outputs.length === 0) return `it needs all ${factor.size} positions for each result`;
    if (factor !== undefined) return `its ${factor.size} of axis ${axis} do not divide by ${ways}`;
  }
  return 'it computes over all positions';
}
