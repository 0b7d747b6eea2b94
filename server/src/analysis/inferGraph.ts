/**
 * A graph with shapes: nodes in topological order, every value with the type that inference gives it.
 *
 * One pass: an operator is inferred when all its inputs are. Contents of small tensors travel along, so that
 * shapes computed in the graph are known. Roles are given later; values carry those that the file makes plain.
 */

import type { OnnxGraph, OnnxValueInfo } from '../formats/onnx/syntax.ts';
import type { TensorLiteral } from '../model/attribute.ts';
import { countElements } from '../model/countElements.ts';
import type { Graph, Operator, TensorContent, Value, ValueType } from '../model/graph.ts';
import { hasTrait } from '../operators/operatorFacts.ts';
import { reconcileTypes } from './declaredTypes.ts';
import type { FlatNode } from './expandFunctions.ts';
import {
  type HeldGraph,
  type InferredNode,
  inferOperator,
  type OperatorSurroundings,
} from './inferOperator.ts';
import type { IssueCollector } from './issueCollector.ts';
import { type ModuleScope, rootScope } from './moduleScope.ts';
import { describeNode, sourceOfNode } from './nodeNames.ts';
import { wireNodes } from './nodeWiring.ts';
import type { OperatorKinds } from './operatorKinds.ts';
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
  const { producers, captures, order, onCycle } = wireNodes(source, nodes, surroundings.issues);
  defineInputs(source, drafts, surroundings);
  defineInitializers(source, drafts, surroundings.kinds);
  const declared = new Map<string, OnnxValueInfo>();
  for (const info of [...source.valueInfos, ...source.outputs]) declared.set(info.name, info);

  const { issues, kinds, operatorSets } = surroundings;
  const operatorSurroundings: OperatorSurroundings = {
    operatorSets,
    issues,
    kinds,
    inferHeldGraph: (holder, held) => inferHeldGraph(holder, held, surroundings),
  };
  const operators: Operator[] = [];
  const scopes: ModuleScope[] = [];
  const captured = new Map<number, readonly string[]>();
  for (const number of order) {
    const flat = nodes[number];
    if (flat === undefined) continue;
    const index = operators.length;
    const outside = captures[number] ?? [];
    if (outside.length > 0) captured.set(index, outside);
    const pending = onCycle.has(number) ? producers : undefined;
    const resolve = (name: string): Draft | undefined =>
      resolveValue(name, drafts, surroundings, pending, flat);
    const inputs = flat.node.inputs.map((name) => (name === '' ? undefined : resolve(name)));
    for (const value of inputs) noteConsumer(value, index);
    for (const name of outside) noteConsumer(resolve(name), index);
    const { operator, outputs } = inferOperator({ flat, index, inputs, resolve }, operatorSurroundings);
    scopes.push(flat.scope);
    let ofItsKind = !onCycle.has(number);
    for (const [output, name] of operator.outputs.entries()) {
      if (name === '') continue;
      if (producers.get(name) !== number) {
        ofItsKind = false;
        continue;
      }
      const inferred = outputs.types[output] ?? notInferred(flat);
      const expected = expectedHits(operator, inputs, inferred);
      const type = typeAsDeclared(expected, declared.get(name), flat, issues);
      if (type !== inferred) ofItsKind = false;
      const draft = draftOf(name, type, outputs.contents[output], literalOfConstant(operator), index);
      const routing = routingOf(operator, inputs, outputs.types, output);
      drafts.set(name, routing === undefined ? draft : { ...draft, routing });
    }
    operators.push(ofItsKind ? operator : withoutKind(operator));
  }
  const graphOutputs = source.outputs.map(({ name }) => name);
  for (const name of graphOutputs) {
    if (drafts.has(name) || surroundings.outer(name) !== undefined) continue;
    reportUndefined(name, undefined, issues);
  }
  return {
    graph: {
      name: source.name,
      inputs: source.inputs.map(({ name }) => name).filter((name) => drafts.get(name)?.role === 'input'),
      outputs: graphOutputs,
      operators,
      values: drafts,
      operatorSets,
    },
    scopes,
    captured,
  };
}

/** Infers a graph that a node holds, as often as its operator asks for it. */
function inferHeldGraph(
  { flat, resolve }: InferredNode,
  { graph, inputTypes, inputContents }: HeldGraph,
  surroundings: InferenceSurroundings,
): Graph | undefined {
  const { depth, subgraphs } = surroundings;
  if (depth >= deepestNesting || subgraphs.left <= 0) return undefined;
  subgraphs.left -= 1;
  const { source, operatorSets } = flat;
  const own = operatorSets === undefined ? {} : { operatorSets };
  const nodes = graph.nodes.map((node) => ({ node, source, scope: rootScope, ...own }));
  return inferGraph(graph, nodes, {
    ...surroundings,
    outer: resolve,
    inputTypes,
    inputContents,
    depth: depth + 1,
  }).graph;
}

/** The type that a rule infers, with what the file says of it. */
const typeAsDeclared = (
  inferred: ValueType,
  declared: OnnxValueInfo | undefined,
  { source }: FlatNode,
  issues: IssueCollector,
): ValueType =>
  declared === undefined
    ? inferred
    : reconcileTypes(declared.name, inferred, typeOfOnnx(declared.type), issues, source);

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
  if (elements === undefined || elements.length !== countElements(dimensions)) return {};
  return { content: { shape: dimensions, elements } };
}

/** A `Constant` holds a tensor just as an initializer does. */
function literalOfConstant(operator: Operator): TensorLiteral | undefined {
  if (!hasTrait(operator, 'constant')) return undefined;
  const attribute = operator.attributes.get('value');
  return attribute?.kind === 'tensor' ? attribute.value : undefined;
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
  const where = flat === undefined ? 'The graph lists the output' : `${describeNode(flat)} reads`;
  issues.add(`undefined ${name}`, () => ({
    code: 'graph/undefined-value',
    severity: 'error',
    message: `${where} \`${name}\`, which nothing defines; add it as an input, an initializer or an output of a node`,
    ...sourceOfNode(flat),
    value: name,
  }));
}

function notInferred(flat: FlatNode): ValueType {
  return { kind: 'unknown', reason: `the shape after ${describeNode(flat)} cannot be inferred` };
}
