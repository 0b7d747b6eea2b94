/**
 * Where the exported program stops gradients by `detach`, by what the torch.export-based exporter recorded.
 *
 * ONNX has no operator for it. Unoptimized files have an `Identity` of the call `aten.detach`. Optimizers take it out, but the
 * calls that read its result still name it (`aten.mul.Tensor](args = (%scale, %detach), kwargs = {})`; onnxscript 0.5 and later).
 * The TorchScript exporter records no calls, and regions of `torch.no_grad` leave nothing to read.
 */

import { argumentsOfCall, placeholdersOfProgram } from '../formats/onnx/recordedCalls.ts';
import type { OnnxNode } from '../formats/onnx/syntax.ts';
import type { FlatNode, StoredGraph } from './expandFunctions.ts';

export interface Detachments {
  /** With an `Identity` before each reader of what was detached. */
  readonly nodes: readonly FlatNode[];
  /** Values that no gradient passes behind. */
  readonly detached: ReadonlySet<string>;
}

export function recordedDetachments({ nodes, graph }: StoredGraph): Detachments {
  const detached = new Set<string>();
  for (const { node, scope } of nodes) {
    if (node.type === 'Identity' && scope.call?.function.startsWith('aten.detach.'))
      for (const output of node.outputs) detached.add(output);
  }
  const present = new Set(nodes.flatMap(({ node }) => [...node.inputs, ...node.outputs]));
  const placeholders = placeholdersOfProgram(graph) ?? new Map<string, string>();
  const stored = new Set([
    ...graph.initializers.map(({ name }) => name),
    ...nodes.flatMap(({ node }) => (node.type === 'Constant' ? node.outputs : [])),
  ]);
  const written: FlatNode[] = [];
  for (const [position, call] of callsOf(nodes).entries()) {
    const read = (argumentsOfCall(call.first.node) ?? []).filter(
      (name) => !placeholders.has(name) && !stored.has(name),
    );
    const gone = new Set(read.filter((name) => isDetachment(name) && !present.has(name)));
    const argumentOf = gone.size === 0 ? undefined : argumentsOfInputs(call, read, stored);
    if (argumentOf === undefined) {
      written.push(...call.members);
      continue;
    }
    const names = new Map<string, string>();
    const members = call.members.map((flat): FlatNode => {
      const inputs = flat.node.inputs.map((input, index) => {
        const argument = argumentOf(input, index);
        if (argument === undefined || !gone.has(argument)) return input;
        const output = `${argument}#${position}`;
        names.set(output, input);
        return output;
      });
      return { ...flat, node: { ...flat.node, inputs } };
    });
    for (const [output, input] of names) {
      detached.add(output);
      written.push({ ...call.first, node: identityOf(input, output) });
    }
    written.push(...members);
  }
  return { nodes: written.length === nodes.length ? nodes : written, detached };
}

/** As `torch.fx` names the results of calls. */
export const isDetachment = (name: string): boolean => /^detach(_\d+)?$/.test(name);

export interface Call {
  readonly first: FlatNode;
  readonly members: readonly FlatNode[];
}

/** Neighbouring operators of one call of the program. */
export function callsOf(nodes: readonly FlatNode[]): readonly Call[] {
  const calls: { first: FlatNode; members: FlatNode[] }[] = [];
  for (const flat of nodes) {
    const last = calls.at(-1);
    const name = flat.scope.call?.name;
    if (last !== undefined && name !== undefined && last.first.scope.call?.name === name)
      last.members.push(flat);
    else calls.push({ first: flat, members: [flat] });
  }
  return calls;
}

/**
 * Tells which argument of the call an input of its operators is: by position where one operator reads as many, else by name, and
 * those that remain in their order. `undefined` where more or fewer of one kind remain than of the other.
 */
export function argumentsOfInputs(
  { members }: Call,
  read: readonly string[],
  stored: ReadonlySet<string>,
): ((input: string, index: number) => string | undefined) | undefined {
  const made = new Set(members.flatMap(({ node }) => node.outputs));
  const isGiven = (name: string): boolean => name !== '' && !made.has(name) && !stored.has(name);
  const all = members.flatMap(({ node }) => node.inputs);
  const given = all.filter(isGiven);
  if (members.length === 1 && given.length === read.length) {
    const places = all.flatMap((name, index) => (isGiven(name) ? [index] : []));
    return (_, index) => read[places.indexOf(index)];
  }
  const inputs = [...new Set(given)].filter((name) => !read.includes(name));
  const called = [...new Set(read)].filter((name) => !given.includes(name));
  if (inputs.length !== called.length) return undefined;
  return (input) => called[inputs.indexOf(input)];
}

const identityOf = (input: string, output: string): OnnxNode => ({
  name: output,
  type: 'Identity',
  domain: '',
  overload: '',
  metadata: new Map(),
  inputs: [input],
  outputs: [output],
  attributes: new Map(),
});
