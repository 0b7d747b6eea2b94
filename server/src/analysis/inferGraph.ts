/**
 * A graph with shapes: nodes in topological order, every value with the type that inference gives it.
 *
 * One pass: an operator is inferred when all its inputs are. Contents of small tensors travel along, so that
 * shapes computed in the graph are known. Roles are given later; values carry those that the file makes plain.
 */

import type { OnnxGraph, OnnxNode, OnnxValueInfo } from '../formats/onnx/syntax.ts';
import { caffeDomain, unloweredDomain } from '../lowering/providedStructure.ts';
import type { Attribute, TensorLiteral } from '../model/attribute.ts';
import { customOperatorsFile } from '../model/declaredOperator.ts';
import type { Graph, GraphAttribute, Operator, TensorContent, Value, ValueType } from '../model/graph.ts';
import { makeInferenceContext } from '../operators/context.ts';
import type { InferenceContext } from '../operators/definition.ts';
import { hasTrait } from '../operators/operatorFacts.ts';
import { findOperator } from '../operators/registry.ts';
import { withPossibleSizes } from '../operators/sizeLimits.ts';
import { isNotOfOnnx, whyUndefined } from '../operators/unknownOperators.ts';
import { reconcileTypes } from './declaredTypes.ts';
import type { FlatNode } from './expandFunctions.ts';
import type { IssueCollector } from './issueCollector.ts';
import { findMissingContents } from './missingContents.ts';
import { type ModuleScope, rootScope } from './moduleScope.ts';
import type { InferredOutputs, OperatorKinds } from './operatorKinds.ts';
import { orderNodes } from './orderNodes.ts';
import { holdsGraph } from './subgraphs.ts';
import { expectedHits, routingOf } from './tokenRouting.ts';
import { typeOfInput, typeOfOnnx } from './typeOfOnnx.ts';

/** A graph, and beside each operator what the graph itself has no place for. */
export interface InferredGraph {
  readonly graph: Graph;
  /** Scope of each operator. */
  readonly scopes: readonly ModuleScope[];
  /** Values that each operator's subgraphs take from this graph; most operators have none. */
  readonly captured: ReadonlyMap<number, readonly string[]>;
}

export interface InferenceSurroundings {
  readonly operatorSets: ReadonlyMap<string, number>;
  readonly issues: IssueCollector;
  /** Kinds of operators met so far. */
  readonly kinds: OperatorKinds;
  /** A value of the graph around a subgraph. */
  readonly outer: (name: string) => Value | undefined;
  /** Types of the inputs, where the caller knows them better than the graph says. */
  readonly inputTypes?: readonly ValueType[];
  /** Contents of the inputs, where the caller knows them. */
  readonly inputContents?: readonly (TensorContent | undefined)[];
  /** How deep subgraphs nest. */
  readonly depth: number;
  /** How many more subgraphs may be inferred, in the whole model: shared, and counted down. */
  readonly subgraphs: { left: number };
  /** How many more unknown types may name the value at fault: shared by the whole model, and counted down. */
  readonly namedReasons: { left: number };
}

/**
 * Subgraphs inferred in one model. Loops of a few iterations infer their body for each, so that nested ones
 * multiply; past this their outputs are unknown. Exporters' models need a few hundred.
 */
export const mostSubgraphs = 10_000;

/**
 * Values that nothing defines, and those on cycles, each of which is a reason of its own for what reads it. Past this
 * they share one, so that operators behind them are of one kind: no person follows a thousand.
 */
export const mostNamedReasons = 1_000;

/** Infers a graph whose function calls are expanded. */
export function inferGraph(
  source: OnnxGraph,
  nodes: readonly FlatNode[],
  surroundings: InferenceSurroundings,
): InferredGraph {
  const drafts = new Map<string, Draft>();
  const captures = nodes.map(({ node }) => capturedNames(node));
  const { producers, duplicates } = findProducers(source, nodes);
  for (const { name, node } of duplicates) {
    surroundings.issues.add(`duplicate ${name}`, () => ({
      code: 'graph/duplicate-value',
      severity: 'error',
      message: `${describe(nodes[node])} defines \`${name}\` again; the first definition is used, rename this one`,
      ...sourceOf(nodes[node]),
      value: name,
    }));
  }
  const { order, cycles } = orderNodes(dependenciesOf(nodes, captures, producers));
  reportCycles(cycles, nodes, surroundings.issues);

  defineInputs(source, drafts, surroundings);
  defineInitializers(source, drafts, surroundings.kinds);
  const declared = new Map<string, OnnxValueInfo>();
  for (const info of [...source.valueInfos, ...source.outputs]) declared.set(info.name, info);

  const onCycle = new Set(cycles.flat());
  const operators: Operator[] = [];
  const scopes: ModuleScope[] = [];
  const captured = new Map<number, readonly string[]>();
  const position = new Map<number, number>();
  for (const number of order) {
    const flat = nodes[number];
    if (flat === undefined) continue;
    const index = operators.length;
    position.set(number, index);
    const outside = captures[number] ?? [];
    if (outside.length > 0) captured.set(index, outside);
    const pending = onCycle.has(number) ? producers : undefined;
    const resolve = (name: string): Draft | undefined =>
      resolveValue(name, drafts, surroundings, pending, flat);
    const inputs = flat.node.inputs.map((name) => (name === '' ? undefined : resolve(name)));
    for (const value of inputs) noteConsumer(value, index);
    for (const name of outside) noteConsumer(resolve(name), index);
    const { operator, outputs } = inferOperator(flat, index, inputs, resolve, surroundings);
    let ofItsKind = !onCycle.has(number);
    scopes.push(flat.scope);
    operator.outputs.forEach((name, outputIndex) => {
      if (name === '') return;
      if (producers.get(name) !== number) {
        ofItsKind = false;
        return;
      }
      const found = outputs.types[outputIndex] ?? notInferred(flat);
      const inferred = expectedHits(operator, inputs, found);
      if (inferred !== found) ofItsKind = false;
      const information = declared.get(name);
      const type =
        information === undefined
          ? inferred
          : reconcileTypes(name, inferred, typeOfOnnx(information.type), surroundings.issues, flat.source);
      if (type !== inferred) ofItsKind = false;
      const draft = draftOf(name, type, outputs.contents[outputIndex], literalOfConstant(operator), index);
      const routing = routingOf(operator, inputs, outputs.types, outputIndex);
      drafts.set(name, routing === undefined ? draft : { ...draft, routing });
    });
    operators.push(ofItsKind ? operator : withoutKind(operator));
  }
  const graphOutputs = source.outputs.map(({ name }) => name);
  for (const name of graphOutputs) {
    if (drafts.has(name) || surroundings.outer(name) !== undefined) continue;
    reportUndefined(name, undefined, surroundings.issues);
  }
  return {
    graph: {
      name: source.name,
      inputs: source.inputs.map(({ name }) => name).filter((name) => drafts.get(name)?.role === 'input'),
      outputs: graphOutputs,
      operators,
      values: drafts,
      operatorSets: surroundings.operatorSets,
    },
    scopes,
    captured,
  };
}

/** A value while its consumers are still being found. */
type Draft = Omit<Value, 'consumers'> & { readonly consumers: number[] };

/** Made for every value of a graph: each of the shapes that there are is written out, which is quicker than spreading. */
function draftOf(
  name: string,
  type: ValueType,
  content: TensorContent | undefined,
  literal: TensorLiteral | undefined,
  producer: number,
): Draft {
  const role = 'activation';
  if (content === undefined) {
    return literal === undefined
      ? { name, role, type, producer, consumers: [] }
      : { name, role, type, literal, producer, consumers: [] };
  }
  return literal === undefined
    ? { name, role, type, content, producer, consumers: [] }
    : { name, role, type, content, literal, producer, consumers: [] };
}

const withoutKind = ({ kind: _, ...operator }: Operator): Operator => operator;

/** Consumers are met in ascending order; one that reads a value twice is kept once. */
function noteConsumer(value: Draft | undefined, index: number): void {
  if (value !== undefined && value.consumers.at(-1) !== index) value.consumers.push(index);
}

/** Nesting deeper than this is refused: no exporter makes it, and inference recurses. */
const deepestNesting = 32;

function defineInputs(
  source: OnnxGraph,
  drafts: Map<string, Draft>,
  surroundings: InferenceSurroundings,
): void {
  source.inputs.forEach(({ name, type }, index) => {
    const given = surroundings.inputTypes?.[index];
    const content = surroundings.inputContents?.[index];
    const declared = typeOfInput(name, type);
    if (given === undefined && declared?.kind === 'tensor' && declared.elementType === 'undefined') {
      surroundings.issues.add(`type ${name}`, () => ({
        code: 'graph/missing-type',
        severity: 'error',
        message: `Input \`${name}\` has no known element type; declare it, ONNX demands one`,
        value: name,
      }));
    }
    drafts.set(name, {
      name,
      role: 'input',
      type: given ?? declared ?? { kind: 'unknown', reason: `the file gives no type for input \`${name}\`` },
      ...(content && { content }),
      consumers: [],
    });
  });
}

/** Initializers, those listed among the inputs too (IR version 3 demands it), are stored tensors and no inputs. */
function defineInitializers(source: OnnxGraph, drafts: Map<string, Draft>, kinds: OperatorKinds): void {
  for (const literal of [...source.initializers, ...source.sparseInitializers]) {
    drafts.set(literal.name, {
      name: literal.name,
      role: literal.elements === undefined ? 'buffer' : 'constant',
      type: kinds.intern({ kind: 'tensor', elementType: literal.elementType, shape: literal.dimensions }),
      ...contentOfLiteral(literal),
      literal,
      consumers: [],
    });
  }
}

function contentOfLiteral(literal: TensorLiteral): { readonly content?: TensorContent } {
  const { elements, dimensions } = literal;
  // A payload that does not fill its dimensions says nothing reliable about either.
  if (elements === undefined || elements.length !== dimensions.reduce((a, b) => a * b, 1)) return {};
  return { content: { shape: dimensions, elements } };
}

/** A `Constant` holds a tensor just as an initializer does. */
function literalOfConstant(operator: Operator): TensorLiteral | undefined {
  if (!hasTrait(operator, 'constant')) return undefined;
  const attribute = operator.attributes.get('value');
  return attribute?.kind === 'tensor' ? attribute.value : undefined;
}

function findProducers(
  source: OnnxGraph,
  nodes: readonly FlatNode[],
): {
  readonly producers: ReadonlyMap<string, number>;
  readonly duplicates: readonly { readonly name: string; readonly node: number }[];
} {
  const stored = new Set([
    ...source.inputs.map(({ name }) => name),
    ...source.initializers.map(({ name }) => name),
    ...source.sparseInitializers.map(({ name }) => name),
  ]);
  const producers = new Map<string, number>();
  const duplicates: { name: string; node: number }[] = [];
  nodes.forEach(({ node }, number) => {
    for (const name of node.outputs) {
      if (name === '') continue;
      if (producers.has(name) || stored.has(name)) duplicates.push({ name, node: number });
      else producers.set(name, number);
    }
  });
  return { producers, duplicates };
}

function dependenciesOf(
  nodes: readonly FlatNode[],
  captures: readonly (readonly string[])[],
  producers: ReadonlyMap<string, number>,
): readonly (readonly number[])[] {
  // The last node that was found to need each: a node may name thousands, so that looking through them takes too long.
  const neededBy = new Int32Array(nodes.length).fill(-1);
  return nodes.map(({ node }, number) => {
    const needed: number[] = [];
    const need = (name: string): void => {
      const producer = producers.get(name);
      if (producer === undefined || neededBy[producer] === number) return;
      neededBy[producer] = number;
      needed.push(producer);
    };
    for (const name of node.inputs) need(name);
    for (const name of captures[number] ?? []) need(name);
    return needed;
  });
}

function reportCycles(
  cycles: readonly (readonly number[])[],
  nodes: readonly FlatNode[],
  issues: IssueCollector,
): void {
  for (const members of cycles) {
    const names = members.slice(0, 5).map((number) => `\`${nameOfNode(nodes[number])}\``);
    const rest = members.length - names.length;
    const list = `${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
    issues.add(`cycle ${members[0]}`, () => ({
      code: 'graph/cycle',
      severity: 'error',
      message: `The graph has a cycle through ${list}; export the model again, ONNX graphs are acyclic`,
      ...sourceOf(nodes[members[0] ?? -1]),
    }));
  }
}

function resolveValue(
  name: string,
  drafts: Map<string, Draft>,
  surroundings: InferenceSurroundings,
  pending: ReadonlyMap<string, number> | undefined,
  flat: FlatNode,
): Draft | undefined {
  const known = drafts.get(name);
  if (known !== undefined) return known;
  const outside = surroundings.outer(name);
  if (outside !== undefined) return { ...outside, consumers: [] };
  if (pending?.has(name)) {
    return {
      name,
      role: 'activation',
      type: unknownValue(name, 'part of a cycle', surroundings),
      consumers: [],
    };
  }
  reportUndefined(name, flat, surroundings.issues);
  const undefinedValue: Draft = {
    name,
    role: 'activation',
    type: unknownValue(name, 'not defined', surroundings),
    consumers: [],
  };
  drafts.set(name, undefinedValue);
  return undefinedValue;
}

function unknownValue(name: string, why: string, { kinds, namedReasons }: InferenceSurroundings): ValueType {
  namedReasons.left -= 1;
  const subject = namedReasons.left < 0 ? 'a value that it needs' : `\`${name}\``;
  return kinds.intern({ kind: 'unknown', reason: `${subject} is ${why}` });
}

function reportUndefined(name: string, flat: FlatNode | undefined, issues: IssueCollector): void {
  const where = flat === undefined ? 'The graph lists the output' : `${describe(flat)} reads`;
  issues.add(`undefined ${name}`, () => ({
    code: 'graph/undefined-value',
    severity: 'error',
    message: `${where} \`${name}\`, which nothing defines; add it as an input, an initializer or an output of a node`,
    ...sourceOf(flat),
    value: name,
  }));
}

function inferOperator(
  flat: FlatNode,
  index: number,
  inputs: readonly (Draft | undefined)[],
  resolve: (name: string) => Draft | undefined,
  surroundings: InferenceSurroundings,
): { readonly operator: Operator; readonly outputs: InferredOutputs } {
  const { node } = flat;
  const opset = opsetOf(flat.operatorSets ?? surroundings.operatorSets, node.domain);
  const key = surroundings.kinds.keyOf({
    domain: node.domain,
    type: node.type,
    opset,
    attributes: node.attributes,
    inputs,
    outputs: node.outputs,
  });
  const known = key === undefined ? undefined : surroundings.kinds.find(key);
  if (known !== undefined) {
    return { operator: operatorOf(flat, index, opset, known), outputs: known.outputs };
  }
  const attributes = attributesWithoutGraphs(node, surroundings);
  const operator = operatorOf(flat, index, opset, { attributes });
  const definition = findOperator(operator.domain, operator.type, opset);
  if (definition === undefined) {
    if (operator.domain === unloweredDomain || operator.domain === caffeDomain) {
      const said = node.attributes.get('reason');
      const reason =
        said?.kind === 'string'
          ? said.value
          : (inputs.flatMap((input) => (input?.type.kind === 'unknown' ? [input.type.reason] : []))[0] ??
            `\`${operator.type}\` is not understood here, see the messages about it`);
      const type: ValueType = { kind: 'unknown', reason };
      return {
        operator: { ...operator, contradiction: reason },
        outputs: { types: node.outputs.map(() => type), contents: [] },
      };
    }
    const reason = whyUndefined(operator.domain, operator.type);
    surroundings.issues.add(`unknown operator ${reason}`, () => ({
      code: 'graph/unknown-operator',
      severity: isNotOfOnnx(operator.domain, opset) ? 'error' : 'warning',
      message: `${capitalized(reason)}, first at \`${operator.name}\`; what it costs is left out of the totals${proposal(operator.domain)}`,
      operator: flat.source,
    }));
    const type: ValueType = { kind: 'unknown', reason };
    return { operator, outputs: { types: node.outputs.map(() => type), contents: [] } };
  }
  const inferSubgraph: InferenceContext['inferSubgraph'] = (attributeName, types, contents) => {
    const attribute = node.attributes.get(attributeName);
    if (attribute?.kind !== 'graph' || surroundings.depth >= deepestNesting) return [];
    if (surroundings.subgraphs.left <= 0) return [];
    surroundings.subgraphs.left -= 1;
    const inner = inferGraph(
      attribute.value,
      attribute.value.nodes.map((child) => ({
        node: child,
        source: flat.source,
        scope: rootScope,
        ...(flat.operatorSets === undefined ? {} : { operatorSets: flat.operatorSets }),
      })),
      {
        ...surroundings,
        outer: resolve,
        inputTypes: types,
        inputContents: contents ?? [],
        depth: surroundings.depth + 1,
      },
    ).graph;
    attributes.set(attributeName, { kind: 'graph', value: inner });
    return inner.outputs.map(
      (name) => (inner.values.get(name) ?? resolve(name))?.type ?? { kind: 'unknown', reason: 'not defined' },
    );
  };
  const subgraphContents: InferenceContext['subgraphContents'] = (attributeName) => {
    const attribute = attributes.get(attributeName);
    if (attribute?.kind !== 'graph') return [];
    const { outputs, values } = attribute.value;
    return outputs.map((name) => (values.get(name) ?? resolve(name))?.content);
  };
  const inference = withPossibleSizes(
    definition.infer(
      makeInferenceContext({
        opset,
        inputs: inputs.map((value) => value?.type),
        contents: inputs.map((value) => value?.content),
        outputCount: node.outputs.length,
        attributes,
        inferSubgraph,
        subgraphContents,
      }),
    ),
  );
  const outputs: InferredOutputs = { types: inference.outputs, contents: inference.contents ?? [] };
  const { problem } = inference;
  if (problem !== undefined) {
    surroundings.issues.add(`problem ${flat.source} ${operator.name} ${problem.message}`, () => ({
      code: problem.code,
      severity: 'error',
      message: `${describe(flat)}: ${problem.message}`,
      operator: flat.source,
    }));
    return { operator: { ...operator, contradiction: problem.message }, outputs };
  }
  const missing = findMissingContents(operator, inputs, outputs.types);
  if (missing !== undefined) {
    surroundings.issues.add(`contents ${missing}`, () => ({
      code: 'graph/missing-contents',
      severity: 'error',
      message: `${describe(flat)} takes a size from \`${missing}\`, which the file stores without its data; save the model with its small tensors`,
      operator: flat.source,
      value: missing,
    }));
  }
  if (key === undefined) return { operator, outputs };
  const kind = surroundings.kinds.add(key, attributes, outputs);
  return { operator: { ...operator, kind: kind.number }, outputs: kind.outputs };
}

function operatorOf(
  flat: FlatNode,
  index: number,
  opset: number,
  { attributes, number }: { readonly attributes: Operator['attributes']; readonly number?: number },
): Operator {
  const { source, node } = flat;
  const { type, inputs, outputs } = node;
  const name = nameOfNode(flat);
  const domain = node.domain === 'ai.onnx' ? '' : node.domain;
  const scope = flat.scope.paths;
  if (flat.operatorSets !== undefined) {
    const own = { index, source, name, type, domain, inputs, outputs, attributes, scope, opset };
    return number === undefined ? own : { ...own, kind: number };
  }
  return number === undefined
    ? { index, source, name, type, domain, inputs, outputs, attributes, scope }
    : { index, source, name, type, domain, inputs, outputs, attributes, scope, kind: number };
}

const capitalized = (sentence: string): string => sentence.slice(0, 1).toUpperCase() + sentence.slice(1);

/** Attributes of a node; each subgraph is empty until the operator's rule asks for it to be inferred. */
function attributesWithoutGraphs(
  node: OnnxNode,
  surroundings: InferenceSurroundings,
): Map<string, GraphAttribute> {
  const attributes = new Map<string, GraphAttribute>();
  for (const [name, attribute] of node.attributes) {
    attributes.set(name, attributeWithoutGraphs(attribute, surroundings.operatorSets));
  }
  return attributes;
}

function attributeWithoutGraphs(
  attribute: Attribute<OnnxGraph>,
  operatorSets: ReadonlyMap<string, number>,
): GraphAttribute {
  const empty = (graph: OnnxGraph): Graph => ({
    name: graph.name,
    inputs: graph.inputs.map(({ name }) => name),
    outputs: graph.outputs.map(({ name }) => name),
    operators: [],
    values: new Map(),
    operatorSets,
    unread: true,
  });
  if (attribute.kind === 'graph') return { kind: 'graph', value: empty(attribute.value) };
  if (attribute.kind === 'graphs') return { kind: 'graphs', value: attribute.value.map(empty) };
  return attribute;
}

/** Names that the subgraphs of a node read and do not define, each once. */
function capturedNames(node: OnnxNode): readonly string[] {
  if (!holdsGraph(node.attributes)) return [];
  let names: Set<string> | undefined;
  for (const attribute of node.attributes.values()) {
    const graphs =
      attribute.kind === 'graph' ? [attribute.value] : attribute.kind === 'graphs' ? attribute.value : [];
    for (const graph of graphs) {
      names ??= new Set();
      const own = new Set([
        ...graph.inputs.map(({ name }) => name),
        ...graph.initializers.map(({ name }) => name),
        ...graph.nodes.flatMap(({ outputs }) => outputs),
      ]);
      const read = graph.nodes.flatMap((child) => [...child.inputs, ...capturedNames(child)]);
      for (const name of [...read, ...graph.outputs.map((output) => output.name)]) {
        if (name !== '' && !own.has(name)) names.add(name);
      }
    }
  }
  return names === undefined ? [] : [...names];
}

/** The version of a domain's operator set; the default domain's where the file names none. */
export function opsetOf(operatorSets: ReadonlyMap<string, number>, domain: string): number {
  return operatorSets.get(domain === 'ai.onnx' ? '' : domain) ?? operatorSets.get('ai.onnx') ?? 1;
}

function notInferred(flat: FlatNode): ValueType {
  return { kind: 'unknown', reason: `the shape after ${describe(flat)} cannot be inferred` };
}

/** The name of a node, or what stands for one. */
export const nameOfNode = (flat: FlatNode | undefined): string =>
  flat === undefined ? '' : flat.node.name || flat.node.outputs.find((name) => name !== '') || flat.node.type;

const describe = (flat: FlatNode | undefined): string =>
  `${flat?.node.type ?? 'Operator'} \`${nameOfNode(flat)}\``;

const sourceOf = (flat: FlatNode | undefined): { readonly operator?: number } =>
  flat === undefined ? {} : { operator: flat.source };

/** A custom operator may be described; one of ONNX or ONNX Runtime is theirs to define. */
const proposal = (domain: string): string =>
  domain === '' || domain.startsWith('ai.onnx') || domain.startsWith('com.microsoft')
    ? ''
    : `; describe it in \`${customOperatorsFile}\` beside the model`;
