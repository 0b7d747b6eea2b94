/**
 * Operators that two calls of the program have in common after the exporter merged equal ones: `F.mse_loss(q.detach(), z)` and
 * `q - z` are one difference in the file, although the program computes two, and keeps the operands of the first.
 *
 * A call of one kernel shows nothing but its result. So an operator of another call that reads what stands inside one has lost its
 * own, and a call that begins with the result of an equal one has lost its first (onnxscript 0.5 and later,
 * `CommonSubexpressionEliminationPass`). Each gets its own again.
 */

import { isRecordedKernel } from '../composites/recordedCall.ts';
import type { FlatNode } from './expandFunctions.ts';
import { callOf } from './recordedMerges.ts';

/** The same nodes where none is shared, or where no calls are recorded. */
export function splitSharedParts(nodes: readonly FlatNode[]): readonly FlatNode[] {
  if (!nodes.some(isOfKernel)) return nodes;
  const makers = new Map<string, number>();
  const firsts = new Map<string, number>();
  for (const [index, { node, scope }] of nodes.entries()) {
    for (const output of node.outputs) makers.set(output, index);
    const call = scope.call?.name;
    if (call !== undefined && !firsts.has(call)) firsts.set(call, index);
  }
  const copies = new Map<number, FlatNode[]>();
  const renamed = nodes.map((flat, index): FlatNode => {
    const own = flat.scope.call?.name;
    const names = new Map<string, string>();
    for (const input of new Set(flat.node.inputs)) {
      const at = makers.get(input);
      const maker = at === undefined ? undefined : nodes[at];
      if (at === undefined || maker === undefined || maker.scope.call === undefined) continue;
      const other = maker.scope.call.name;
      if (other === own || maker.node.outputs.length !== 1 || maker.node.inputs.length === 0) continue;
      const isInside = isOfKernel(maker) && input !== other && makers.has(other);
      if (!isInside && !(isOfKernel(flat) && beginsWith(flat, maker, makers))) continue;
      const name = `${input}@${own ?? flat.node.name}`;
      names.set(input, name);
      const first = firsts.get(own ?? '') ?? index;
      const place = first > at ? first : index;
      copies.set(place, [...(copies.get(place) ?? []), copyOf(maker, flat, name, isInside)]);
    }
    if (names.size === 0) return flat;
    return {
      ...flat,
      node: { ...flat.node, inputs: flat.node.inputs.map((name) => names.get(name) ?? name) },
    };
  });
  if (copies.size === 0) return nodes;
  return renamed.flatMap((flat, index) => [...(copies.get(index) ?? []), flat]);
}

const isOfKernel = ({ scope }: FlatNode): boolean =>
  scope.call !== undefined && isRecordedKernel(scope.call.function);

/** Whether the call of `flat` is given what `maker` reads, in its order, and not what it makes. */
function beginsWith(flat: FlatNode, { node }: FlatNode, makers: ReadonlyMap<string, number>): boolean {
  const read = callOf(flat.node)?.read;
  const [result = ''] = node.outputs;
  if (read === undefined || read.includes(result) || read.length !== node.inputs.length) return false;
  // What is detached or copied has another name in the program, which no operator of the file gives.
  const isSame = (name: string, index: number): boolean =>
    name === read[index] || !makers.has(read[index] ?? '');
  return node.inputs.every(isSame) && node.inputs.some((name, index) => name === read[index]);
}

/** The operator as one of the reader's module: of its call where it stands inside that, and of none where it was one by itself. */
function copyOf(maker: FlatNode, reader: FlatNode, output: string, isInside: boolean): FlatNode {
  const { call, ...scope } = reader.scope;
  return {
    ...maker,
    node: {
      ...maker.node,
      name: `${maker.node.name}@${call?.name ?? reader.node.name}`,
      outputs: [output],
      metadata: isInside ? new Map() : reader.node.metadata,
    },
    scope: isInside ? scope : reader.scope,
  };
}
