/**
 * The program as the calls say it that the torch.export-based exporter recorded beside each operator, and what of it the file lacks.
 *
 * Each call has the name of its result, what it reads, and how many calls read it (`%relu_1 : [num_users=2]`). Names of one function are
 * numbered in the order of the program (torch.fx, `_Namespace.create_name`): where `linear` and `linear_1` are both there, no other
 * `linear` was called between them.
 */

import { argumentsOfCall } from '../formats/onnx/recordedCalls.ts';
import type { OnnxGraph, OnnxNode } from '../formats/onnx/syntax.ts';
import type { FlatNode } from './expandFunctions.ts';
import { argumentsOfInputs, callsOf, isDetachment } from './recordedDetachments.ts';
import { callOf, kindOf } from './recordedMerges.ts';

export interface RecordedCall {
  readonly name: string;
  readonly members: readonly FlatNode[];
  /** What it reads, as the program names it. */
  readonly read: readonly string[];
  /** How many calls read its result. */
  readonly users: number | undefined;
}

export interface Program {
  readonly calls: ReadonlyMap<string, RecordedCall>;
  /** The call that a value of the file is a result of. */
  readonly makerOf: ReadonlyMap<string, RecordedCall>;
  /** Calls of the file that read a value by its name. */
  readonly readersOf: ReadonlyMap<string, ReadonlySet<string>>;
  /** The value of the file that stands where a call reads one that is gone. */
  readonly standInOf: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Calls of `detach` that the exporter took out, by the value that they detach. */
  readonly detachmentsOf: ReadonlyMap<string, ReadonlySet<string>>;
  /** All names that the file has something of. */
  readonly present: ReadonlySet<string>;
  /** The places of calls in the file. */
  readonly places: ReadonlyMap<string, number>;
  readonly namesOfKind: ReadonlyMap<string, readonly string[]>;
}

export function recordedProgram(
  nodes: readonly FlatNode[],
  graph: OnnxGraph,
  placeholders: ReadonlyMap<string, string>,
): Program {
  const stored = new Set([
    ...graph.initializers.map(({ name }) => name),
    ...nodes.flatMap(({ node }) => (node.type === 'Constant' ? node.outputs : [])),
  ]);
  const members = new Map<string, FlatNode[]>();
  const present = new Set<string>(placeholders.keys());
  for (const { name } of graph.inputs) present.add(name);
  for (const flat of nodes) {
    for (const name of flat.node.outputs) present.add(name);
    const name = callOf(flat.node)?.name;
    if (name === undefined) continue;
    present.add(name);
    members.set(name, [...(members.get(name) ?? []), flat]);
  }
  const calls = new Map<string, RecordedCall>();
  const makerOf = new Map<string, RecordedCall>();
  const readersOf = new Map<string, Set<string>>();
  for (const [name, own] of members) {
    const [first] = own;
    if (first === undefined) continue;
    const read = argumentsOfCall(first.node) ?? [];
    const call: RecordedCall = { name, members: own, read, users: usersOf(first.node) };
    calls.set(name, call);
    for (const { node } of own) for (const output of node.outputs) makerOf.set(output, call);
    for (const argument of new Set(read)) {
      const readers = readersOf.get(argument) ?? new Set<string>();
      readersOf.set(argument, readers.add(name));
    }
  }
  const standInOf = new Map<string, Map<string, string>>();
  const detachmentsOf = new Map<string, Set<string>>();
  for (const { first, members: own } of callsOf(nodes)) {
    const name = callOf(first.node)?.name;
    const read = (argumentsOfCall(first.node) ?? []).filter((each) => !placeholders.has(each));
    if (name === undefined || read.every((each) => present.has(each))) continue;
    const argumentOf = argumentsOfInputs({ first, members: own }, read, stored);
    if (argumentOf === undefined) continue;
    for (const { node } of own) {
      node.inputs.forEach((input, index) => {
        const argument = argumentOf(input, index);
        if (argument === undefined || argument === input || present.has(argument)) return;
        standInOf.set(name, (standInOf.get(name) ?? new Map<string, string>()).set(argument, input));
        if (isDetachment(argument))
          detachmentsOf.set(input, (detachmentsOf.get(input) ?? new Set<string>()).add(argument));
      });
    }
  }
  const places = new Map([...calls.keys()].map((name, place) => [name, place]));
  const namesOfKind = new Map<string, string[]>();
  for (const name of calls.keys()) {
    const names = namesOfKind.get(kindOf(name));
    if (names === undefined) namesOfKind.set(kindOf(name), [name]);
    else names.push(name);
  }
  return { calls, makerOf, readersOf, standInOf, detachmentsOf, present, places, namesOfKind };
}

const usersOf = ({ metadata }: OnnxNode): number | undefined => {
  const users = /^%\w+ : \[num_users=(\d+)\]/.exec(metadata.get('pkg.torch.onnx.fx_node') ?? '')?.[1];
  return users === undefined ? undefined : Number(users);
};

/** Users that a value was recorded with and that the file does not have; `undefined` where they are not recorded. */
export function usersLeft(value: string, { makerOf, readersOf, detachmentsOf }: Program): number | undefined {
  const maker = makerOf.get(value);
  if (maker?.users === undefined || maker.name !== value) return undefined;
  const present = [...(readersOf.get(value) ?? []), ...(detachmentsOf.get(value) ?? [])];
  return maker.users - present.length;
}

/** `linear` is the first of its kind, `linear_1` the second. */
export const numberOf = (name: string): number => Number(/(?:_(\d+))?$/.exec(name)?.[1] ?? '0');

/**
 * Whether a call may have been made once more, before the call `reader`: names of its kind are missing, and all that it reads was made
 * once more too, or had another user.
 */
export function mayBeMadeAgain(call: RecordedCall, reader: string, program: Program): boolean {
  const visited = new Set<string>();
  const mayBe = (each: RecordedCall): boolean => {
    if (visited.has(each.name)) return true;
    visited.add(each.name);
    if (namesLeft(each.name, reader, program) === 0) return false;
    return each.read.every((argument) => {
      const maker = program.makerOf.get(argument);
      return maker === undefined || usersLeft(argument, program) !== 0 || mayBe(maker);
    });
  };
  return mayBe(call);
}

/** How many names of a call's kind are missing behind it and before the call `reader`. */
function namesLeft(call: string, reader: string, { places, namesOfKind }: Program): number {
  const placeOf = (name: string): number => places.get(name) ?? Number.POSITIVE_INFINITY;
  const end = placeOf(reader);
  const names = namesOfKind.get(kindOf(call)) ?? [];
  const next = Math.min(...names.filter((name) => placeOf(name) > end).map(numberOf));
  const between = names.map(numberOf).filter((number) => number > numberOf(call) && number < next);
  return Math.max(0, next - numberOf(call) - 1 - between.length);
}
