/**
 * Calls that differ in nothing but which of their operands were detached, and that the exporter merged for it.
 *
 * Optimizers take `detach` out, and `mse_loss(q.detach(), z)` and `mse_loss(q, z.detach())` are one then (VQ-VAE, arXiv 1711.00937).
 * The operators behind still name the other call, as in `recordedMerges.ts`. Nobody computes one thing twice, so
 * the other detached something else: its gradient reaches what this one cut off.
 */

import { argumentsOfCall, placeholdersOfProgram } from '../formats/onnx/recordedCalls.ts';
import type { OnnxGraph } from '../formats/onnx/syntax.ts';
import type { FlatNode } from './expandFunctions.ts';
import { isDetachment } from './recordedDetachments.ts';
import { callOf, kindOf } from './recordedMerges.ts';

/** The same nodes where no such call was merged, or where calls are not recorded. */
export function splitDetachedCalls(nodes: readonly FlatNode[], graph: OnnxGraph): readonly FlatNode[] {
  const placeholders = placeholdersOfProgram(graph);
  if (placeholders === undefined) return nodes;
  const members = new Map<string, FlatNode[]>();
  const present = new Set<string>();
  for (const flat of nodes) {
    for (const name of [...flat.node.inputs, ...flat.node.outputs]) present.add(name);
    const name = callOf(flat.node)?.name;
    if (name !== undefined) members.set(name, [...(members.get(name) ?? []), flat]);
  }
  const instead = new Map<FlatNode, ReadonlyMap<number, string>>();
  const copied = new Map<string, string>();
  for (const flat of nodes) {
    const call = callOf(flat.node);
    if (call === undefined) continue;
    const { inputs } = flat.node;
    inputs.forEach((input, position) => {
      const own = members.get(input);
      const here = call.read.length === inputs.length ? call.read[position] : undefined;
      const isRead = here === undefined ? call.read.includes(input) : here === input;
      if (own === undefined || isRead || !readsDetached(own)) return;
      const [gone, ...others] = (here === undefined ? call.read : [here]).filter(
        (name) =>
          !present.has(name) && !members.has(name) && !placeholders.has(name) && isOfKind(name, input),
      );
      if (gone === undefined || others.length > 0) return;
      copied.set(input, gone);
      instead.set(flat, new Map([...(instead.get(flat) ?? []), [position, gone]]));
    });
  }
  if (copied.size === 0) return nodes;
  return nodes.flatMap((flat) => {
    const names = instead.get(flat);
    const inputs = flat.node.inputs.map((name, position) => names?.get(position) ?? name);
    const own = names === undefined ? flat : { ...flat, node: { ...flat.node, inputs } };
    const call = callOf(flat.node)?.name ?? '';
    const other = copied.get(call);
    const made = new Set((members.get(call) ?? []).flatMap(({ node }) => node.outputs));
    return other === undefined ? [own] : [own, copyOf(flat, call, other, made)];
  });
}

const isOfKind = (name: string, other: string): boolean => kindOf(name) === kindOf(other);

const readsDetached = (members: readonly FlatNode[]): boolean =>
  members.some(({ node }) => (argumentsOfCall(node) ?? []).some(isDetachment));

/** An operator of `call` as one of the call `other`, which detaches nothing that this one does. `made`: results of the call. */
function copyOf(
  { node, scope, ...rest }: FlatNode,
  call: string,
  other: string,
  made: ReadonlySet<string>,
): FlatNode {
  const renamed = (name: string): string =>
    name === call ? other : made.has(name) ? `${name}@${other}` : name;
  const key = 'pkg.torch.onnx.fx_node';
  const text = (node.metadata.get(key) ?? '')
    .replace(/^%\w+ :/, `%${other} :`)
    .replace(/%(detach(?:_\d+)?)\b/g, '%whole_$1');
  return {
    ...rest,
    node: {
      ...node,
      name: `${node.name}@${other}`,
      inputs: node.inputs.map(renamed),
      outputs: node.outputs.map(renamed),
      metadata: new Map([...node.metadata, [key, text]]),
    },
    scope: {
      ...scope,
      ...(scope.call === undefined ? {} : { call: { ...scope.call, name: `${scope.call.name}@${other}` } }),
    },
  };
}
