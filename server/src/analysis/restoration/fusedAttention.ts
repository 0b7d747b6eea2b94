/**
 * Attention of ONNX Runtime as the layers it was fused from: projections with their biases, and the standard's Attention.
 *
 * Its optimizers put the three matmuls of queries, keys and values together where they read one input, and their biases. A
 * weight that was packed for this is either computed from three (onnxscript, `attention.py`) or named for it (ONNX Runtime,
 * `fusion_attention.py`: `…_qkv_weight`); one that was packed in the model keeps its name, and stays one matmul.
 */

import type { OnnxNode } from '../../formats/onnx/syntax.ts';
import { itemAt } from '../../model/at.ts';
import type { Attributes, NodeWriter } from './nodeWriter.ts';
import { integerAttributes, integerOf, picked } from './nodeWriter.ts';

const roles = ['query', 'key', 'value'] as const;

export function writeAttention(node: OnnxNode, writer: NodeWriter): boolean {
  const [input = '', weight = '', bias = '', maskIndex = '', past = '', scores = ''] = node.inputs;
  if (past !== '' || maskIndex !== '' || node.outputs.length > 1 || writer.opset < 18) return false;
  const parts = partsOfWeight(weight, node, writer);
  const isApart = parts.weights.length === 3;
  const biases = isApart ? partsOfBias(bias, parts.sizes, writer) : [];
  if (biases === undefined) return false;
  const projected = isApart
    ? parts.weights.map((each, index) => linear(node, writer, input, each, biases[index] ?? ''))
    : packed(node, writer, linear(node, writer, input, weight, bias));
  return writeCore(node, writer, projected, scores);
}

export function writeMultiHeadAttention(node: OnnxNode, writer: NodeWriter): boolean {
  const [query = '', key = '', value = '', bias = '', padding = '', scores = '', ...past] = node.inputs;
  const isPlain = [query, key, value].every((name) => name !== '' && writer.rank(name) === 3);
  if (!isPlain || padding !== '' || past.some((name) => name !== '') || writer.opset < 18) return false;
  if (node.outputs.slice(1).some((name) => name !== '' && writer.readers(name).length > 0)) return false;
  const width = writer.stored(bias)?.dimensions[0];
  const biases = bias === '' ? ['', '', ''] : partsOfBias(bias, thirds(width), writer);
  if (biases === undefined) return false;
  const projected = [query, key, value].map((name, index) => {
    const own = biases[index] ?? '';
    return own === '' ? name : writer.add(node, { type: 'Add', inputs: [name, own] });
  });
  return writeCore(node, writer, projected, scores);
}

function writeCore(node: OnnxNode, writer: NodeWriter, inputs: readonly string[], mask: string): boolean {
  const [output = ''] = node.outputs;
  const heads = integerOf(node.attributes, 'num_heads', 1);
  const attributes: Attributes = new Map([
    ...picked(node.attributes, 'scale'),
    ...integerAttributes({
      q_num_heads: heads,
      kv_num_heads: heads,
      is_causal: integerOf(node.attributes, 'unidirectional', 0),
    }),
  ]);
  writer.add(node, {
    type: 'Attention',
    inputs: mask === '' ? inputs : [...inputs, mask],
    output,
    attributes,
    name: node.name,
  });
  return true;
}

/** The three weights that a packed one was made of, or the packed one where the model has it. */
function partsOfWeight(
  weight: string,
  { attributes }: OnnxNode,
  writer: NodeWriter,
): { readonly weights: readonly string[]; readonly sizes: readonly number[] } {
  const given = attributes.get('qkv_hidden_sizes');
  const stored = writer.stored(weight);
  const sizes = given?.kind === 'ints' ? given.value : thirds(stored?.dimensions[1]);
  const isDivided = sizes.length === 3 && sizes.every((size) => size > 0);
  const maker = writer.producer(weight);
  if (isDivided && maker?.type === 'Concat' && maker.inputs.length === 3) {
    return { weights: maker.inputs, sizes };
  }
  const rows = stored?.dimensions[0];
  if (!isDivided || stored === undefined || rows === undefined || !/qkv_weight$/.test(weight))
    return { weights: [weight], sizes };
  const weights = roles.map((role, index) =>
    writer.tensor(`${weight} (${role})`, stored.elementType, [rows, itemAt(sizes, index)]),
  );
  return { weights, sizes };
}

function partsOfBias(
  bias: string,
  sizes: readonly number[],
  writer: NodeWriter,
): readonly string[] | undefined {
  if (bias === '') return ['', '', ''];
  const maker = writer.producer(bias);
  if (maker?.type === 'Concat' && maker.inputs.length === 3) return maker.inputs;
  const stored = writer.stored(bias);
  if (stored === undefined || sizes.length !== 3 || sizes.some((size) => size <= 0)) return undefined;
  return roles.map((role, index) =>
    writer.tensor(`${bias} (${role})`, stored.elementType, [itemAt(sizes, index)]),
  );
}

const thirds = (size: number | undefined): readonly number[] =>
  size === undefined || size % 3 !== 0 ? [] : [size / 3, size / 3, size / 3];

function linear(node: OnnxNode, writer: NodeWriter, input: string, weight: string, bias: string): string {
  const product = writer.add(node, { type: 'MatMul', inputs: [input, weight] });
  return bias === '' ? product : writer.add(node, { type: 'Add', inputs: [product, bias] });
}

/** The three parts of what one matmul projects. */
function packed(node: OnnxNode, writer: NodeWriter, projected: string): readonly string[] {
  const others = [`${projected} (key)`, `${projected} (value)`];
  const first = writer.add(node, {
    type: 'Split',
    inputs: [projected],
    moreOutputs: others,
    attributes: integerAttributes({ axis: -1, num_outputs: 3 }),
  });
  return [first, ...others];
}
