/**
 * The loss that a training step has and an exported graph or a layer spec often lacks: cross-entropy behind its logits.
 *
 * Models of language are written to end in logits, and whoever trains them adds the loss. Its log-probabilities are of
 * the size of the logits and in fp32, which decides what fits.
 */

import { type Dimension, equalDimensions } from '../model/dimension.ts';
import { type Graph, isWeight, knownShapeOf, type Layer, type Operator, type Value } from '../model/graph.ts';
import { hasTrait } from '../operators/operatorFacts.ts';
import type { Folded, ModelAnalysis } from './modelAnalysis.ts';
import { type CostingPlan, planWithLoss } from './planCosting.ts';
import type { FoldLayout } from './repetition/foldGraph.ts';

export interface Logits {
  readonly value: string;
  /** The layer that gives them. */
  readonly layer: string;
  /** The axis of the classes. */
  readonly axis: number;
  readonly shape: readonly Dimension[];
}

/**
 * Logits that a model returns beside their loss: it casts them to fp32 for it (transformers 5.18, loss/loss_utils.py, `ForCausalLMLoss`), or takes
 * the loss of them as they are (models/bert/modeling_bert.py, `BertForMaskedLM`).
 */
export type ReturnedLogits = 'cast' | 'uncast';

/** Whether the graph has a loss already. */
export const hasLoss = (analysis: ModelAnalysis): boolean =>
  shortest(analysis).graph.operators.some((operator) => hasTrait(operator, 'loss-of-scores'));

/** What stands behind the blocks of a graph is the same where most of them are left out. */
const shortest = (analysis: ModelAnalysis): ModelAnalysis => analysis.folded?.analysis ?? analysis;

/**
 * The output that is certainly the logits of tokens: a matrix product gives as many classes as a table has rows that the
 * same model looks tokens up in. Classifiers of images end in scores too, of few classes; regression looks alike.
 */
export function tokenLogits(whole: ModelAnalysis): Logits | undefined {
  const analysis = shortest(whole);
  const { graph } = analysis;
  const tables = tablesOf(graph);
  return graph.outputs
    .flatMap((name) => {
      const shape = knownShapeOf(graph, name);
      const classes = shape?.at(-1);
      if (shape === undefined || classes === undefined || shape.length < 2) return [];
      if (!tables.some((rows) => equalDimensions(rows, classes)) || !isProduct(graph, name)) return [];
      return [{ value: name, layer: layerOf(analysis, name), axis: shape.length - 1, shape }];
    })
    .at(-1);
}

/**
 * How many tokens the model reads of each sequence where `logits` are of one of them, as models that generate text compute
 * them where they get no labels; `undefined` where they are of all.
 */
export function tokensOfLastLogits(whole: ModelAnalysis, { shape }: Logits): Dimension | undefined {
  if (shape.length !== 3 || shape[1] !== 1) return undefined;
  const { graph } = shortest(whole);
  const classes = shape[2];
  for (const { type, inputs } of graph.operators) {
    const [table = '', tokens = ''] = inputs;
    const [rows] = knownShapeOf(graph, table) ?? [];
    if (type !== 'Gather' || rows === undefined || classes === undefined) continue;
    const read = equalDimensions(rows, classes) ? knownShapeOf(graph, tokens)?.at(-1) : undefined;
    if (read !== undefined && read !== 1) return read;
  }
  return undefined;
}

/**
 * The output that a person says is logits: the last that has classes, behind the samples in tables, images and volumes,
 * behind the tokens in sequences, as PyTorch's models have them.
 */
export function anyLogits(whole: ModelAnalysis): Logits | undefined {
  const analysis = shortest(whole);
  const { graph } = analysis;
  return graph.outputs
    .flatMap((name) => {
      const shape = knownShapeOf(graph, name);
      if (shape === undefined || shape.length < 2 || graph.values.get(name)?.producer === undefined)
        return [];
      const axis = shape.length === 3 ? 2 : 1;
      return [{ value: name, layer: layerOf(analysis, name), axis, shape }];
    })
    .at(-1);
}

/**
 * The analysis with the cross-entropy of `logits` as its last layer; in the same way where blocks are left out. The whole
 * graph is made only where somebody asks for its operators. `returned`: the step holds the logits until backward has ended.
 */
export function addCrossEntropy(
  analysis: ModelAnalysis,
  logits: Logits,
  returned?: ReturnedLogits,
): ModelAnalysis {
  const { layers, folded } = analysis;
  const index = folded?.layout.count ?? analysis.graph.operators.length;
  const operator = lossOperator(index, logits, returned);
  const graph = graphWithLoss(analysis.graph, operator, logits, returned);
  let costing: CostingPlan | undefined;
  return {
    graph,
    get composites() {
      return analysis.composites;
    },
    layers: [
      ...layers,
      { name: freeLayer(layers), type: 'CrossEntropyLoss', ancestors: [], operators: [index] },
    ],
    parameters: analysis.parameters,
    frozen: analysis.frozen,
    batchSymbol: analysis.batchSymbol,
    fixedBatch: analysis.fixedBatch,
    symbols: analysis.symbols,
    issues: analysis.issues,
    get costing() {
      costing ??= planWithLoss(analysis.costing, operator, logits.value, result);
      return costing;
    },
    ...(folded === undefined ? {} : { folded: withLoss(folded, logits, layers.length, returned) }),
  };
}

/** No value of a file or a spec has such a name. */
const labels = 'loss: labels';
const result = 'loss: result';
const loss = 'loss';

const lossOperator = (index: number, logits: Logits, returned?: ReturnedLogits): Operator => ({
  index,
  // No node of the file.
  source: -1,
  name: loss,
  type: 'SoftmaxCrossEntropyLoss',
  domain: '',
  inputs: [logits.value, labels],
  outputs: [result],
  attributes: new Map(),
  scope: [],
  opset: lossOpset,
  ...(returned === 'cast' ? { widensScores: true as const } : {}),
});

function graphWithLoss(graph: Graph, operator: Operator, logits: Logits, returned?: ReturnedLogits): Graph {
  let operators: readonly Operator[] | undefined;
  let values: ReadonlyMap<string, Value> | undefined;
  return {
    name: graph.name,
    inputs: [...graph.inputs, labels],
    outputs: [...graph.outputs.filter((name) => returned !== undefined || name !== logits.value), result],
    get operators() {
      operators ??= [...graph.operators, operator];
      return operators;
    },
    get values() {
      values ??= valuesWithLoss(graph.values, operator.index, logits);
      return values;
    },
    operatorSets: graph.operatorSets,
  };
}

function valuesWithLoss(
  values: ReadonlyMap<string, Value>,
  index: number,
  { value, shape, axis }: Logits,
): ReadonlyMap<string, Value> {
  const added = new Map(values);
  const scores = values.get(value);
  if (scores !== undefined) added.set(value, { ...scores, consumers: [...scores.consumers, index] });
  const places = shape.filter((_, each) => each !== axis);
  // Labels as the step is given them: one for each place of the logits.
  added.set(labels, {
    name: labels,
    role: 'input',
    type: { kind: 'tensor', elementType: 'int64', shape: places },
    consumers: [index],
  });
  added.set(result, {
    name: result,
    role: 'activation',
    type: { kind: 'tensor', elementType: 'float32', shape: [] },
    producer: index,
    consumers: [],
  });
  return added;
}

/** The operator set of the definition of the loss; a file of an older one trains with it all the same. */
const lossOpset = 13;

function withLoss(folded: Folded, logits: Logits, layer: number, returned?: ReturnedLogits): Folded {
  const analysis = addCrossEntropy(folded.analysis, logits, returned);
  const index = folded.layout.count;
  const layers = new Int32Array(layer + 1);
  layers.set(folded.layers);
  layers[layer] = analysis.layers.length - 1;
  return {
    analysis,
    layout: longer(folded.layout),
    layers,
    nameOf: (operator) => (operator === index ? 'loss' : folded.nameOf(operator)),
    sourceOf: (operator) => (operator === index ? undefined : folded.sourceOf(operator)),
  };
}

/** One operator more behind all that repeats. */
const longer = (layout: FoldLayout): FoldLayout => ({
  ...layout,
  count: layout.count + 1,
  ...(layout.inner === undefined ? {} : { inner: longer(layout.inner) }),
});

function freeLayer(layers: readonly Layer[]): string {
  const names = new Set(layers.map(({ name }) => name));
  let name = 'loss';
  while (names.has(name)) name = `${name}_`;
  return name;
}

/** Rows of the weights that rows are looked up in. */
const tablesOf = (graph: Graph): readonly Dimension[] =>
  graph.operators.flatMap(({ type, inputs: [table = ''] }) => {
    if (type !== 'Gather' || !isWeight(graph.values.get(table)?.role)) return [];
    const shape = knownShapeOf(graph, table);
    return shape?.length === 2 && shape[0] !== undefined ? [shape[0]] : [];
  });

/** Whether a value is the result of a matrix product, behind operators that keep its classes. */
function isProduct(graph: Graph, name: string): boolean {
  let value = graph.values.get(name);
  // A graph that was not sorted may go round; operators come before what reads them.
  for (let before = graph.operators.length; value?.producer !== undefined && value.producer < before; ) {
    const operator: Operator | undefined = graph.operators[value.producer];
    if (operator === undefined) return false;
    if (operator.type === 'MatMul' || operator.type === 'Gemm') return true;
    if (!keepsClasses.has(operator.type)) return false;
    before = value.producer;
    const computed = operator.inputs.filter((input) => graph.values.get(input)?.role === 'activation');
    value = graph.values.get(computed[0] ?? '');
  }
  return false;
}

/** A bias, a cast, another shape, and the bounds and scales that models of language put on logits. */
const keepsClasses: ReadonlySet<string> = new Set([
  'Add',
  'Cast',
  'Clip',
  'Div',
  'Identity',
  'Mul',
  'Reshape',
  'Tanh',
]);

function layerOf({ graph, layers }: ModelAnalysis, value: string): string {
  const producer = graph.values.get(value)?.producer;
  return (
    layers.find(({ operators }) => producer !== undefined && operators.includes(producer))?.name ?? value
  );
}
