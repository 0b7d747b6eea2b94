/**
 * A graph whose channels lie in blocks, as ONNX Runtime arranges them for a processor, with channels second again.
 *
 * onnxruntime/core/optimizer/nchwc_transformer.cc: convolutions and pools become operators of `com.microsoft.nchwc`, with
 * `ReorderInput` and `ReorderOutput` around them. Residuals and activations are fused into the convolution, and a batch
 * normalization alone becomes a convolution of 1 × 1 with a group per channel. Weights are stored anew under `reorder…`, with
 * output channels filled up to whole blocks; so are biases that have to be filled up, others keep their names.
 */

import type { OnnxGraph, OnnxNode } from '../../formats/onnx/syntax.ts';
import type { TensorLiteral } from '../../model/attribute.ts';
import type { Dimension } from '../../model/dimension.ts';
import { contribDomain } from '../../operators/vocabulary/define.ts';
import { integerOf } from './nodeWriter.ts';

export const blockedDomain = 'com.microsoft.nchwc';

export interface Unblocked {
  readonly graph: OnnxGraph;
  /** Convolutions whose channels were filled up to whole blocks, by an unknown number. */
  readonly padded: number;
}

export function withoutBlockedChannels(
  graph: OnnxGraph,
  shapeOf: (name: string) => readonly Dimension[] | undefined,
): Unblocked {
  if (!graph.nodes.some(({ domain }) => domain === blockedDomain)) return { graph, padded: 0 };
  const stored = new Map(graph.initializers.map((tensor) => [tensor.name, tensor]));
  const channels = channelsOf(graph, stored, shapeOf);
  const taken = new Set([...stored.keys(), ...graph.nodes.flatMap(({ outputs }) => outputs)]);
  const added = new Map<string, TensorLiteral>();
  const instead = new Map<string, string>();
  let padded = 0;
  for (const node of graph.nodes) {
    if (node.domain !== blockedDomain) continue;
    const [input = ''] = node.inputs;
    const [output = ''] = node.outputs;
    if (isChannelsLast(node)) continue;
    if (node.type === 'ReorderInput') instead.set(output, input);
    // The value keeps the name that it has outside, which others and the graph's outputs know.
    if (node.type === 'ReorderOutput' && !instead.has(input)) instead.set(input, output);
  }
  const nameOf = (name: string): string => instead.get(name) ?? name;
  /** A stored tensor with fewer elements, under the name of the parameter it is. */
  const restored = (tensor: TensorLiteral, name: string, dimensions: readonly number[]): string => {
    if (name === tensor.name && dimensions.join() === tensor.dimensions.join()) return name;
    const known = added.get(name);
    if (known !== undefined && known.dimensions.join() === dimensions.join()) return name;
    const free = known === undefined && (!stored.has(name) || name === tensor.name) ? name : tensor.name;
    added.set(free, { name: free, elementType: tensor.elementType, dimensions, storedBytes: 0 });
    return free;
  };
  const nodes = graph.nodes.flatMap((node): readonly OnnxNode[] => {
    const outputs = node.outputs.map(nameOf);
    const inputs = node.inputs.map(nameOf);
    if (node.domain !== blockedDomain) return [{ ...node, inputs, outputs }];
    if (isChannelsLast(node) && (node.type === 'ReorderInput' || node.type === 'ReorderOutput')) {
      return [transposed(node, inputs, outputs)];
    }
    if (node.type === 'ReorderInput') return [];
    if (node.type === 'ReorderOutput') {
      const [input = ''] = inputs;
      const [output = ''] = node.outputs;
      return output === input
        ? []
        : [{ ...node, type: 'Identity', domain: '', inputs: [input], attributes: new Map() }];
    }
    if (node.type === 'Upsample') return [{ ...node, inputs, outputs }];
    if (node.type !== 'Conv') return [{ ...node, domain: '', inputs, outputs }];
    const [input = '', weightName = '', biasName = '', sum = ''] = inputs;
    const weight = stored.get(weightName);
    const isFused = sum !== '' || node.attributes.has('activation');
    const kind = { type: isFused ? 'FusedConv' : 'Conv', domain: isFused ? contribDomain : '' };
    if (weight === undefined) return [{ ...node, ...kind, inputs, outputs }];
    const [filters = 0, perGroup = 0, ...kernel] = weight.dimensions;
    const own = channels.get(node.outputs[0] ?? '');
    const count = own ?? filters;
    const bias = stored.get(biasName);
    if (own === undefined && isMadeAnew(biasName)) padded += 1;
    const isDepthwise = perGroup === 1 && integerOf(node.attributes, 'group', 1) === filters;
    const base = node.name.replace(/_nchwc$/, '');
    if (isDepthwise && kernel.every((size) => size === 1) && !node.attributes.has('kernel_shape')) {
      return normalization(node, base, input, outputs, (name) => restored(weight, name, [count]));
    }
    const read = isDepthwise ? 1 : Math.min(perGroup, channels.get(node.inputs[0] ?? '') ?? perGroup);
    const named = weightNamedBeside(biasName);
    const weights = restored(weight, named ?? weightName, [count, read, ...kernel]);
    const biases = bias === undefined ? biasName : restored(bias, biasName, [count]);
    const attributes = new Map(node.attributes);
    if (isDepthwise) attributes.set('group', { kind: 'int', value: count });
    const [output = ''] = outputs;
    // Without anything behind it, the convolution's result has the node's name.
    const isFree = !isFused && !taken.has(base) && output === node.outputs[0];
    if (isFree) {
      taken.add(base);
      instead.set(output, base);
    }
    return [
      {
        ...node,
        name: base.startsWith('/') ? base.replace(/_output_\d+$/, '') : base,
        ...kind,
        inputs: sum === '' ? [input, weights, biases] : [input, weights, biases, sum],
        outputs: isFree ? [base] : outputs,
        attributes,
      },
    ];
  });
  const read = new Set(nodes.flatMap(({ inputs }) => inputs));
  const initializers = [
    ...graph.initializers.filter(({ name }) => read.has(name) && !added.has(name)),
    ...added.values(),
  ];
  return { graph: { ...graph, nodes, initializers }, padded };
}

const isChannelsLast = ({ attributes }: OnnxNode): boolean => integerOf(attributes, 'channels_last', 0) === 1;

/** A transpose between channels last and channels second was fused into the reordering, whose values have four axes. */
const transposed = (node: OnnxNode, inputs: readonly string[], outputs: readonly string[]): OnnxNode => ({
  ...node,
  type: 'Transpose',
  domain: '',
  inputs,
  outputs,
  attributes: new Map([
    ['perm', { kind: 'ints', value: node.type === 'ReorderInput' ? [0, 3, 1, 2] : [0, 2, 3, 1] }],
  ]),
});

/** Names that the transformation gives to what it stores anew. */
const isMadeAnew = (name: string): boolean => /^reorder(_token_\d+)?$/.test(name);

/** The weight that stood beside a bias whose name says so. */
function weightNamedBeside(bias: string): string | undefined {
  const folded = /^(.+\.weight)_bias$/.exec(bias)?.[1];
  if (folded !== undefined) return folded;
  const module = /^(.+)\.bias$/.exec(bias)?.[1];
  if (module !== undefined) return `${module}.weight`;
  const number = /^onnx::Conv_(\d+)$/.exec(bias)?.[1];
  return number === undefined ? undefined : `onnx::Conv_${Number(number) - 1}`;
}

/** A batch normalization that stood alone, with an activation behind it where it has one. */
function normalization(
  node: OnnxNode,
  base: string,
  input: string,
  outputs: readonly string[],
  tensor: (name: string) => string,
): readonly OnnxNode[] {
  const activation = node.attributes.get('activation');
  const type = activation?.kind === 'string' ? activation.value : '';
  const [output = ''] = outputs;
  const result = type === '' ? output : `${output} before ${type}`;
  const module = base.replace(/^\//, '').replace(/\/BatchNormalization_output_\d+$|_bn$/, '');
  const attributes = new Map(
    [...node.attributes].filter(([name]) => name === 'alpha' && type === 'LeakyRelu'),
  );
  return [
    {
      ...node,
      name: base.startsWith('/') ? base.replace(/_output_\d+$/, '') : base,
      type: 'BatchNormalization',
      domain: '',
      inputs: [
        input,
        ...['weight', 'bias', 'running_mean', 'running_var'].map((name) => tensor(`${module}.${name}`)),
      ],
      outputs: [result],
      attributes: new Map(),
    },
    ...(type === ''
      ? []
      : [{ ...node, name: `${base}_${type}`, type, domain: '', inputs: [result], outputs, attributes }]),
  ];
}

/**
 * How many channels a value really has, by its name: what is reordered says it, and a bias that was not filled up; what
 * leaves channels as they are hands them on.
 */
function channelsOf(
  graph: OnnxGraph,
  stored: ReadonlyMap<string, TensorLiteral>,
  shapeOf: (name: string) => readonly Dimension[] | undefined,
): ReadonlyMap<string, number> {
  const channels = new Map<string, number>();
  const know = (name: string, count: number | undefined): boolean => {
    if (name === '' || count === undefined || channels.has(name)) return false;
    channels.set(name, count);
    return true;
  };
  for (let isNew = true; isNew; ) {
    isNew = false;
    for (const node of graph.nodes) {
      const [input = '', weightName = '', biasName = '', sum = ''] = node.inputs;
      const [output = ''] = node.outputs;
      const alike = (...names: readonly string[]): void => {
        const known = names.map((name) => channels.get(name)).find((count) => count !== undefined);
        for (const name of names) isNew = know(name, known) || isNew;
      };
      if (node.domain !== blockedDomain) {
        if (node.type === 'Concat') {
          const parts = node.inputs.map((name) => channels.get(name));
          const isWhole = parts.every((count) => count !== undefined);
          if (isWhole)
            isNew =
              know(
                output,
                parts.reduce<number>((total, count = 0) => total + count, 0),
              ) || isNew;
        } else if (alikeInAndOut.has(node.type)) {
          alike(...node.inputs.filter((name) => isMadeAnew(name)), ...node.outputs.filter(isMadeAnew));
        }
        continue;
      }
      if (node.type === 'ReorderOutput') {
        isNew = know(input, integerOf(node.attributes, 'channels', 0) || undefined) || isNew;
      } else if (node.type === 'ReorderInput') {
        const shape = shapeOf(input);
        const isLast = integerOf(node.attributes, 'channels_last', 0) === 1;
        const count = isLast ? shape?.at(-1) : shape?.[1];
        if (typeof count === 'number') isNew = know(output, count) || isNew;
      } else if (node.type === 'Conv') {
        const [filters = 0, perGroup = 0] = stored.get(weightName)?.dimensions ?? [];
        if (biasName !== '' && !isMadeAnew(biasName)) isNew = know(output, filters) || isNew;
        if (sum !== '') alike(output, sum);
        if (perGroup === 1 && integerOf(node.attributes, 'group', 1) === filters) alike(input, output);
      } else {
        alike(input, output);
      }
    }
  }
  return channels;
}

/** Operators between blocked convolutions that leave channels as they are (`nchwc_transformer.cc`, `TransformBinary` and others). */
const alikeInAndOut: ReadonlySet<string> = new Set([
  'Add',
  'Sum',
  'Mul',
  'Relu',
  'Sigmoid',
  'Tanh',
  'HardSigmoid',
  'HardSwish',
  'LeakyRelu',
  'Clip',
  'QuickGelu',
  'Gelu',
  'Erf',
]);
