/**
 * Calls that differ in nothing but which of their operands were detached, or in what dropout draws, and that the exporter merged for it.
 *
 * Optimizers take `detach` out, and `mse_loss(q.detach(), z)` and `mse_loss(q, z.detach())` are one then (VQ-VAE, arXiv 1711.00937).
 * A critic that judges `fake.detach()` and then `fake` is all merged (GAN, arXiv 1406.2661), as is a network that is called twice for its
 * dropout (SimCSE, arXiv 2104.08821; R-Drop, arXiv 2106.14448). The operators behind still name the other
 * call, as in `recordedMerges.ts`. Nobody computes one thing twice, so the other detached something else, whose gradient reaches what
 * this one cut off, or drew other numbers.
 */

import { argumentsOfCall, placeholdersOfProgram } from '../formats/onnx/recordedCalls.ts';
import type { OnnxGraph } from '../formats/onnx/syntax.ts';
import type { FlatNode } from './expandFunctions.ts';
import { isDetachment } from './recordedDetachments.ts';
import { callOf, kindOf } from './recordedMerges.ts';
import { mayBeMadeAgain, numberOf, type Program, recordedProgram, usersLeft } from './recordedProgram.ts';

/** The same nodes where no such call was merged, or where calls are not recorded. */
export function splitDetachedCalls(nodes: readonly FlatNode[], graph: OnnxGraph): readonly FlatNode[] {
  const placeholders = placeholdersOfProgram(graph);
  if (placeholders === undefined) return nodes;
  const members = new Map<string, FlatNode[]>();
  const present = new Set<string>();
  const callOfResult = new Map<string, string>();
  for (const flat of nodes) {
    for (const name of [...flat.node.inputs, ...flat.node.outputs]) present.add(name);
    const name = callOf(flat.node)?.name;
    if (name === undefined) continue;
    members.set(name, [...(members.get(name) ?? []), flat]);
    for (const output of flat.node.outputs) callOfResult.set(output, name);
  }
  const behind = callsBehind(members, callOfResult);
  const program = recordedProgram(nodes, graph, placeholders);
  const wanted = new Map<string, Map<string, string>>();
  const instead = new Map<FlatNode, ReadonlyMap<number, string>>();
  for (const flat of nodes) {
    const call = callOf(flat.node);
    if (call === undefined) continue;
    const { inputs } = flat.node;
    inputs.forEach((input, position) => {
      const own = callOfResult.get(input);
      const here = call.read.length === inputs.length ? call.read[position] : undefined;
      const isRead = here === undefined ? call.read.includes(input) : here === input;
      if (own === undefined || own === call.name || isRead || !behind.has(own)) return;
      const [gone, ...others] = (here === undefined ? call.read : [here]).filter(
        (name) =>
          !present.has(name) && !members.has(name) && !placeholders.has(name) && isOfKind(name, input),
      );
      if (gone === undefined || others.length > 0) return;
      const names = wanted.get(input) ?? new Map<string, string>();
      wanted.set(input, names.set(gone, names.get(gone) ?? call.name));
      instead.set(flat, new Map([...(instead.get(flat) ?? []), [position, gone]]));
    });
  }
  if (wanted.size === 0) return nodes;
  const copies = furtherCopies(wanted, { members, callOfResult, behind, program });
  return nodes.flatMap((flat) => {
    const names = instead.get(flat);
    const inputs = flat.node.inputs.map((name, position) => names?.get(position) ?? name);
    const own = names === undefined ? flat : { ...flat, node: { ...flat.node, inputs } };
    const call = callOf(flat.node)?.name ?? '';
    const cutsOff = readsDetached(members.get(call) ?? []);
    return [
      own,
      ...copies.flatMap(({ chain, results }, index) => {
        if (!chain.has(call)) return [];
        const renamed = (name: string): string => {
          const maker = callOfResult.get(name);
          const isCopied = maker !== undefined && chain.has(maker) && (maker === call || !cutsOff);
          return isCopied ? (results.get(name) ?? `${name}@${index + 1}`) : name;
        };
        return [copyOf(flat, results.get(call) ?? `${call}_copy_${index + 1}`, renamed)];
      }),
    ];
  });
}

interface RecordedGraph {
  /** Operators by their call. */
  readonly members: ReadonlyMap<string, readonly FlatNode[]>;
  readonly callOfResult: ReadonlyMap<string, string>;
  /** Calls that give something else when they are made again. */
  readonly behind: ReadonlySet<string>;
  readonly program: Program;
}

/** What was computed once more, and merged. */
interface FurtherCopy {
  readonly chain: ReadonlySet<string>;
  /** What each result was called that something reads. */
  readonly results: ReadonlyMap<string, string>;
}

/** The first copy of everything, the second, and so on. `wanted`: what is read of the copies of each result, and by which call. */
function furtherCopies(
  wanted: ReadonlyMap<string, ReadonlyMap<string, string>>,
  graph: RecordedGraph,
): readonly FurtherCopy[] {
  const copies: { chain: Set<string>; results: Map<string, string> }[] = [];
  for (const [result, names] of wanted) {
    const ordered = [...names].sort(([left], [right]) => numberOf(left) - numberOf(right));
    for (const [index, [gone, reader]] of ordered.entries()) {
      const copy = copies[index] ?? { chain: new Set(), results: new Map() };
      copies[index] = copy;
      copy.results.set(result, gone);
      const between = (numberOf(gone) - numberOf(result)) / (index + 1);
      for (const call of chainOf(result, between, reader, graph)) copy.chain.add(call);
    }
  }
  return copies;
}

/**
 * The calls that were made once more for a result. Names of one kind are numbered: no more lie between the two than were made in
 * between. That decides how far back they reach: to the beginning, to all that draws numbers, or to what is nearest.
 */
function chainOf(
  result: string,
  between: number,
  reader: string,
  { members, callOfResult, behind, program }: RecordedGraph,
): ReadonlySet<string> {
  const follow = (call: string | undefined, reach: 'all' | 'behind' | 'nearest', found: Set<string>) => {
    if (call === undefined || found.has(call) || (reach !== 'all' && !behind.has(call))) return found;
    found.add(call);
    const own = members.get(call) ?? [];
    if (readsDetached(own) || (reach === 'nearest' && own.some(drawsNumbers))) return found;
    for (const { node } of own)
      for (const input of node.inputs) if (wasMadeAgain(input)) follow(callOfResult.get(input), reach, found);
    return found;
  };
  /** What has a user that the file lacks was read once more, and not made. */
  const wasMadeAgain = (name: string): boolean => {
    const left = usersLeft(name, program);
    const call = program.calls.get(callOfResult.get(name) ?? '');
    return left === undefined ? call !== undefined && mayBeMadeAgain(call, reader, program) : left <= 0;
  };
  const start = callOfResult.get(result);
  const isShort = (calls: ReadonlySet<string>): boolean =>
    [...callOfResult].filter(([name, call]) => calls.has(call) && isOfKind(name, result)).length <= between;
  const reaches = (['all', 'behind'] as const).map((reach) => follow(start, reach, new Set<string>()));
  return reaches.find(isShort) ?? follow(start, 'nearest', new Set<string>());
}

/** Calls that read what was detached or draw numbers, and all that are computed from these. */
function callsBehind(
  members: ReadonlyMap<string, readonly FlatNode[]>,
  callOfResult: ReadonlyMap<string, string>,
): ReadonlySet<string> {
  const behind = new Set<string>();
  for (const [call, own] of members) {
    const isBehind = ({ node }: FlatNode): boolean =>
      node.inputs.some((name) => behind.has(callOfResult.get(name) ?? ''));
    if (readsDetached(own) || own.some(drawsNumbers) || own.some(isBehind)) behind.add(call);
  }
  return behind;
}

const isOfKind = (name: string, other: string): boolean => kindOf(name) === kindOf(other);

/** Optimizers merge equal dropouts as if they drew the same numbers; they leave other generators alone. */
const drawsNumbers = ({ node }: FlatNode): boolean => node.type === 'Dropout';

const readsDetached = (members: readonly FlatNode[]): boolean =>
  members.some(({ node }) => (argumentsOfCall(node) ?? []).some(isDetachment));

/** An operator as one of the call `other`, which detaches nothing that its own does. */
function copyOf(
  { node, scope, ...rest }: FlatNode,
  other: string,
  renamed: (name: string) => string,
): FlatNode {
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
