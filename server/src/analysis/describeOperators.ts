/** Gives nodes of custom operators the rules that a person describes in a file beside the model. */

import type { OnnxGraph, OnnxModel, OnnxNode } from '../formats/onnx/syntax.ts';
import type { Attribute } from '../model/attribute.ts';
import { type DeclaredOperators, operatorKey } from '../model/declaredOperator.ts';
import { attributesOfDescription, declaredDomain } from '../operators/declared/declaredOperator.ts';
import { definitionOf } from '../operators/registry.ts';
import type { OpenedModel } from './openedModel.ts';

/** Whether a file beside the model could say what an operator is: whoever opens the model then looks for it. */
export const hasUnknownOperators = ({ issues }: OpenedModel): boolean =>
  issues.some(({ code }) => code === 'graph/unknown-operator');

/** The model with its described operators, in subgraphs and functions too; the same where there are none. */
export function describeOperators(model: OnnxModel, operators: DeclaredOperators): OnnxModel {
  if (operators.size === 0) return model;
  const nodeOf = (node: OnnxNode): OnnxNode => describeNode(node, operators);
  return {
    ...model,
    graph: describeGraph(model.graph, nodeOf),
    functions: model.functions.map((each) => ({ ...each, nodes: each.nodes.map(nodeOf) })),
  };
}

const describeGraph = (graph: OnnxGraph, nodeOf: (node: OnnxNode) => OnnxNode): OnnxGraph => ({
  ...graph,
  nodes: graph.nodes.map((node) => nodeOf(withSubgraphs(node, nodeOf))),
});

function withSubgraphs(node: OnnxNode, nodeOf: (node: OnnxNode) => OnnxNode): OnnxNode {
  const hasGraphs = [...node.attributes.values()].some(({ kind }) => kind === 'graph' || kind === 'graphs');
  if (!hasGraphs) return node;
  const attributes = [...node.attributes].map(([name, attribute]): [string, Attribute<OnnxGraph>] => {
    if (attribute.kind === 'graph')
      return [name, { ...attribute, value: describeGraph(attribute.value, nodeOf) }];
    if (attribute.kind !== 'graphs') return [name, attribute];
    return [name, { ...attribute, value: attribute.value.map((graph) => describeGraph(graph, nodeOf)) }];
  });
  return { ...node, attributes: new Map(attributes) };
}

function describeNode(node: OnnxNode, operators: DeclaredOperators): OnnxNode {
  const declared = operators.get(operatorKey(node));
  if (declared === undefined || definitionOf(node) !== undefined) return node;
  if (declared.kind === 'alias') return { ...node, ...declared.like };
  const attributes = new Map([...node.attributes, ...attributesOfDescription(declared)]);
  return { ...node, domain: declaredDomain, attributes };
}
