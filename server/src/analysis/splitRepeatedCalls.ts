/**
 * Calls that a program makes twice of the same values, and an export once: two heads that are one module, both passes of a siamese
 * network over one tensor, a copy of a network whose weights are equal when it is exported.
 *
 * Optimizers of the torch.export-based exporter merge equal operators (onnxscript 0.5 and later, `CommonSubexpressionEliminationPass`).
 * The operators behind still name the call that is gone (`%tanh … (args = (%linear_3,)` where the file has `linear_1`). How far up
 * it was another call tells the number of users that each call was recorded with (`%relu : [num_users=2]`): a value with a user
 * that the file lacks was read by the call that is gone, of any other value there was a second one.
 */

import { placeholdersOfProgram } from '../formats/onnx/recordedCalls.ts';
import type { OnnxGraph } from '../formats/onnx/syntax.ts';
import { moduleOfName } from '../model/tensorNames.ts';
import type { FlatNode } from './expandFunctions.ts';
import { isDetachment } from './recordedDetachments.ts';
import { callOf, kindOf } from './recordedMerges.ts';
import {
  mayBeMadeAgain,
  type Program,
  type RecordedCall,
  recordedProgram,
  usersLeft,
} from './recordedProgram.ts';

/**
 * The same nodes where no such call is missing, or where calls are not recorded. `lost`: modules with parameters of which the file
 * has no operator; a call that is gone is of one of them where it fits.
 */
export function splitRepeatedCalls(
  nodes: readonly FlatNode[],
  graph: OnnxGraph,
  lost: ReadonlySet<string>,
): readonly FlatNode[] {
  const placeholders = placeholdersOfProgram(graph);
  if (placeholders === undefined) return nodes;
  const program = recordedProgram(nodes, graph, placeholders);
  const missing = missingResults(program);
  if (missing.length === 0) return nodes;
  const copies = copiesOf(missing, program, otherModules(placeholders, lost));
  const instead = new Map<FlatNode, Map<number, string>>();
  for (const { reader, input, name } of missing) {
    if (!copies.names.has(name)) continue;
    instead.set(reader, (instead.get(reader) ?? new Map<number, string>()).set(input, name));
  }
  return nodes.flatMap((flat) => {
    const names = instead.get(flat);
    const inputs = flat.node.inputs.map((name, index) => names?.get(index) ?? name);
    const own = names === undefined ? flat : { ...flat, node: { ...flat.node, inputs } };
    return [own, ...(copies.behind.get(flat) ?? [])];
  });
}

interface MissingResult {
  readonly reader: FlatNode;
  /** Position of the input. */
  readonly input: number;
  /** What the program read there. */
  readonly name: string;
  /** What the file has instead. */
  readonly value: string;
}

/** Inputs where the program reads a call that is gone, of the same function as what the file has there. */
function missingResults(program: Program): readonly MissingResult[] {
  const found: MissingResult[] = [];
  for (const [name, standIns] of program.standInOf) {
    const call = program.calls.get(name);
    for (const reader of call?.members ?? []) {
      const { inputs } = reader.node;
      for (const [gone, value] of standIns) {
        if (!isSecondCall(gone, value, program)) continue;
        // One operator reads each argument where its call has it; of several, each reads what stands for it.
        const isOrdered = call?.members.length === 1 && call.read.length === inputs.length;
        inputs.forEach((input, index) => {
          if (input === value && (!isOrdered || call.read[index] === gone))
            found.push({ reader, input: index, name: gone, value });
        });
      }
    }
  }
  return found;
}

/** Whether a name that is gone is of a call like the one that made `value`, and not of one that the exporter found to do nothing. */
function isSecondCall(gone: string, value: string, program: Program): boolean {
  const maker = program.makerOf.get(value);
  if (maker === undefined || kindOf(gone) !== kindOf(value)) return false;
  return !mayDoNothing.test(kindOf(gone)) || (maker.name === value && usersLeft(value, program) === 0);
}

/** Functions that some arguments make an identity: a cast to the type it has, a slice of everything, a product with one. */
const mayDoNothing =
  /^(_?to(_copy)?|alias|clone|contiguous|convert_element_type.*|expand|reshape|view|_unsafe_view|slice|permute|transpose|t|squeeze|unsqueeze|flatten|select|pad|constant_pad_nd|mul|div|add|sub|pow|clamp|cat|repeat|dropout|detach|lift_fresh_copy|getitem)$/;

interface Copies {
  /** Operators of calls that are gone, by the operator of the call in the file that they stand behind. */
  readonly behind: ReadonlyMap<FlatNode, readonly FlatNode[]>;
  /** Results that there are again. */
  readonly names: ReadonlySet<string>;
}

/** A second call of a function: what it gives, and whose place in the program it has. */
interface Twin {
  readonly name: string;
  /** Calls of the file whose second calls read it. */
  readonly serves: Set<string>;
}

function copiesOf(
  missing: readonly MissingResult[],
  program: Program,
  renamed: (call: RecordedCall) => ReadonlyMap<string, string>,
): Copies {
  const behind = new Map<FlatNode, FlatNode[]>();
  const names = new Set<string>();
  const twins = new Map<string, Twin[]>();
  /** Second calls that read a value of the file itself. */
  const reading = new Map<string, number>();

  /** `reader`: the call of the file that reads what the whole chain gives. */
  const write = (call: RecordedCall, value: string, name: string, reader: string, depth: number): void => {
    names.add(name);
    const standIns = program.standInOf.get(call.name);
    const inputs = new Map<string, string>();
    const read = new Map<string, string>(renamed(call));
    for (const argument of new Set(call.read)) {
      const given = standIns?.get(argument) ?? argument;
      const other = argumentOf(call, argument, given, reader, depth);
      if (other === argument) continue;
      read.set(argument, other);
      inputs.set(given, other);
    }
    const made = new Map(
      call.members.flatMap(({ node }) =>
        node.outputs.map((output) => [output, output === value ? name : `${output}@${name}`] as const),
      ),
    );
    for (const flat of call.members) {
      behind.set(flat, [...(behind.get(flat) ?? []), copyOf(flat, call, name, { inputs, read, made })]);
    }
  };

  /** What the second call reads where `call` reads `argument`, for which the file has `given`. */
  const argumentOf = (
    call: RecordedCall,
    argument: string,
    given: string,
    reader: string,
    depth: number,
  ): string => {
    const maker = program.makerOf.get(given);
    if (maker === undefined || depth > deepest) return argument;
    const others = reading.get(given) ?? 0;
    const left = usersLeft(given, program);
    const goneReaders = given === argument || isDetachment(argument) ? 0 : 1;
    const isRead =
      left === undefined
        ? (program.readersOf.get(argument)?.size ?? 0) > 1 || !mayBeMadeAgain(maker, reader, program)
        : left - goneReaders > others;
    if (isRead) {
      reading.set(given, others + 1);
      // A second call that read what was detached too would be no other than the first.
      return isDetachment(argument) ? given : argument;
    }
    if (given !== argument) return argument;
    const known = twins.get(given) ?? [];
    const free = known.find(({ serves }) => !serves.has(call.name));
    if (free !== undefined) {
      free.serves.add(call.name);
      return free.name;
    }
    const name = `${given}@${known.length + 1}`;
    twins.set(given, [...known, { name, serves: new Set([call.name]) }]);
    write(maker, given, name, reader, depth + 1);
    return name;
  };

  const gone = [...new Map(missing.map(({ name, value }) => [name, value]))];
  // Each is known before any is written: what is further up in the chain of one may be another.
  for (const [name, value] of gone) {
    if (program.makerOf.has(value))
      twins.set(value, [...(twins.get(value) ?? []), { name, serves: new Set() }]);
  }
  for (const [name, value] of gone) {
    const maker = program.makerOf.get(value);
    const reader = missing.find((each) => each.name === name)?.reader.node;
    const call = reader === undefined ? undefined : callOf(reader)?.name;
    if (maker !== undefined && call !== undefined && !names.has(name)) write(maker, value, name, call, 0);
  }
  return { behind, names };
}

/** Longer chains of calls are no networks of people. */
const deepest = 2000;

interface Names {
  /** Values of the file that the operator reads, and what it reads instead. */
  readonly inputs: ReadonlyMap<string, string>;
  /** The same of what the program reads. */
  readonly read: ReadonlyMap<string, string>;
  readonly made: ReadonlyMap<string, string>;
}

function copyOf(
  { node, scope, ...rest }: FlatNode,
  call: RecordedCall,
  name: string,
  names: Names,
): FlatNode {
  const key = 'pkg.torch.onnx.fx_node';
  const text = (node.metadata.get(key) ?? '')
    .replace(/^%\w+ :/, `%${call.name}__again :`)
    .replace(/%(\w+)/g, (all, each: string) => {
      const other = names.read.get(each);
      return other === undefined ? all : `%${other.replace(/\W/g, '__')}`;
    });
  return {
    ...rest,
    node: {
      ...node,
      name: `${node.name}@${name}`,
      inputs: node.inputs.map((input) => names.made.get(input) ?? names.inputs.get(input) ?? input),
      outputs: node.outputs.map((output) => names.made.get(output) ?? output),
      metadata: new Map([...node.metadata, [key, text]]),
    },
    scope: {
      ...scope,
      ...(scope.call === undefined ? {} : { call: { ...scope.call, name: `${scope.call.name}@${name}` } }),
    },
  };
}

/**
 * Names the parameters of a second call: those of a lost module with the same last names, whose path ends as that of the call's
 * own does. Each lost module has one call.
 */
function otherModules(
  placeholders: ReadonlyMap<string, string>,
  lost: ReadonlySet<string>,
): (call: RecordedCall) => ReadonlyMap<string, string> {
  const placeholderOf = new Map([...placeholders].map(([placeholder, target]) => [target, placeholder]));
  return ({ read }) => {
    const targets = read.flatMap((name) => placeholders.get(name) ?? []);
    const own = moduleOfName(targets[0] ?? '');
    const path = own.split('.');
    const ends = (module: string): number => commonEnd(module.split('.'), path);
    const fits = [...lost].filter(
      (module) =>
        module.split('.').length === path.length &&
        // A copy has the names of its parts: a pooler that nothing reads is no copy of a table.
        (path.length === 1 || ends(module) > 0) &&
        targets.every((target) => placeholderOf.has(`${module}${target.slice(own.length)}`)),
    );
    const most = Math.max(0, ...fits.map(ends));
    const [module, ...others] = fits.filter((each) => ends(each) === most);
    if (module === undefined || others.length > 0 || own === '') return new Map();
    return new Map(
      targets.flatMap((target) => {
        const before = placeholderOf.get(target);
        const after = placeholderOf.get(`${module}${target.slice(own.length)}`);
        return before === undefined || after === undefined ? [] : [[before, after] as const];
      }),
    );
  };
}

function commonEnd(one: readonly string[], other: readonly string[]): number {
  let length = 0;
  while (length < one.length && one.at(-1 - length) === other.at(-1 - length)) length += 1;
  return length;
}
