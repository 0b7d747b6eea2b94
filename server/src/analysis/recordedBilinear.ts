/**
 * Calls of `bilinear` that the torch.export-based exporter writes as two products, as one operator.
 *
 * The file has W as [in1, out · in2], which optimizers may store so, times the first rows, and what that gives times the second (onnxscript 0.7,
 * function_libs/torch_lib/ops/nn.py, `aten_bilinear`). PyTorch multiplies and sums feature by feature, inside a function that its
 * counter of FLOPs does not see (aten/src/ATen/native/Linear.cpp, `_trilinear`).
 */

import type { OnnxGraph, OnnxNode } from '../formats/onnx/syntax.ts';
import { ownDomain } from '../operators/vocabulary/define.ts';
import { constantsOf } from './constantsOfNodes.ts';
import type { FlatNode } from './expandFunctions.ts';
import { callsOf } from './recordedDetachments.ts';

/** The same nodes where no such call is recorded. */
export function joinBilinear(nodes: readonly FlatNode[], graph: OnnxGraph): readonly FlatNode[] {
  const isCalled = ({ scope }: FlatNode): boolean =>
    scope.call?.function.startsWith('aten.bilinear.') === true;
  if (!nodes.some(isCalled)) return nodes;
  const constants = constantsOf(nodes, graph.initializers);
  const readers = new Map<string, OnnxNode[]>();
  for (const { node } of nodes)
    for (const name of node.inputs) readers.set(name, [...(readers.get(name) ?? []), node]);
  return callsOf(nodes).flatMap(({ first, members }) => {
    const form = isCalled(first)
      ? formOf(
          members.map(({ node }) => node),
          constants,
        )
      : undefined;
    const last = members.at(-1);
    if (form === undefined || last === undefined) return members;
    const own = new Set(members.map(({ node }) => node));
    const isRead = ({ node }: FlatNode): boolean =>
      node.outputs.some((name) => readers.get(name)?.some((reader) => !own.has(reader)) === true);
    const others = members.filter((flat) => flat !== last && isRead(flat));
    return [...others, ...writtenOf(form, last.node).map((node) => ({ ...last, node }))];
  });
}

interface BilinearForm {
  readonly one: string;
  readonly other: string;
  readonly weight: string;
  /** How the weight lies. */
  readonly axes: 'out, in1, in2' | 'in1, out, in2' | 'in1, out · in2';
  readonly features: number | undefined;
  readonly bias: string | undefined;
}

function formOf(
  members: readonly OnnxNode[],
  constants: ReadonlyMap<string, readonly number[]>,
): BilinearForm | undefined {
  const made = new Map(members.flatMap((node) => node.outputs.map((name) => [name, node] as const)));
  const madeBy = (type: string, name = ''): OnnxNode | undefined => {
    const maker = made.get(name);
    return maker?.type === type ? maker : undefined;
  };
  const last = members.at(-1);
  const isBiased = last?.type === 'Add';
  const [sum, bias] = isBiased ? last.inputs : (last?.outputs ?? []);
  const second = madeBy('MatMul', madeBy('Squeeze', sum)?.inputs[0]);
  const parted = madeBy('Reshape', second?.inputs[0]);
  const first = madeBy('MatMul', parted?.inputs[0]);
  const other = madeBy('Unsqueeze', second?.inputs[1])?.inputs[0];
  const [one, matrix] = first?.inputs ?? [];
  if (one === undefined || other === undefined || matrix === undefined) return undefined;
  const stored = madeBy('Reshape', matrix)?.inputs[0];
  const swapped = madeBy('Transpose', stored)?.inputs[0];
  const features = constants.get(parted?.inputs[1] ?? '')?.at(-2);
  if (stored === undefined && features === undefined) return undefined;
  return {
    one,
    other,
    weight: swapped ?? stored ?? matrix,
    axes: swapped !== undefined ? 'out, in1, in2' : stored !== undefined ? 'in1, out, in2' : 'in1, out · in2',
    features,
    bias: isBiased ? bias : undefined,
  };
}

/** `last` gives the result, and what is known of the call. */
function writtenOf(
  { one, other, weight, axes, features = 1, bias }: BilinearForm,
  last: OnnxNode,
): readonly OnnxNode[] {
  const written = (
    type: string,
    inputs: readonly string[],
    output: string,
    attributes: OnnxNode['attributes'],
  ) => ({
    ...last,
    name: output,
    type,
    inputs,
    outputs: [output],
    attributes,
  });
  const isFlat = axes === 'in1, out · in2';
  const whole = isFlat ? `${weight}#parted` : weight;
  const given = axes === 'out, in1, in2' ? weight : `${weight}#bilinear`;
  const parts = [
    written(
      'Constant',
      [],
      `${weight}#sizes`,
      new Map([['value_ints', { kind: 'ints', value: [0, features, -1] }]]),
    ),
    written('Reshape', [weight, `${weight}#sizes`], whole, new Map()),
  ];
  const order = written('Transpose', [whole], given, new Map([['perm', { kind: 'ints', value: [1, 0, 2] }]]));
  const product: OnnxNode = {
    ...last,
    type: 'Bilinear',
    domain: ownDomain,
    inputs: [one, other, given, ...(bias === undefined ? [] : [bias])],
    attributes: new Map(),
  };
  return [...(isFlat ? parts : []), ...(given === weight ? [] : [order]), product];
}
