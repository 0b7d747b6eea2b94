/**
 * What ONNX Runtime's and onnxscript's fused operators were made of.
 *
 * Each rule writes the operators that a fusion replaces (onnxruntime/core/optimizer of microsoft/onnxruntime, and
 * onnxscript/rewriter/ort_fusions of microsoft/onnxscript; what each operator computes: docs/ContribOperators.md). A rule gives
 * `false` where the node has inputs or outputs that the fusion never makes.
 */

import type { OnnxNode } from '../../formats/onnx/syntax.ts';
import { contribDomain } from '../../operators/vocabulary/define.ts';
import { isKnownActivation, writeActivation } from './activation.ts';
import { writeAttention, writeMultiHeadAttention } from './fusedAttention.ts';
import { integerOf, type NodeWriter, numberOf, picked, textOf, without } from './nodeWriter.ts';

type Rule = (node: OnnxNode, writer: NodeWriter) => boolean;

/** By type, in the domain `com.microsoft`. */
export const fusedOperators: Readonly<Record<string, Rule>> = {
  FusedConv: (node, writer) => {
    const [, , , residual = ''] = node.inputs;
    return writeBehind(node, writer, 'Conv', node.inputs.slice(0, 3), residual);
  },
  FusedGemm: (node, writer) => writeBehind(node, writer, 'Gemm', node.inputs, ''),
  FusedMatMul: writeMatMul,
  BiasGelu: (node, writer) => {
    const [input = '', bias = ''] = node.inputs;
    const sum = writer.add(node, { type: 'Add', inputs: [input, bias] });
    return written(writer, node, { type: 'Gelu', domain: contribDomain, inputs: [sum] });
  },
  FastGelu: (node, writer) => {
    const [input = '', bias = ''] = node.inputs;
    if (bias === '') return false;
    const sum = writer.add(node, { type: 'Add', inputs: [input, bias] });
    return written(writer, node, { type: 'FastGelu', domain: contribDomain, inputs: [sum] });
  },
  QuickGelu: (node, writer) => {
    const [input = ''] = node.inputs;
    const factor = numberOf(node.attributes, 'alpha', 1.702);
    const scaled =
      factor === 1
        ? input
        : writer.add(node, { type: 'Mul', inputs: [input, writer.numbers('float32', [], [factor])] });
    const gate = writer.add(node, { type: 'Sigmoid', inputs: [scaled] });
    return written(writer, node, { type: 'Mul', inputs: [input, gate] });
  },
  BiasSoftmax: (node, writer) => {
    const sum = writer.add(node, { type: 'Add', inputs: node.inputs.slice(0, 2) });
    return written(writer, node, {
      type: 'Softmax',
      inputs: [sum],
      attributes: picked(node.attributes, 'axis'),
    });
  },
  SkipLayerNormalization: (node, writer) => {
    const [input = '', skip = '', scale = '', shift = '', bias = ''] = node.inputs;
    if (writer.opset < 17) return false;
    const sum = writeSum(node, writer, [input, skip, bias]);
    return sum === undefined
      ? false
      : written(writer, node, {
          type: 'LayerNormalization',
          inputs: [sum, scale, shift],
          attributes: picked(node.attributes, 'epsilon'),
        });
  },
  SkipSimplifiedLayerNormalization: (node, writer) => {
    const [input = '', skip = '', scale = '', bias = ''] = node.inputs;
    const sum = writeSum(node, writer, [input, skip, bias]);
    return sum === undefined
      ? false
      : written(writer, node, {
          type: 'SimplifiedLayerNormalization',
          inputs: [sum, scale],
          attributes: picked(node.attributes, 'epsilon'),
        });
  },
  EmbedLayerNormalization: writeEmbeddings,
  GroupNorm: writeGroupNorm,
  Attention: writeAttention,
  MultiHeadAttention: writeMultiHeadAttention,
};

/** The last operator of those that a node was made of has its output. */
function written(
  writer: NodeWriter,
  node: OnnxNode,
  operator: Omit<Parameters<NodeWriter['add']>[1], 'output'>,
): true {
  const [output = ''] = node.outputs;
  writer.add(node, { ...operator, output });
  return true;
}

/** An operator, a residual that is added to its result, and an activation of the sum. */
function writeBehind(
  node: OnnxNode,
  writer: NodeWriter,
  type: string,
  inputs: readonly string[],
  residual: string,
): boolean {
  if (!isKnownActivation(node)) return false;
  const [output = ''] = node.outputs;
  const attributes = without(
    node.attributes,
    ...[...node.attributes.keys()].filter((name) => name.startsWith('activation')),
  );
  const hasActivation = textOf(node.attributes, 'activation') !== '';
  const isLast = residual === '' && !hasActivation;
  const result = writer.add(node, {
    type,
    inputs,
    attributes,
    name: node.name,
    ...(isLast ? { output } : {}),
  });
  if (isLast) return true;
  const sum =
    residual === ''
      ? result
      : writer.add(node, { type: 'Add', inputs: [result, residual], ...(hasActivation ? {} : { output }) });
  if (hasActivation) writeActivation(writer, node, sum, output);
  return true;
}

/** A product that is also scaled has attention in front of its softmax, whose composite reads it as it is. */
function writeMatMul(node: OnnxNode, writer: NodeWriter): boolean {
  const [left = '', right = ''] = node.inputs;
  const { attributes } = node;
  if (Math.abs(numberOf(attributes, 'alpha', 1) - 1) > 1e-6) return false;
  if (integerOf(attributes, 'transBatchA', 0) + integerOf(attributes, 'transBatchB', 0) > 0) return false;
  const operand = (name: string, side: 'A' | 'B'): string | undefined => {
    if (integerOf(attributes, `trans${side}`, 0) === 0) return name;
    const rank = writer.rank(name);
    if (rank === undefined || rank < 2) return undefined;
    const order = Array.from({ length: rank }, (_, axis) => axis);
    const permutation = [...order.slice(0, -2), rank - 1, rank - 2];
    return writer.add(node, {
      type: 'Transpose',
      inputs: [name],
      attributes: new Map([['perm', { kind: 'ints', value: permutation }]]),
    });
  };
  const operands = [operand(left, 'A'), operand(right, 'B')];
  const [first, second] = operands;
  if (first === undefined || second === undefined) return false;
  return written(writer, node, { type: 'MatMul', inputs: [first, second], name: node.name });
}

/**
 * The sum that a normalization reads, of two values and a bias; `undefined` where something reads statistics that it
 * does not have. The bias belongs to the matmul in front of one of them.
 */
function writeSum(
  node: OnnxNode,
  writer: NodeWriter,
  [input, skip, bias]: readonly [string, string, string],
): string | undefined {
  const [, mean = '', deviation = '', sum = ''] = node.outputs;
  if ([mean, deviation].some((name) => name !== '' && writer.readers(name).length > 0)) return undefined;
  const isProduct = (name: string): boolean => {
    const type = writer.producer(name)?.type ?? '';
    return type === 'MatMul' || type === 'FusedMatMul';
  };
  const onSkip = bias !== '' && !isProduct(input) && isProduct(skip);
  const biased =
    bias === '' ? undefined : writer.add(node, { type: 'Add', inputs: [onSkip ? skip : input, bias] });
  const terms = biased === undefined ? [input, skip] : onSkip ? [input, biased] : [biased, skip];
  return writer.add(node, { type: 'Add', inputs: terms, ...(sum === '' ? {} : { output: sum }) });
}

/** Rows of two or three tables, their sum, and its normalization. */
function writeEmbeddings(node: OnnxNode, writer: NodeWriter): boolean {
  const [words = '', segments = '', table = '', positions = '', types = '', scale = '', shift = ''] =
    node.inputs;
  const [mask, places = ''] = [node.inputs[7] ?? '', node.inputs[8]];
  const [, maskIndex = '', sum = ''] = node.outputs;
  const isRead = (name: string): boolean =>
    name !== '' && (writer.readers(name).length > 0 || writer.isOutput(name));
  if (mask !== '' || places === '' || isRead(maskIndex) || writer.opset < 17) return false;
  const looked = writer.add(node, { type: 'Gather', inputs: [table, words] });
  const kinds = types === '' ? undefined : writer.add(node, { type: 'Gather', inputs: [types, segments] });
  const first = kinds === undefined ? looked : writer.add(node, { type: 'Add', inputs: [looked, kinds] });
  const placed = writer.add(node, { type: 'Gather', inputs: [positions, places] });
  const all = writer.add(node, {
    type: 'Add',
    inputs: [first, placed],
    ...(isRead(sum) ? { output: sum } : {}),
  });
  return written(writer, node, {
    type: 'LayerNormalization',
    inputs: [all, scale, shift],
    attributes: picked(node.attributes, 'epsilon'),
  });
}

/** Between two transposes to channels last and back, which the fusion puts around it. */
function writeGroupNorm(node: OnnxNode, writer: NodeWriter): boolean {
  const [input = '', scale = '', shift = ''] = node.inputs;
  const source = writer.producer(input);
  const isLast = integerOf(node.attributes, 'channels_last', 1) === 1;
  const rank = writer.rank(input);
  if (writer.opset < 18 || !isLast || integerOf(node.attributes, 'activation', 0) !== 0) return false;
  if (source?.type !== 'Transpose' || rank === undefined) return false;
  const groups = integerOf(node.attributes, 'groups', 1);
  const result = writer.add(node, {
    type: 'GroupNormalization',
    inputs: [source.inputs[0] ?? '', scale, shift],
    attributes: new Map([
      ...picked(node.attributes, 'epsilon'),
      ['num_groups', { kind: 'int', value: groups }],
    ]),
  });
  const order = Array.from({ length: rank }, (_, axis) =>
    axis === 0 ? 0 : axis === rank - 1 ? 1 : axis + 1,
  );
  return written(writer, node, {
    type: 'Transpose',
    inputs: [result],
    attributes: new Map([['perm', { kind: 'ints', value: order }]]),
  });
}
