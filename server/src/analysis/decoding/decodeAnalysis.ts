/**
 * The analysis of one decode step: one new token for each sequence, whose attentions read a cache of those before it.
 *
 * The length of the sequence becomes 1 everywhere but between the keys and values of an attention and the sum over them,
 * where it is the length of the context. Where the file is exported with a cache, its own inputs get that length. Operators
 * that prepare keys and values of another sequence, as an encoder does, ran before the first step.
 */

import type { Composite } from '../../composites/composite.ts';
import type { Composites } from '../../composites/findComposites.ts';
import { type Dimension, symbolsOf, withSymbol } from '../../model/dimension.ts';
import {
  type Graph,
  isKnownShape,
  knownShapeOf,
  type Operator,
  type Value,
  type ValueType,
} from '../../model/graph.ts';
import { capturedNames } from '../capturedNames.ts';
import type { AttentionCache, ModelAnalysis } from '../modelAnalysis.ts';
import type { OpenedModel } from '../openedModel.ts';
import { planCosting } from '../planCosting.ts';
import { type CachedAttention, cachedAttentions } from './cachedAttentions.ts';

export type Decoding =
  | {
      readonly kind: 'decoding';
      /** With `caches`. */
      readonly analysis: ModelAnalysis;
      /** The dimension that counts the tokens of a sequence. */
      readonly sequence: string;
    }
  /** Why a model has no decode step, as a sentence with what to do. */
  | { readonly kind: 'refused'; readonly reason: string };

/** The model at another length of one of its sequences, with the same operators; `undefined` where it has none such. */
type AtLength = (dimension: string, length: number) => ModelAnalysis | undefined;

/**
 * `past`: tokens in the cache, so that a new token attends to one more. `prepare` makes of an opened model what is costed.
 */
export function decodeAnalysis(
  opened: OpenedModel,
  past: number,
  prepare: (opened: OpenedModel) => OpenedModel = (same) => same,
): Decoding {
  const { analysis: whole } = opened;
  if (whole === undefined) return refused('The file could not be analysed');
  const { folded: _, ...analysis } = whole;
  const attentions = cachedAttentions(analysis);
  const own = attentions.filter(({ sight }) => sight !== undefined);
  const [first] = own;
  if (first === undefined) return refused(whyNone(analysis, attentions));
  const fresh = reachedFrom(analysis.graph, leavesOf(analysis.graph, first.query));
  // An encoder's own attentions are no part of a step.
  const steps = attentions.filter(({ query }) => fresh.has(query));
  const fixed = steps.filter(({ sight, key }) => sight === undefined && !fresh.has(key));
  const open = steps.find((each) => each.sight === undefined && !fixed.includes(each));
  if (open !== undefined) {
    return refused(
      `Attention \`${nameOf(open.operator)}\` lets tokens see those behind them, so that each new token changes all others`,
    );
  }
  const state = analysis.graph.operators.find(
    ({ type, inputs }) => carriers.has(type) && inputs.some((name) => fresh.has(name)),
  );
  if (state !== undefined) return refused(carriesState(state));
  const atLength: AtLength = (dimension, length) => {
    if (analysis.symbols.some(({ name }) => name === dimension))
      return withLength(analysis, dimension, length);
    const again = opened.withDimensions?.({ [dimension]: length });
    return again && prepare(again).analysis;
  };
  const sequence = sequenceOf(opened, analysis, first, atLength);
  if (sequence === undefined) {
    return refused(
      `The length of the sequence is fixed: queries of \`${nameOf(first.operator)}\` have no open dimension beside the batch. ${
        opened.format === 'layer-spec'
          ? 'Give it a name in `dims`'
          : 'Export the model with a dynamic sequence'
      }`,
    );
  }
  const one = atLength(sequence, 1);
  if (one === undefined || !isSameGraph(one.graph, analysis.graph)) {
    return refused(`The graph changes with \`${sequence}\`, so that the graph of one token is not known`);
  }
  const pastInputs = own.flatMap((each) => each.past);
  const pastSymbol = pastDimension(analysis, pastInputs, sequence);
  if (pastInputs.length > 0 && pastSymbol === undefined) {
    return refused(`The length of the cache is fixed in the file; export it with a dynamic one`);
  }
  const once = preparedOnce(analysis.graph, fixed, fresh);
  const caches = [
    ...own.map((each) => cacheOf(one.graph, each, false)),
    ...fixed.map((each) => cacheOf(one.graph, each, true)),
  ];
  const { folded: __, ...unfolded } = one;
  const short = { ...unfolded, composites: analysis.composites };
  const decoded =
    pastSymbol === undefined
      ? withContext(short, own, past + 1, (length) => atLength(sequence, length))
      : withLength(short, pastSymbol, past);
  if (decoded === undefined) return refused(`The graph changes with \`${sequence}\``);
  return { kind: 'decoding', analysis: { ...withoutOperators(decoded, once), caches }, sequence };
}

const refused = (reason: string): Decoding => ({ kind: 'refused', reason });

const carriesState = (operator: Operator): string =>
  `\`${nameOf(operator)}\` (${operator.type}) carries a state from token to token, which is not a cache of keys and values`;

/** Operators of layers that have a state in the place of attention. */
const scans: ReadonlySet<string> = new Set([
  'GatedDeltaRule',
  'LinearAttention',
  'SelectiveScan',
  'StateSpaceScan',
]);

/** Operators by which tokens reach later ones without keys and values. */
const carriers: ReadonlySet<string> = new Set([
  'CausalConvWithState',
  'Conv',
  'GRU',
  'LSTM',
  'Loop',
  'RNN',
  'Scan',
  ...scans,
]);

function whyNone({ graph }: ModelAnalysis, attentions: readonly CachedAttention[]): string {
  const packed = graph.operators.find(
    ({ domain, type }) =>
      domain !== '' &&
      type.endsWith('Attention') &&
      !attentions.some(({ operator }) => operator.type === type),
  );
  if (packed !== undefined) {
    return `\`${nameOf(packed)}\` (${packed.type}) holds its keys and values inside; export the model without the optimizer of ONNX Runtime`;
  }
  const [first] = attentions;
  const scan = graph.operators.find(({ type }) => scans.has(type));
  if (first === undefined && scan !== undefined) return carriesState(scan);
  return first === undefined
    ? 'No attention was found, so that there are no keys and values to keep'
    : `No causal mask was found in attention, first \`${nameOf(first.operator)}\`. Where tokens see those behind them, a model gives all results at once; else write the mask (\`causal=True\` in a layer spec)`;
}

const nameOf = ({ name, outputs }: Operator): string => name || (outputs[0] ?? '');

/** Inputs of the model that a value is computed from. */
function leavesOf(graph: Graph, name: string): readonly string[] {
  const seen = new Set<string>([name]);
  const leaves: string[] = [];
  for (const each of seen) {
    const value = graph.values.get(each);
    if (value?.role === 'input') leaves.push(each);
    for (const input of graph.operators[value?.producer ?? -1]?.inputs ?? [])
      if (input !== '') seen.add(input);
  }
  return leaves;
}

/** Values that are computed from these. */
function reachedFrom(graph: Graph, names: readonly string[]): ReadonlySet<string> {
  const reached = new Set(names);
  for (const operator of graph.operators) {
    const reads = [...operator.inputs, ...capturedNames(operator)];
    if (!reads.some((name) => reached.has(name))) continue;
    for (const output of operator.outputs) reached.add(output);
  }
  return reached;
}

/** Operators whose results are the same in every step: they make keys and values of another sequence, or lead to those. */
function preparedOnce(
  graph: Graph,
  fixed: readonly CachedAttention[],
  fresh: ReadonlySet<string>,
): ReadonlySet<number> {
  const waiting = fixed.flatMap(({ kept }) => kept);
  const found = new Set<number>();
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const producer = graph.operators[graph.values.get(name)?.producer ?? -1];
    if (producer === undefined || found.has(producer.index)) continue;
    if (producer.outputs.some((output) => fresh.has(output))) continue;
    found.add(producer.index);
    waiting.push(...producer.inputs);
  }
  return found;
}

/** The dimension that is 1 for a single new token: an open one of the queries, or a name in `dims` of a layer spec. */
function sequenceOf(
  { selectedModel }: OpenedModel,
  analysis: ModelAnalysis,
  { query, key }: CachedAttention,
  atLength: AtLength,
): string | undefined {
  const open = symbolsIn(analysis.graph, query).filter((name) => name !== analysis.batchSymbol);
  const shared = symbolsIn(analysis.graph, key);
  const symbol = open.find((name) => shared.includes(name));
  if (symbol !== undefined) return symbol;
  const named = selectedModel?.inputs.flatMap(({ dimensions }) =>
    dimensions.flatMap((size) =>
      size.kind === 'name' && size.name !== analysis.batchSymbol ? [size.name] : [],
    ),
  );
  return [...new Set(named)].find((name) => {
    const one = atLength(name, 1);
    const elements = one && knownShapeOf(one.graph, query)?.slice(0, -1);
    const before = knownShapeOf(analysis.graph, query)?.slice(0, -1);
    return elements?.some((size, axis) => size === 1 && before?.[axis] !== 1);
  });
}

const symbolsIn = (graph: Graph, name: string): readonly string[] =>
  knownShapeOf(graph, name)?.flatMap(symbolsOf) ?? [];

/** The open dimension of the inputs that are a cache. */
const pastDimension = (
  { graph, batchSymbol }: ModelAnalysis,
  inputs: readonly string[],
  sequence: string,
): string | undefined =>
  inputs
    .flatMap((name) => leavesOf(graph, name))
    .flatMap((name) => symbolsIn(graph, name))
    .find((name) => name !== batchSymbol && name !== sequence);

const isSameGraph = (left: Graph, right: Graph): boolean =>
  left.operators.length === right.operators.length &&
  left.operators.every(({ type }, index) => type === right.operators[index]?.type);

function cacheOf(graph: Graph, { kept, sight }: CachedAttention, isFixed: boolean): AttentionCache {
  const typeOf = (name: string): ValueType =>
    graph.values.get(name)?.type ?? { kind: 'unknown', reason: `\`${name}\` has no type` };
  return {
    kept: kept.map(typeOf),
    ...(sight?.window === undefined ? {} : { window: sight.window }),
    isFixed,
  };
}

/** Every shape with a number for one symbol. */
function withLength(analysis: ModelAnalysis, symbol: string, length: number): ModelAnalysis {
  const replace = (size: Dimension): Dimension => withSymbol(size, symbol, length);
  const types = new Map<ValueType, ValueType>();
  const typeAt = (type: ValueType): ValueType => {
    if (type.kind !== 'tensor' || !isKnownShape(type.shape)) return type;
    const known = types.get(type) ?? { ...type, shape: type.shape.map(replace) };
    types.set(type, known);
    return known;
  };
  const values = new Map<string, Value>();
  for (const value of analysis.graph.values.values()) {
    const { content } = value;
    values.set(value.name, {
      ...value,
      type: typeAt(value.type),
      ...(content === undefined ? {} : { content: { ...content, elements: content.elements.map(replace) } }),
    });
  }
  return {
    ...analysis,
    graph: { ...analysis.graph, values },
    symbols: analysis.symbols.filter(({ name }) => name !== symbol),
  };
}

/** Attentions that read keys and values of the whole context: those of the cache and of the new token. */
function withContext(
  { graph, composites, costing, ...analysis }: ModelAnalysis,
  attentions: readonly CachedAttention[],
  context: number,
  atLength: (length: number) => ModelAnalysis | undefined,
): ModelAnalysis | undefined {
  const values = new Map(graph.values);
  const operators = [...graph.operators];
  const renamed = new Map<number, ReadonlyMap<string, string>>();
  for (const { kept: held, members, long, sight } of attentions) {
    const length = Math.min(context, sight?.window ?? context);
    const there = atLength(length)?.graph;
    if (there === undefined || !isSameGraph(there, graph)) return undefined;
    for (const [name, axis] of long) {
      const [short, whole] = [graph.values.get(name), there.values.get(name)];
      if (short !== undefined && whole !== undefined)
        values.set(name, { ...short, type: typeAlong(short, whole, axis) });
    }
    const names = new Map<string, string>();
    for (const name of held) {
      const [short, whole] = [values.get(name), there.values.get(name)];
      if (short === undefined || whole === undefined) return undefined;
      const { producer: _, content: __, ...cached } = short;
      const kept = `${name} in cache of ${length}`;
      const readers = short.consumers.filter((index) => members.has(index));
      names.set(name, kept);
      values.set(name, { ...short, consumers: short.consumers.filter((index) => !members.has(index)) });
      values.set(kept, { ...cached, name: kept, role: 'activation', type: whole.type, consumers: readers });
    }
    for (const index of members) {
      const operator = operators[index];
      if (operator === undefined) continue;
      const { kind: _, ...whole } = operator;
      operators[index] = { ...whole, inputs: operator.inputs.map((name) => names.get(name) ?? name) };
      renamed.set(index, new Map([...(renamed.get(index) ?? []), ...names]));
    }
  }
  const changed = { ...graph, operators, values };
  return {
    ...analysis,
    graph: changed,
    composites: renamedComposites(composites, renamed),
    costing: planCosting(changed, costing.auxiliary),
  };
}

/** The type of one token with the axis of keys as long as the context; all axes where nothing else varies. */
function typeAlong(short: Value, whole: Value, axis: number | undefined): ValueType {
  if (axis === undefined) return whole.type;
  const [one, all] = [short.type, whole.type];
  if (one.kind !== 'tensor' || all.kind !== 'tensor') return one;
  if (!isKnownShape(one.shape) || !isKnownShape(all.shape)) return one;
  const at = one.shape.length + axis;
  const longest = all.shape;
  return { ...one, shape: one.shape.map((size, index) => (index === at ? (longest[index] ?? size) : size)) };
}

function renamedComposites(
  composites: Composites,
  renamed: ReadonlyMap<number, ReadonlyMap<string, string>>,
): Composites {
  const changed = new Map<Composite, Composite>();
  return new Map(
    [...composites].map(([index, composite]) => {
      const names = composite.operators.map((each) => renamed.get(each)).find((each) => each !== undefined);
      if (names === undefined || composite.kind !== 'attention') return [index, composite];
      const rename = (name: string): string => names.get(name) ?? name;
      const known = changed.get(composite) ?? {
        ...composite,
        inputs: composite.inputs.map(rename),
        roles: Object.fromEntries(
          Object.entries(composite.roles).map(([role, name]) => [role, rename(name)]),
        ),
      };
      changed.set(composite, known);
      return [index, known];
    }),
  );
}

/** Operators that ran before the step cost nothing in it, as those do that only make shapes. */
function withoutOperators(analysis: ModelAnalysis, left: ReadonlySet<number>): ModelAnalysis {
  if (left.size === 0) return analysis;
  const { auxiliary } = analysis.costing;
  const shapeArithmetic = auxiliary.shapeArithmetic.map((is, index) => is || left.has(index));
  return { ...analysis, costing: planCosting(analysis.graph, { ...auxiliary, shapeArithmetic }) };
}
