/** One operator of a graph: what its definition infers of its outputs, and why where that is nothing. */

import type { OnnxGraph, OnnxNode } from '../formats/onnx/syntax.ts';
import { caffeDomain, unloweredDomain } from '../lowering/providedStructure.ts';
import type { Attribute } from '../model/attribute.ts';
import { customOperatorsFile } from '../model/declaredOperator.ts';
import type { Graph, GraphAttribute, Operator, TensorContent, Value, ValueType } from '../model/graph.ts';
import { makeInferenceContext } from '../operators/context.ts';
import type { InferenceContext } from '../operators/definition.ts';
import { findOperator } from '../operators/registry.ts';
import { withPossibleSizes } from '../operators/sizeLimits.ts';
import { isNotOfOnnx, whyUndefined } from '../operators/unknownOperators.ts';
import type { FlatNode } from './expandFunctions.ts';
import type { IssueCollector } from './issueCollector.ts';
import { findMissingContents } from './missingContents.ts';
import { describeNode, nameOfNode } from './nodeNames.ts';
import type { InferredOutputs, OperatorKinds } from './operatorKinds.ts';
import { opsetOf } from './opsetOf.ts';

/** A node whose inputs are inferred. */
export interface InferredNode {
  readonly flat: FlatNode;
  /** Its place among the operators of the graph. */
  readonly index: number;
  /** `undefined` where an optional input is absent. */
  readonly inputs: readonly (Value | undefined)[];
  /** A value of the graph that it stands in, or of one around it. */
  readonly resolve: (name: string) => Value | undefined;
}

export interface OperatorSurroundings {
  readonly operatorSets: ReadonlyMap<string, number>;
  readonly issues: IssueCollector;
  /** Kinds of operators met so far. */
  readonly kinds: OperatorKinds;
  /** Infers a graph that a node holds; `undefined` where no more of them are inferred. */
  readonly inferHeldGraph: (holder: InferredNode, held: HeldGraph) => Graph | undefined;
}

/** A graph in an attribute, with what its operator gives it. */
export interface HeldGraph {
  readonly graph: OnnxGraph;
  readonly inputTypes: readonly ValueType[];
  readonly inputContents: readonly (TensorContent | undefined)[];
}

interface InferredOperator {
  readonly operator: Operator;
  readonly outputs: InferredOutputs;
}

export function inferOperator(subject: InferredNode, surroundings: OperatorSurroundings): InferredOperator {
  const { flat, index, inputs } = subject;
  const { node } = flat;
  const { issues, kinds } = surroundings;
  const opset = opsetOf(flat.operatorSets ?? surroundings.operatorSets, node.domain);
  const { domain, type, outputs: names } = node;
  const key = kinds.keyOf({ domain, type, opset, attributes: node.attributes, inputs, outputs: names });
  const known = key === undefined ? undefined : kinds.find(key);
  if (known !== undefined) {
    return { operator: operatorOf(flat, index, opset, known), outputs: known.outputs };
  }
  const attributes = attributesWithoutGraphs(node, surroundings.operatorSets);
  const operator = operatorOf(flat, index, opset, { attributes });
  const definition = findOperator(operator.domain, operator.type, opset);
  if (definition === undefined) {
    const isLeft = operator.domain === unloweredDomain || operator.domain === caffeDomain;
    return isLeft ? leftByLowering(operator, subject) : withoutDefinition(operator, opset, flat, issues);
  }
  const inference = withPossibleSizes(
    definition.infer(
      makeInferenceContext({
        opset,
        inputs: inputs.map((value) => value?.type),
        contents: inputs.map((value) => value?.content),
        outputCount: names.length,
        attributes,
        ...heldGraphs(subject, attributes, surroundings),
      }),
    ),
  );
  const outputs: InferredOutputs = { types: inference.outputs, contents: inference.contents ?? [] };
  const { problem } = inference;
  if (problem !== undefined) {
    issues.add(`problem ${flat.source} ${operator.name} ${problem.message}`, () => ({
      code: problem.code,
      severity: 'error',
      message: `${describeNode(flat)}: ${problem.message}`,
      operator: flat.source,
    }));
    return { operator: { ...operator, contradiction: problem.message }, outputs };
  }
  reportMissingContents(findMissingContents(operator, inputs, outputs.types), flat, issues);
  if (key === undefined) return { operator, outputs };
  const kind = kinds.add(key, attributes, outputs);
  return { operator: { ...operator, kind: kind.number }, outputs: kind.outputs };
}

/** What a lowering could not express, with the reason that it gives; else that of an input, which it may follow from. */
function leftByLowering(operator: Operator, { flat: { node }, inputs }: InferredNode): InferredOperator {
  const said = node.attributes.get('reason');
  const [ofInput] = inputs.flatMap((input) => (input?.type.kind === 'unknown' ? [input.type.reason] : []));
  const reason =
    said?.kind === 'string'
      ? said.value
      : (ofInput ?? `\`${operator.type}\` is not understood here, see the messages about it`);
  return { operator: { ...operator, contradiction: reason }, outputs: unknownOutputs(node, reason) };
}

function withoutDefinition(
  operator: Operator,
  opset: number,
  { node, source }: FlatNode,
  issues: IssueCollector,
): InferredOperator {
  const reason = whyUndefined(operator.domain, operator.type);
  issues.add(`unknown operator ${reason}`, () => ({
    code: 'graph/unknown-operator',
    severity: isNotOfOnnx(operator.domain, opset) ? 'error' : 'warning',
    message: `${capitalized(reason)}, first at \`${operator.name}\`; what it costs is left out of the totals${proposal(operator.domain)}`,
    operator: source,
  }));
  return { operator, outputs: unknownOutputs(node, reason) };
}

function unknownOutputs({ outputs }: OnnxNode, reason: string): InferredOutputs {
  const type: ValueType = { kind: 'unknown', reason };
  return { types: outputs.map(() => type), contents: [] };
}

/** How a rule has the graphs of its operator inferred; they take the place of empty ones in `attributes`. */
function heldGraphs(
  subject: InferredNode,
  attributes: Map<string, GraphAttribute>,
  { inferHeldGraph }: OperatorSurroundings,
): Pick<InferenceContext, 'inferSubgraph' | 'subgraphContents'> {
  const { flat, resolve } = subject;
  return {
    inferSubgraph: (name, inputTypes, inputContents = []) => {
      const attribute = flat.node.attributes.get(name);
      if (attribute?.kind !== 'graph') return [];
      const inner = inferHeldGraph(subject, { graph: attribute.value, inputTypes, inputContents });
      if (inner === undefined) return [];
      attributes.set(name, { kind: 'graph', value: inner });
      return inner.outputs.map(
        (output) =>
          (inner.values.get(output) ?? resolve(output))?.type ?? { kind: 'unknown', reason: 'not defined' },
      );
    },
    subgraphContents: (name) => {
      const attribute = attributes.get(name);
      if (attribute?.kind !== 'graph') return [];
      const { outputs, values } = attribute.value;
      return outputs.map((output) => (values.get(output) ?? resolve(output))?.content);
    },
  };
}

function reportMissingContents(missing: string | undefined, flat: FlatNode, issues: IssueCollector): void {
  if (missing === undefined) return;
  issues.add(`contents ${missing}`, () => ({
    code: 'graph/missing-contents',
    severity: 'error',
    message: `${describeNode(flat)} takes a size from \`${missing}\`, which the file stores without its data; save the model with its small tensors`,
    operator: flat.source,
    value: missing,
  }));
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
  operatorSets: ReadonlyMap<string, number>,
): Map<string, GraphAttribute> {
  const attributes = new Map<string, GraphAttribute>();
  for (const [name, attribute] of node.attributes) {
    attributes.set(name, attributeWithoutGraphs(attribute, operatorSets));
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

/** A custom operator may be described; one of ONNX or ONNX Runtime is theirs to define. */
const proposal = (domain: string): string =>
  domain === '' || domain.startsWith('ai.onnx') || domain.startsWith('com.microsoft')
    ? ''
    : `; describe it in \`${customOperatorsFile}\` beside the model`;
