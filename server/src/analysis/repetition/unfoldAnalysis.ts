/**
 * The analysis of a whole graph from that of the folded one: what stands for several blocks is written once for each.
 *
 * Operators and values are made when somebody asks for them; costing works on the folded graph.
 */

import { type Composites, findComposites } from '../../composites/findComposites.ts';
import { compositePatterns } from '../../composites/patterns.ts';
import type { OnnxGraph } from '../../formats/onnx/syntax.ts';
import type { GivenLayers, ProvidedLayer, ProvidedStructure } from '../../lowering/providedStructure.ts';
import { intAt, itemAt } from '../../model/at.ts';
import type { Graph, Layer, Operator, Value } from '../../model/graph.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';
import type { FlatNode } from '../expandFunctions.ts';
import type { Use } from '../findRoles.ts';
import { nameOfNode } from '../inferGraph.ts';
import type { Folded, ModelAnalysis, Parameter } from '../modelAnalysis.ts';
import { originOf } from '../originOf.ts';
import { planCosting } from '../planCosting.ts';
import {
  type FoldedGraph,
  type FoldLayout,
  foldedIndex,
  isSettledAround,
  keptAtEnd,
  keptAtStart,
} from './foldGraph.ts';
import type { Repetition } from './proveRepetition.ts';

/** The whole graph, how it was folded, and what came out, which may itself have been unfolded from a shorter one. */
export interface FoldedAnalysis {
  readonly analysis: ModelAnalysis;
  readonly uses: ReadonlyMap<string, Use>;
  readonly folded: FoldedGraph;
  readonly repetition: Repetition;
  readonly graph: OnnxGraph;
  readonly nodes: readonly FlatNode[];
  readonly provided: ProvidedStructure | undefined;
  readonly given: GivenLayers;
}

/** `undefined` where the blocks did not come out alike, so that leaving some out may have changed something. */
export function unfoldAnalysis(subject: FoldedAnalysis): ModelAnalysis | undefined {
  const { analysis, nodes } = subject;
  const stored = representativesIn(subject);
  const layers = unfoldLayers(subject);
  if (layers === undefined || analysis.frozen.length > 0 || !hasSettled(subject, stored)) return undefined;
  let graph: Graph | undefined;
  let composites: Composites | undefined;
  let costing: ModelAnalysis['costing'] | undefined;
  const whole: ModelAnalysis = {
    get graph() {
      graph ??= unfoldGraph(subject, stored);
      return graph;
    },
    get composites() {
      composites ??= findComposites(whole.graph, compositePatterns, (index) =>
        originOf(nodes[index]?.scope, nodes[index]?.source, subject.given),
      );
      return composites;
    },
    layers: layers.layers,
    parameters: unfoldParameters(subject, stored),
    frozen: analysis.frozen,
    batchSymbol: analysis.batchSymbol,
    fixedBatch: analysis.fixedBatch,
    symbols: analysis.symbols,
    issues: analysis.issues,
    get costing() {
      costing ??= planCosting(whole.graph);
      return costing;
    },
    folded: {
      ...shortestOf(subject, layers.origins),
      nameOf: (index) => nameOfNode(nodes[index]),
      sourceOf: (index) => nodes[index]?.source,
    },
  };
  return whole;
}

/** The shortest analysis that stands for the whole one. */
function shortestOf(
  { analysis, folded: { layout } }: FoldedAnalysis,
  layers: Int32Array,
): Omit<Folded, 'nameOf' | 'sourceOf'> {
  const inner = analysis.folded;
  if (inner === undefined) return { analysis, layout, layers };
  return {
    analysis: inner.analysis,
    layout: { ...layout, inner: inner.layout },
    layers: layers.map((layer) => intAt(inner.layers, layer)),
  };
}

/** What was found out about an operator of the folded graph: nothing is unfolded to look at a few of them. */
function analysisAt({ analysis }: FoldedAnalysis): {
  readonly shortest: ModelAnalysis;
  readonly at: (index: number) => number;
} {
  const inner = analysis.folded;
  return inner === undefined
    ? { shortest: analysis, at: (index) => index }
    : { shortest: inner.analysis, at: (index) => foldedIndex(inner.layout, index) };
}

/** Who reads a value: blocks by themselves, or whoever reads it in one block reads it in all. */
type ReaderBlocks = 'all' | 'start' | 'end' | { readonly copy: number };

/** What stands in the folded graph for a stored tensor or input of the whole one. */
interface Representative {
  readonly name: string;
  readonly readers: ReaderBlocks;
}

function representativesIn({ repetition }: FoldedAnalysis): (name: string) => Representative {
  const { owners, origins, count } = repetition;
  const pattern = new Map<string, string>();
  for (const [name, block] of owners) {
    const origin = origins.get(name);
    if (block === keptAtStart - 1 && origin !== undefined) pattern.set(origin, name);
  }
  return (name) => {
    const block = owners.get(name);
    if (block === undefined) return { name, readers: 'all' };
    if (block < keptAtStart - 1) return { name, readers: 'start' };
    if (block >= count - keptAtEnd) return { name, readers: 'end' };
    const copy = block - (keptAtStart - 1);
    return { name: pattern.get(origins.get(name) ?? '') ?? name, readers: { copy } };
  };
}

/** Operators of the whole graph for those of the folded one that read a value; both ascending. */
function unfoldReaders(
  { cut, period, copies }: FoldLayout,
  readers: readonly number[],
  of: ReaderBlocks,
): readonly number[] {
  if (of === 'start') return readers;
  if (of === 'end') return readers.map((index) => (index < cut ? index : index + copies * period));
  if (of !== 'all') return of.copy === 0 ? readers : readers.map((index) => index + of.copy * period);
  const whole = readers.filter((index) => index < cut);
  const inBlock = whole.filter((index) => index >= cut - period);
  for (let copy = 1; copy <= copies; copy += 1) {
    for (const index of inBlock) whole.push(index + copy * period);
  }
  for (const index of readers) if (index >= cut) whole.push(index + copies * period);
  return whole;
}

/** Whether nothing that was found tells the last blocks before the cut and the first behind it apart. */
function hasSettled(subject: FoldedAnalysis, representative: (name: string) => Representative): boolean {
  const { analysis, repetition, nodes } = subject;
  const { layout } = subject.folded;
  const { shortest, at } = analysisAt(subject);
  const { graph, costing, issues } = shortest;
  const { gradients, groups, auxiliary } = costing;
  const sources = new Set<number>();
  for (let index = layout.cut - layout.period; index < layout.cut; index += 1) {
    sources.add(nodes[index]?.source ?? -1);
  }
  if (issues.some(({ operator }) => operator !== undefined && sources.has(operator))) return false;
  const roleOf = (name: string | undefined) =>
    name === undefined ? undefined : graph.values.get(name)?.role;
  const isSameValue = (left: string, right = ''): boolean => {
    const [ours, theirs] = [subject.uses.get(left), subject.uses.get(right)];
    return (
      roleOf(left) === roleOf(right) &&
      gradients.requires.has(left) === gradients.requires.has(right) &&
      gradients.isReached(left) === gradients.isReached(right) &&
      gradients.isStored(left) === gradients.isStored(right) &&
      ours?.differentiable === theirs?.differentiable &&
      ours?.asWeight === theirs?.asWeight &&
      ours?.asWeightOnly === theirs?.asWeightOnly
    );
  };
  const areSame = (first: number, second: number): boolean => {
    const [index, other] = [at(first), at(second)];
    const operator = graph.operators[index];
    const like = graph.operators[other];
    if (operator === undefined || like === undefined || operator.contradiction !== undefined) return false;
    // Constants of one content may be of several kinds; they were compared when the repetition was proven.
    const isConstant = hasTrait(operator, 'constant') && hasTrait(like, 'constant');
    if (!isConstant && (operator.kind === undefined || operator.kind !== like.kind)) return false;
    return (
      (isConstant || groups[index] === groups[other]) &&
      auxiliary.shapeArithmetic[index] === auxiliary.shapeArithmetic[other] &&
      auxiliary.storedLayout[index] === auxiliary.storedLayout[other] &&
      operator.outputs.every((name, output) => name === '' || isSameValue(name, like.outputs[output])) &&
      operator.inputs.every((name, input) => name === '' || isSameValue(name, like.inputs[input]))
    );
  };
  if (!isSettledAround(layout, areSame) || !areRolesGivenAlike(subject, representative)) return false;
  const parameters = new Map(analysis.parameters.map((parameter) => [parameter.name, parameter]));
  const uses = new Map<string, string>();
  const { cut, period } = layout;
  const end = repetition.count - keptAtEnd;
  for (const [name, block] of repetition.owners) {
    const shift =
      block === keptAtStart - 2
        ? -period
        : block === keptAtStart - 1
          ? 0
          : block === end
            ? period
            : undefined;
    if (shift === undefined) continue;
    const use =
      parameters
        .get(name)
        ?.operators.map((index) => index - shift - cut)
        .join() ?? 'untrained';
    const origin = repetition.origins.get(name) ?? '';
    const before = uses.get(origin);
    if (before !== undefined && before !== use) return false;
    uses.set(origin, use);
  }
  const isInput = (name: string): boolean =>
    (roleOf(name) ?? analysis.graph.values.get(name)?.role) === 'input';
  return graph.inputs.every((name) => isInput(representative(name).name));
}

/** Whether what a lowering says of the roles of values is the same of those left out and of those that stand for them. */
function areRolesGivenAlike(
  { provided, repetition, folded, nodes }: FoldedAnalysis,
  representative: (name: string) => Representative,
): boolean {
  if (provided === undefined || provided.roles.size === 0) return true;
  const { roles } = provided;
  for (const name of repetition.owners.keys()) {
    if (roles.get(name) !== roles.get(representative(name).name)) return false;
  }
  const { cut, period, copies } = folded.layout;
  for (let index = cut; index < cut + copies * period; index += 1) {
    const shown = folded.nodes[foldedIndex(folded.layout, index)]?.node.outputs;
    const alike = nodes
      .at(index)
      ?.node.outputs.every((name, output) => roles.get(name) === roles.get(shown?.[output] ?? ''));
    if (alike === false) return false;
  }
  return true;
}

function unfoldParameters(
  { analysis, folded, graph, nodes }: FoldedAnalysis,
  representative: (name: string) => Representative,
): readonly Parameter[] {
  const { layout } = folded;
  const trained = new Map(analysis.parameters.map((parameter) => [parameter.name, parameter]));
  const parameters: Parameter[] = [];
  const add = (name: string, stand: Representative): void => {
    const parameter = trained.get(stand.name);
    if (parameter === undefined) return;
    parameters.push({
      ...parameter,
      name,
      operators: unfoldReaders(layout, parameter.operators, stand.readers),
    });
  };
  const names = new Set<string>();
  for (const list of [graph.inputs, graph.initializers, graph.sparseInitializers]) {
    for (const { name } of list) names.add(name);
  }
  let fromStored = 0;
  for (const name of names) add(name, representative(name));
  for (const { name } of analysis.parameters) if (names.has(name)) fromStored += 1;
  if (fromStored === analysis.parameters.length) return parameters;
  for (let index = 0; index < nodes.length; index += 1) {
    const shown = folded.nodes[foldedIndex(layout, index)]?.node.outputs ?? [];
    nodes[index]?.node.outputs.forEach((name, output) => {
      add(name, { name: shown[output] ?? '', readers: readersOfOutput(layout, index) });
    });
  }
  return parameters;
}

/** An operator before the first block, or behind the last, is read by whoever reads it in one of them in all. */
function readersOfOutput({ cut, period, copies }: FoldLayout, index: number): ReaderBlocks {
  if (index < cut - keptAtStart * period) return 'all';
  if (index < cut - period) return 'start';
  if (index >= cut + copies * period) return 'end';
  return { copy: Math.floor((index - cut) / period) + 1 };
}

/** The whole graph. What it is made of is made when somebody asks for it. */
function unfoldGraph(subject: FoldedAnalysis, representative: (name: string) => Representative): Graph {
  const { analysis, graph } = subject;
  const known = analysis.graph;
  let inputs: Graph['inputs'] | undefined;
  let content: Pick<Graph, 'operators' | 'values'> | undefined;
  const contentOf = (): Pick<Graph, 'operators' | 'values'> => {
    content ??= unfoldContent(subject, representative);
    return content;
  };
  return {
    name: known.name,
    get inputs() {
      inputs ??= graph.inputs
        .map(({ name }) => name)
        .filter((name) => known.values.get(representative(name).name)?.role === 'input');
      return inputs;
    },
    outputs: graph.outputs.map(({ name }) => name),
    get operators() {
      return contentOf().operators;
    },
    get values() {
      return contentOf().values;
    },
    operatorSets: known.operatorSets,
  };
}

function unfoldContent(
  subject: FoldedAnalysis,
  representative: (name: string) => Representative,
): Pick<Graph, 'operators' | 'values'> {
  const { analysis, nodes, graph } = subject;
  const { layout } = subject.folded;
  const known = analysis.graph;
  const values = new Map<string, Value>();
  const literals = new Map(
    [...graph.initializers, ...graph.sparseInitializers].map((literal) => [literal.name, literal]),
  );
  const names = new Set<string>();
  for (const list of [graph.inputs, graph.initializers, graph.sparseInitializers]) {
    for (const { name } of list) names.add(name);
  }
  for (const name of names) {
    const stand = representative(name);
    const value = known.values.get(stand.name);
    if (value === undefined) continue;
    const literal = literals.get(name);
    values.set(name, {
      ...value,
      name,
      ...(literal === undefined ? {} : { literal }),
      consumers: unfoldReaders(layout, value.consumers, stand.readers),
    });
  }
  const operators: Operator[] = [];
  for (let index = 0; index < nodes.length; index += 1) {
    const flat = nodes[index];
    if (flat === undefined) continue;
    const { node } = flat;
    const shown = known.operators[foldedIndex(layout, index)];
    node.outputs.forEach((name, output) => {
      const value = known.values.get(shown?.outputs[output] ?? '');
      if (name === '' || value === undefined) return;
      const consumers = unfoldReaders(layout, value.consumers, readersOfOutput(layout, index));
      values.set(name, { ...value, name, producer: index, consumers });
    });
    operators.push({
      index,
      source: flat.source,
      name: nameOfNode(flat),
      type: node.type,
      domain: shown?.domain ?? node.domain,
      inputs: node.inputs,
      outputs: node.outputs,
      attributes: shown?.attributes ?? new Map(),
      scope: flat.scope.paths,
      ...(shown?.contradiction === undefined ? {} : { contradiction: shown.contradiction }),
      ...(shown?.opset === undefined ? {} : { opset: shown.opset }),
      ...(shown?.isPromotion === undefined ? {} : { isPromotion: shown.isPromotion }),
      ...(shown?.isOutsideAutocast === undefined ? {} : { isOutsideAutocast: shown.isOutsideAutocast }),
      ...(shown?.isCopy === undefined ? {} : { isCopy: shown.isCopy }),
      ...(shown?.isInPlace === undefined ? {} : { isInPlace: shown.isInPlace }),
      ...(shown?.kind === undefined ? {} : { kind: shown.kind }),
    });
  }
  return { operators, values };
}

/**
 * Layers of the whole graph in order, and for each the layer of the folded graph that it is like; `undefined` where
 * the blocks are not grouped alike.
 */
function unfoldLayers(
  subject: FoldedAnalysis,
): { readonly layers: readonly Layer[]; readonly origins: Int32Array } | undefined {
  const { analysis, folded, nodes, given: provisions } = subject;
  const { layout } = folded;
  const { cut, period, copies, count } = layout;
  const { shortest, at } = analysisAt(subject);
  const { auxiliary } = shortest.costing;
  const isAuxiliary = (operator: number): boolean => {
    const index = at(operator);
    return auxiliary.shapeArithmetic[index] === true || auxiliary.storedLayout[index] === true;
  };
  const layerOf = new Int32Array(count - copies * period);
  const leaders = analysis.layers.map(({ operators }, layer) => {
    for (const index of operators) layerOf[index] = layer;
    return operators.find((index) => !isAuxiliary(index)) ?? operators[0] ?? 0;
  });
  const inAll = new Set<number>();
  const isLike = (index: number, other: number): boolean => {
    const own = intAt(layerOf, index);
    const its = intAt(layerOf, other);
    if (own === its) inAll.add(own);
    if (own === its || inAll.has(own) || inAll.has(its)) return own === its;
    const shift = other - index;
    return (
      itemAt(leaders, own) + shift === leaders[its] &&
      analysis.layers[own]?.type === analysis.layers[its]?.type
    );
  };
  if (!isSettledAround(layout, isLike) || !isSettledAround(layout, isLike)) return undefined;

  const indexGivenTo = (source: number | undefined): number => provisions.ofNode[source ?? -1] ?? -1;
  const givenTo = (source: number | undefined): ProvidedLayer | undefined =>
    provisions.layers[indexGivenTo(source)];
  const layers: Layer[] = [];
  const origins: number[] = [];
  const names = new Set<string>();
  /** Writes a layer whose leader stands `shift` operators further on in the whole graph. */
  const add = (layer: Layer, origin: number, shift: number, operators: readonly number[]): boolean => {
    const leader = itemAt(leaders, origin);
    const paths = nodes[leader + shift]?.scope.paths ?? [];
    const source = nodes[leader + shift]?.source;
    const given = givenTo(source);
    const name = given?.name ?? paths.at(-1) ?? nameOfNode(nodes[leader + shift]);
    if ((shift === 0 && name !== layer.name && leader >= cut - period) || names.has(name)) return false;
    names.add(shift === 0 ? layer.name : name);
    origins.push(origin);
    if (shift === 0) layers.push({ ...layer, operators });
    else if (given === undefined) {
      if (givenTo(folded.nodes[leader]?.source) !== undefined) return false;
      layers.push({ ...layer, name, ancestors: paths.slice(0, -1), operators });
    } else {
      if (!isGivenAlike(layer, given, operators)) return false;
      layers.push({
        name,
        type: layer.type,
        ancestors: given.ancestors,
        operators,
        given: indexGivenTo(source),
        ...(layer.marks === undefined ? {} : { marks: layer.marks }),
      });
    }
    return true;
  };
  /** Whether a lowering gives a layer the type, the marks and the operators of the layer that stands for it. */
  const isGivenAlike = (layer: Layer, given: ProvidedLayer, operators: readonly number[]): boolean =>
    given.type === layer.type &&
    (given.marks === layer.marks || JSON.stringify(given.marks) === JSON.stringify(layer.marks)) &&
    operators.every((index, position) => {
      const shown = givenTo(folded.nodes[layer.operators[position] ?? -1]?.source);
      return (givenTo(nodes[index]?.source) === given) === (shown?.name === layer.name);
    });
  const inBlock: number[] = [];
  let copied = false;
  const addCopies = (): boolean => {
    copied = true;
    for (let copy = 1; copy <= copies; copy += 1) {
      for (const origin of inBlock) {
        const layer = analysis.layers[origin];
        const shift = copy * period;
        if (layer === undefined) return false;
        if (
          !add(
            layer,
            origin,
            shift,
            layer.operators.map((index) => index + shift),
          )
        )
          return false;
      }
    }
    return true;
  };
  for (const [origin, layer] of analysis.layers.entries()) {
    const leader = itemAt(leaders, origin);
    if (leader >= cut && !copied && !addCopies()) return undefined;
    if (inAll.has(origin)) {
      if (leader >= cut || !add(layer, origin, 0, unfoldReaders(layout, layer.operators, 'all')))
        return undefined;
    } else if (leader >= cut) {
      if (!add(layer, origin, copies * period, unfoldReaders(layout, layer.operators, 'end')))
        return undefined;
    } else {
      const repeats = leader >= cut - period;
      if (repeats && layer.operators.some((index) => index < cut - 2 * period || index >= cut + period)) {
        return undefined;
      }
      const operators = repeats ? layer.operators : unfoldReaders(layout, layer.operators, 'end');
      if (!add(layer, origin, 0, operators)) return undefined;
      if (repeats) inBlock.push(origin);
    }
  }
  if (!copied && !addCopies()) return undefined;
  let placed = 0;
  for (const { operators } of layers) placed += operators.length;
  return placed === count ? { layers, origins: Int32Array.from(origins) } : undefined;
}
