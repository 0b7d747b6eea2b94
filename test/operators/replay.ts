/**
 * Runs operator definitions over an ONNX graph in file order: the least that shape inference needs.
 *
 * It knows no layers, roles or gradients; analysis does. It lets the operators be tested on whole models by
 * themselves.
 */

import type { OnnxGraph, OnnxModel, OnnxNode, OnnxType } from '../../server/src/formats/onnx/syntax.ts';
import type { Attribute } from '../../server/src/model/attribute.ts';
import { symbol, unknownDimension } from '../../server/src/model/dimension.ts';
import type { Graph, TensorContent, ValueType } from '../../server/src/model/graph.ts';
import { makeInferenceContext } from '../../server/src/operators/context.ts';
import { findOperator } from '../../server/src/operators/registry.ts';

export interface ReplayedValue {
  readonly type: ValueType;
  readonly content: TensorContent | undefined;
}

export interface Replay {
  readonly values: ReadonlyMap<string, ReplayedValue>;
  readonly problems: readonly string[];
  readonly unknownOperators: readonly string[];
}

const noGraph: Graph = {
  name: '',
  inputs: [],
  outputs: [],
  operators: [],
  values: new Map(),
  operatorSets: new Map(),
};

export function replayModel(model: OnnxModel, useDeclared = false): Replay {
  const problems: string[] = [];
  const unknownOperators: string[] = [];
  const values = new Map<string, ReplayedValue>();
  replayGraph(model, model.graph, values, problems, unknownOperators, useDeclared);
  return { values, problems, unknownOperators };
}

function replayGraph(
  model: OnnxModel,
  graph: OnnxGraph,
  values: Map<string, ReplayedValue>,
  problems: string[],
  unknownOperators: string[],
  useDeclared: boolean,
): void {
  for (const input of graph.inputs) {
    if (!values.has(input.name)) values.set(input.name, { type: typeOf(input.type), content: undefined });
  }
  for (const literal of graph.initializers) {
    const content =
      literal.elements === undefined ? undefined : { shape: literal.dimensions, elements: literal.elements };
    const type: ValueType = { kind: 'tensor', elementType: literal.elementType, shape: literal.dimensions };
    values.set(literal.name, { type, content });
  }
  const declared = new Map(graph.outputs.map((output) => [output.name, output.type]));
  for (const node of graph.nodes) {
    const definition = findOperator(node.domain, node.type, opsetOf(model, node.domain));
    if (definition === undefined) {
      unknownOperators.push(`${node.domain}:${node.type}`);
      for (const output of node.outputs) {
        values.set(output, {
          type: typeOf(useDeclared ? declared.get(output) : undefined),
          content: undefined,
        });
      }
      continue;
    }
    const inference = definition.infer(
      makeInferenceContext({
        opset: opsetOf(model, node.domain),
        inputs: node.inputs.map((name) =>
          name === '' ? undefined : (values.get(name)?.type ?? typeOf(undefined)),
        ),
        contents: node.inputs.map((name) => values.get(name)?.content),
        outputCount: node.outputs.length,
        attributes: withoutGraphs(node),
        inferSubgraph: (name, inputs, contents) => {
          const attribute = node.attributes.get(name);
          if (attribute?.kind !== 'graph') return [];
          const scope = new Map(values);
          for (const [index, input] of attribute.value.inputs.entries()) {
            const type = inputs[index];
            if (type !== undefined) scope.set(input.name, { type, content: contents?.[index] });
          }
          replayGraph(model, attribute.value, scope, problems, unknownOperators, useDeclared);
          return attribute.value.outputs.map((output) => scope.get(output.name)?.type ?? typeOf(output.type));
        },
      }),
    );
    if (inference.problem !== undefined)
      problems.push(`${node.name} (${node.type}): ${inference.problem.message}`);
    for (const [index, output] of node.outputs.entries()) {
      values.set(output, {
        type: inference.outputs[index] ?? { kind: 'unknown', reason: `output ${index} was not inferred` },
        content: inference.contents?.[index],
      });
    }
  }
}

const opsetOf = (model: OnnxModel, domain: string): number =>
  model.operatorSets.find((set) => set.domain === domain || (domain === '' && set.domain === 'ai.onnx'))
    ?.version ?? 1;

/** Subgraphs are reached through `inferSubgraph` only, so their place may stay empty. */
function withoutGraphs(node: OnnxNode): ReadonlyMap<string, Attribute<Graph>> {
  return new Map(
    [...node.attributes].map(([name, attribute]): [string, Attribute<Graph>] => [
      name,
      attribute.kind === 'graph'
        ? { kind: 'graph', value: noGraph }
        : attribute.kind === 'graphs'
          ? { kind: 'graphs', value: [] }
          : attribute,
    ]),
  );
}

export function typeOf(type: OnnxType | undefined): ValueType {
  if (type?.kind === 'tensor') {
    const shape = type.shape?.map((dimension) =>
      dimension === undefined
        ? unknownDimension('the file gives no size')
        : typeof dimension === 'string'
          ? symbol(dimension)
          : dimension,
    );
    return {
      kind: 'tensor',
      elementType: type.elementType,
      shape: shape ?? { kind: 'unknown-shape', reason: 'the file gives no shape' },
    };
  }
  if (type?.kind === 'sequence' || type?.kind === 'optional')
    return { kind: type.kind, element: typeOf(type.element) };
  return { kind: 'unknown', reason: 'the file gives no type' };
}
