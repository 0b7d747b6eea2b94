/**
 * The page that lists every operator Layercost knows: versions, how each is costed, what it computes.
 *
 * How it is costed is asked of the definition itself: it is applied to small inputs of the usual kinds, and the kind
 * of work it answers with is what the page shows.
 */

import type { ElementType } from '../server/src/model/elementType.ts';
import { isKnownShape, type ValueType } from '../server/src/model/graph.ts';
import {
  type AttributeShorthand,
  attributesOf,
  boundTensor,
  makeCostContext,
  makeInferenceContext,
} from '../server/src/operators/context.ts';
import {
  type KnownCost,
  noWork,
  type OperatorDefinition,
  type OperatorFacts,
  type OperatorInput,
  type PyTorchFacts,
} from '../server/src/operators/definition.ts';
import { knownOperators } from '../server/src/operators/registry.ts';

/** The text of docs/operators.md. */
export function operatorsPage(): string {
  const domains = [...new Set(knownOperators().map(({ domain }) => domain))];
  const total = new Set(knownOperators().map(({ domain, type }) => `${domain}:${type}`)).size;
  return [
    '# Operators',
    '',
    `The ${total} operators Layercost knows. Generated from the definitions in \`server/src/operators/\`.`,
    '',
    'One definition holds for all versions of its row: they differ in element types, in defaults that the definition',
    'reads by version, or in whether a list is an attribute or an input. Newer versions than a row names are taken',
    'for the newest. Functions of a model are expanded, so they need no entry. An operator that is not here makes',
    'totals "at least", and is listed with them.',
    '',
    '| costed as | meaning |',
    '| --- | --- |',
    ...Object.entries(meanings).map(([name, meaning]) => `| ${name} | ${meaning} |`),
    '',
    'Of the inputs, a **weight** is trained, an **operand** is a weight where it is stored, a **statistic** is stored and not',
    'trained, the numbers of a **host** input are read before anything is launched, of a **shape** only the sizes, and all',
    'others are data. No gradient flows through those marked °; … may be given any number of times. The layer is what',
    'PyTorch calls it, with trained weights after the stroke, {n} the number of spatial axes; autocast is what it runs in',
    'under `torch.autocast`; kernels is how eager PyTorch departs from one that reads any strides and one for each gradient; measured is the rule',
    'of `layercost benchmark`, or why there is none.',
    '',
    ...domains.flatMap(sectionOf),
  ].join('\n');
}

const meanings: Readonly<Record<string, string>> = {
  matmul: '2 FLOPs per multiply-add of the product; each gradient is a product of the same size',
  convolution: '2 FLOPs per multiply-add; each gradient costs the same again',
  'depthwise-convolution': 'as a convolution, one input channel per output channel',
  attention: 'the products of queries, keys and values; backward computes the scores again',
  recurrent: 'the products of every step and gate',
  normalization: 'operations per element and the passes over memory',
  reduction: 'operations per element, every tensor read once and written once',
  elementwise: 'operations per element, every tensor read once and written once',
  movement: 'bytes read and written',
  embedding: 'rows looked up; the gradient is the size of the table',
  pooling: 'operations per window, every tensor read once and written once',
  view: 'nothing: another description of the same memory',
  shape: 'nothing on the GPU: it runs on the host, or was folded at export',
  subgraph: 'its subgraphs: the costlier branch, or the body times its trip count',
  unknown: 'not costed, because its work depends on data; totals are "at least"',
};

function sectionOf(domain: string): readonly string[] {
  const rows = knownOperators().filter((definition) => definition.domain === domain);
  return [
    `## ${domain === '' ? 'ai.onnx, the default domain' : domain}`,
    '',
    ...table(['operator', 'versions', 'costed as', 'computes'], (row) => [
      versionsOf(row, rows),
      costedAs(row),
      row.documentation,
    ]),
    ...table(['operator', 'inputs', 'traits', 'layer', 'autocast', 'kernels', 'measured'], factCells),
  ];

  function table(
    head: readonly string[],
    cells: (row: OperatorDefinition) => readonly string[],
  ): readonly string[] {
    const line = (texts: readonly string[]): string =>
      `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
    return [
      line(head),
      line(head.map(() => '---')),
      ...rows.map((row) => line([row.type, ...cells(row)])),
      '',
    ];
  }
}

/** All that a definition says beside its rules: who takes a fact away changes the page. */
export const factCells = ({ inputs, traits = [], pytorch, runner }: OperatorFacts): readonly string[] => [
  inputs.map(inputText).join(', '),
  traits.join(', '),
  layersText(pytorch),
  pytorch.autocast,
  launchedText(pytorch),
  'rule' in runner ? runner.rule : runner.reason,
];

const layersText = ({ layer, weightedLayer }: PyTorchFacts): string =>
  weightedLayer === undefined ? layer : `${layer} / ${weightedLayer}`;

function launchedText({
  view,
  operands,
  backwardKernels = [],
  columnsPerBlock,
  channelReads,
  instructions,
  blockPerRow,
}: PyTorchFacts): string {
  const kernels = backwardKernels.map((kernel) => {
    const share = `${Math.round(100 * kernel.share)} % of the traffic`;
    return kernel.elementwise === true ? `${share} element by element` : share;
  });
  const blocks = columnsPerBlock === undefined ? [] : [`sums of ${columnsPerBlock} columns per block`];
  const reads =
    channelReads &&
    `a block per channel reads ${channelReads.backward} times, forward ${channelReads.forward}`;
  const lies = [...(view ? [`view: ${view}`] : []), ...(operands ? [`operands: ${operands}`] : [])];
  const rows = blockPerRow === true ? ['a block per row'] : [];
  const bound = instructions === undefined ? [] : [`bound by instructions: ${instructions}`];
  return [...lies, ...kernels, ...blocks, ...(reads ? [reads] : []), ...rows, ...bound].join('; ');
}

const inputText = ({ name, role, gradient, variadic }: OperatorInput): string =>
  [role === 'data' ? '' : `${role} `, name, gradient ? '' : '°', variadic === true ? '…' : ''].join('');

/** From the first version a definition holds for to the newest it was read against, which its source names. */
function versionsOf(row: OperatorDefinition, all: readonly OperatorDefinition[]): string {
  const next = all.find(({ type, since }) => type === row.type && since > row.since);
  const newest = next === undefined ? Number(/-(\d+)\)$/.exec(row.documentation)?.[1]) : next.since - 1;
  return newest > row.since ? `${row.since} to ${newest}` : `${row.since}`;
}

export interface Probe {
  readonly inputs: readonly ValueType[];
  /** Integers that are known before the model runs, by input. */
  readonly contents?: Readonly<Record<number, readonly number[]>>;
  readonly attributes?: Readonly<Record<string, AttributeShorthand>>;
}

const tensor = (elementType: ElementType, ...shape: readonly number[]): ValueType => ({
  kind: 'tensor',
  elementType,
  shape,
});
const floats = (...shape: readonly number[]): ValueType => tensor('float32', ...shape);
const integers = (...shape: readonly number[]): ValueType => tensor('int64', ...shape);
const bytes = (...shape: readonly number[]): ValueType => tensor('uint8', ...shape);
const many = <Item>(count: number, item: Item): readonly Item[] => Array.from({ length: count }, () => item);
const scale = floats();
const window = { kernel_shape: [3, 3], strides: [2, 2] };
const heads = { num_heads: 4, kv_num_heads: 4, q_num_heads: 4 };

/** Inputs of the usual kinds, the more particular first: the first that a definition accepts is taken. */
export const probes: readonly Probe[] = [
  // Attention: packed projections, then separate heads, then queries, keys and values side by side.
  { inputs: [floats(2, 16, 32), floats(32, 96), floats(96)], attributes: { num_heads: 4, K: 32, N: 96 } },
  { inputs: many(3, floats(2, 4, 16, 8)), attributes: { ...window, blocksize: 2 } },
  { inputs: many(3, floats(2, 16, 32)), attributes: { ...heads, update_rule: 'linear' } },
  // Recurrent cells: steps, weights, recurrent weights.
  ...[1, 3, 4].map((gates) => ({
    inputs: [floats(5, 2, 8), floats(1, gates * 16, 8), floats(1, gates * 16, 16)],
    attributes: { hidden_size: 16 },
  })),
  // Images and their windows.
  { inputs: [floats(2, 8, 16, 16), floats(8, 8, 3, 3), floats(8)], attributes: window },
  {
    inputs: [bytes(2, 8, 16, 16), scale, bytes(), bytes(8, 8, 3, 3), scale, bytes(), scale, bytes()],
    attributes: window,
  },
  {
    inputs: [floats(2, 8, 16, 16), ...many(4, floats(8))],
    attributes: { ...window, num_groups: 4, groups: 4 },
  },
  { inputs: [floats(2, 8, 16, 16), integers(2, 8, 16, 16)], attributes: window },
  { inputs: [floats(2, 8, 16, 16), floats(2, 8, 8, 2)] },
  { inputs: [floats(2, 8, 16), floats(8, 1, 3)] },
  { inputs: [floats(2, 8, 16, 16), floats(5, 4), integers(5)], attributes: { pooled_shape: [2, 2] } },
  // Matrices, quantized and not.
  { inputs: [bytes(8, 8), scale, bytes(), bytes(8, 8), scale, bytes(), scale, bytes()] },
  { inputs: [bytes(8, 8), bytes(8, 8), scale] },
  { inputs: many(2, floats(8, 8)), attributes: { K: 8, N: 8, equation: 'ij,jk->ik' } },
  // Tokens: embeddings, experts.
  {
    inputs: [
      integers(2, 4),
      integers(2, 4),
      floats(10, 8),
      floats(10, 8),
      floats(10, 8),
      floats(8),
      floats(8),
    ],
  },
  {
    inputs: [floats(6, 8), floats(6, 4), floats(4, 16, 8), floats(4, 16), floats(4, 8, 16), floats(4, 8, 16)],
    attributes: { k: 2, inputdimensions: [8, 4, 2, 2, 2, 2] },
  },
  // Classical models and tables.
  {
    inputs: [floats(6, 8)],
    attributes: { n_targets: 2, targets: 2, n_supports: 3, cats_int64s: [1, 2], classlabels_int64s: [0, 1] },
  },
  { inputs: [integers(6, 8)], attributes: { keys_int64s: [1, 2], values_int64s: [3, 4] } },
  { inputs: [integers(6, 8)], attributes: { cats_int64s: [1, 2], cats_strings: ['a', 'b'] } },
  { inputs: [floats(4, 8), integers(4)] },
  { inputs: [floats(4, 8), integers(2, 1), floats(2, 8)] },
  { inputs: [integers(4), integers(), floats(2)] },
  { inputs: [tensor('bool', 4), floats(4), floats(4)] },
  ...[1, 2, 3].map((count) => ({ inputs: many(count, integers(4, 8)) })),
  ...[1, 2].map((count) => ({ inputs: many(count, tensor('bool', 4, 8)) })),
  { inputs: many(5, floats(4)) },
  { inputs: [scale, scale, floats(8), floats(8), floats(8)] },
  { inputs: [tensor('string', 4), tensor('string', 4)] },
  // Sizes and counts that are inputs.
  { inputs: [floats(2, 2, 3), integers(4)], contents: { 1: [2, 3, 4, 4] } },
  { inputs: [floats(2, 18, 16), integers(2), integers(2)], contents: { 1: [6, 6], 2: [3, 3] } },
  { inputs: [integers(), tensor('bool'), floats(4, 8)], contents: { 0: [4] } },
  { inputs: [floats(4)], attributes: { int64_vocabulary: [1, 2] } },
  { inputs: [], attributes: { shape: [2, 3] } },
];

/** The kinds of work it answers with, those that do something before those that do not. */
function costedAs(definition: OperatorDefinition): string {
  const answers = new Set(probes.flatMap((probe) => answerTo(definition, probe) ?? []));
  const kinds = Object.keys(meanings).filter((kind) => answers.has(kind));
  return kinds.length === 0 ? 'unknown' : kinds.join(', ');
}

/** The kind of work for these inputs; `undefined` where the definition does not accept them. */
function answerTo(definition: OperatorDefinition, probe: Probe): string | undefined {
  const opset = definition.since;
  const attributes = attributesOf(probe.attributes ?? {});
  let usesSubgraph = false;
  const inference = definition.infer(
    makeInferenceContext({
      opset,
      inputs: probe.inputs,
      contents: probe.inputs.map((type, index) => {
        const elements = probe.contents?.[index];
        return elements && { shape: shapeOf(type), elements };
      }),
      attributes,
      inferSubgraph: () => [floats(4, 8)],
    }),
  );
  if (inference.problem !== undefined) return undefined;
  const bound = (type: ValueType) =>
    type.kind === 'tensor' && isKnownShape(type.shape)
      ? boundTensor(type.elementType, shapeOf(type))
      : undefined;
  const body: KnownCost = {
    kind: 'known',
    class: 'elementwise',
    forward: noWork,
    backwardData: noWork,
    backwardWeight: noWork,
    saved: [],
  };
  const cost = definition.cost(
    makeCostContext({
      opset,
      inputs: probe.inputs.map(bound),
      outputs: inference.outputs.map(bound),
      contents: probe.inputs.map((_, index) => probe.contents?.[index]),
      gradients: probe.inputs.map(() => 'data'),
      attributes,
      subgraphCost: () => {
        usesSubgraph = true;
        return body;
      },
    }),
  );
  if (usesSubgraph) return 'subgraph';
  return cost.kind === 'known' ? cost.class : undefined;
}

/** Sizes of a tensor; those that are open, because they depend on data, are small. */
const shapeOf = (type: ValueType): readonly number[] =>
  type.kind === 'tensor' && isKnownShape(type.shape)
    ? type.shape.map((size) => (typeof size === 'number' && size >= 0 ? size : 4))
    : [];
