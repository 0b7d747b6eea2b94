/**
 * The analysis of a whole graph from that of the folded one: what stands for several blocks is written once for each.
 *
 * Operators and values are made when somebody asks for them; costing works on the folded graph.
 */

import { type Composites, findComposites } from '../../composites/findComposites.ts';
import { compositePatterns } from '../../composites/patterns.ts';
import type { OnnxGraph } from '../../formats/onnx/syntax.ts';
import { intAt } from '../../model/at.ts';
import type { Graph, Operator, Value } from '../../model/graph.ts';
import type { Folded, ModelAnalysis, Parameter } from '../modelAnalysis.ts';
import { nameOfNode } from '../nodeNames.ts';
import { originOf } from '../originOf.ts';
import { planCosting } from '../planCosting.ts';
import {
  type FoldedAnalysis,
  type Representative,
  readersOfOutput,
  representativesIn,
  unfoldReaders,
} from './foldedAnalysis.ts';
import { foldedIndex } from './foldGraph.ts';
import { hasSettled } from './hasSettled.ts';
import { unfoldLayers } from './unfoldLayers.ts';

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
  const names = givenNames(graph);
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
  for (const name of givenNames(graph)) {
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
      ...(shown ?? { attributes: new Map(), domain: node.domain }),
      index,
      source: flat.source,
      name: nameOfNode(flat),
      type: node.type,
      inputs: node.inputs,
      outputs: node.outputs,
      scope: flat.scope.paths,
    });
  }
  return { operators, values };
}

/** What the graph is given: inputs and stored tensors, each once. */
const givenNames = ({ inputs, initializers, sparseInitializers }: OnnxGraph): ReadonlySet<string> =>
  new Set([inputs, initializers, sparseInitializers].flatMap((list) => list.map(({ name }) => name)));
