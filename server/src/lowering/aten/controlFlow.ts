/**
 * Calls of graphs that decide what runs, and how often: `scan`, `map`, `while_loop` and `cond` (torch/_higher_order_ops of
 * PyTorch 2.13).
 *
 * How often a loop runs, shapes say, or its counter: it is then written out, as eager PyTorch runs one step after another. What
 * stays open, or would be too large, keeps its name and has no cost.
 */

import type { AtenArgument, AtenGraph, AtenNode } from '../../formats/pt2/syntax.ts';
import type { Issue } from '../../model/issue.ts';
import { int, type Tensor } from '../layer-spec/layerDefinition.ts';
import type { AtenCall } from './atenCall.ts';
import { iterationsOf } from './loopCounter.ts';

const prefix = 'torch.ops.higher_order.';

export const isControlFlow = ({ target }: AtenNode): boolean =>
  target.startsWith(prefix) && target.slice(prefix.length) in runs;

/** A call while it is lowered. */
export interface ControlFlow {
  readonly node: AtenNode;
  readonly call: AtenCall;
  /** Graphs that it is given, in order. */
  readonly graphs: readonly AtenGraph[];
  /** Lists of tensors that it is given, in order. */
  readonly lists: readonly (readonly (Tensor | undefined)[])[];
  /** Names of the same. */
  readonly names: readonly (readonly string[])[];
  /** The number that fills a tensor of the graph around; `undefined` where nothing says it. */
  readonly filledWith: (name: string) => number | undefined;
  /** Adds the operators of a graph. */
  readonly run: (graph: AtenGraph, given: readonly (Tensor | undefined)[]) => Results;
  readonly tell: (issue: Issue) => void;
  /** Operators so far. */
  readonly size: () => number;
}

type Results = readonly (Tensor | undefined)[];

/** The results of a call, or `undefined` where it stays what it is. */
export const lowerControlFlow = (flow: ControlFlow): Results | undefined =>
  runs[flow.node.target.slice(prefix.length)]?.(flow);

const scan = (flow: ControlFlow): Results | undefined => {
  const { graphs, lists, call } = flow;
  const [step] = graphs;
  const [initial = [], scanned = [], others = []] = lists;
  const count = lengthOf(flow, scanned, step);
  if (step === undefined || count === undefined) return undefined;
  let carried: Results = initial;
  const kept: (Tensor | undefined)[][] = [];
  for (let at = 0; at < count; at += 1) {
    const given = [...carried, ...scanned.map((all) => entryOf(call, all, at)), ...others];
    const results = flow.run(renamed(step, `#${at}`), given);
    carried = results.slice(0, initial.length);
    kept.push(results.slice(initial.length));
  }
  return [...carried, ...stacked(call, kept)];
};

const map = (flow: ControlFlow): Results | undefined => {
  const { graphs, lists, call } = flow;
  const [body] = graphs;
  const [mapped = [], others = []] = lists;
  const count = lengthOf(flow, mapped, body);
  if (body === undefined || count === undefined) return undefined;
  const results = Array.from({ length: count }, (_, at) =>
    flow.run(renamed(body, `#${at}`), [...mapped.map((all) => entryOf(call, all, at)), ...others]),
  );
  return stacked(call, results);
};

const whileLoop = (flow: ControlFlow): Results | undefined => {
  const [condition, body] = flow.graphs;
  const [initial = [], others = []] = flow.lists;
  if (condition === undefined || body === undefined) return undefined;
  const starts = (flow.names[0] ?? []).map(flow.filledWith);
  const counted = iterationsOf(condition, body, starts);
  if (counted === undefined || isTooLarge(flow, counted.iterations, body)) return undefined;
  if (counted.isAssumed) flow.tell(assumedStart(flow, counted.iterations));
  let carried: Results = initial;
  for (let at = 0; at < counted.iterations; at += 1)
    carried = flow.run(renamed(body, `#${at}`), [...carried, ...others]);
  return carried;
};

const conditional = (flow: ControlFlow): Results | undefined => {
  const [yes, no] = flow.graphs;
  const [given = []] = flow.lists;
  if (yes === undefined || no === undefined) return undefined;
  const taken = elementsRead(no) > elementsRead(yes) ? no : yes;
  flow.tell(dearerBranch(flow, taken === yes ? 'first' : 'second'));
  return flow.run(renamed(taken, '#'), given);
};

const runs: Readonly<Record<string, (flow: ControlFlow) => Results | undefined>> = {
  scan,
  map_impl: map,
  while_loop: whileLoop,
  cond: conditional,
};

/** How many entries the leading axis has; `undefined` where that is open, or makes too much. */
function lengthOf(flow: ControlFlow, tensors: Results, body: AtenGraph | undefined): number | undefined {
  const length = tensors[0]?.shape?.[0];
  const isKnown = typeof length === 'number' && body !== undefined;
  return isKnown && !isTooLarge(flow, length, body) ? length : undefined;
}

/** Loops inside loops count what was written out before them. */
const isTooLarge = ({ size }: ControlFlow, iterations: number, { nodes }: AtenGraph): boolean =>
  !Number.isInteger(iterations) || iterations < 1 || size() + iterations * nodes.length > mostNodes;

/** A scan of 2,000 steps of ten calls; more take seconds to cost. */
const mostNodes = 20_000;

const entryOf = (call: AtenCall, all: Tensor | undefined, at: number): Tensor | undefined =>
  all && call.emit('Gather', [all, call.scalar(at, 'int64')], { axis: int(0) })[0];

/** Results of all steps along a new leading axis. */
function stacked(call: AtenCall, steps: readonly Results[]): Results {
  const axes = call.integers([0]);
  return (steps[0] ?? []).map((_, index) => {
    const parts = steps.flatMap((results) => results[index] ?? []);
    if (parts.length < steps.length) return undefined;
    const wide = parts.flatMap((part) => call.emit('Unsqueeze', [part, axes]));
    return call.emit('Concat', wide, { axis: int(0) })[0];
  });
}

/** Elements that all operators of a graph read and write: the branch with more takes longer. */
function elementsRead({ nodes, tensors }: AtenGraph): number {
  const sizeOf = (name: string): number =>
    (tensors.get(name)?.shape ?? []).reduce<number>(
      (all, size) => all * (typeof size === 'number' ? size : 1),
      tensors.has(name) ? 1 : 0,
    );
  return nodes.reduce(
    (sum, node) => [...namesIn(node), ...node.outputs].reduce((all, name) => all + sizeOf(name), sum),
    0,
  );
}

const namesIn = ({ arguments: given }: AtenNode): readonly string[] =>
  [...given.values()].flatMap((argument) => {
    if (argument.kind === 'tensor') return [argument.name];
    return argument.kind === 'tensors' ? argument.names.flatMap((name) => name ?? []) : [];
  });

/** The graph as one of several calls: composites are found by the names of calls. */
function renamed(graph: AtenGraph, suffix: string): AtenGraph {
  const nameOf = (name: string): string => (name === '' ? '' : `${name}${suffix}`);
  return {
    ...graph,
    tensors: new Map([...graph.tensors].map(([name, meta]) => [nameOf(name), meta])),
    inputs: graph.inputs.map(nameOf),
    outputs: graph.outputs.map(nameOf),
    nodes: graph.nodes.map((node) => ({
      ...node,
      outputs: node.outputs.map(nameOf),
      arguments: new Map([...node.arguments].map(([key, argument]) => [key, withNames(argument, nameOf)])),
    })),
  };
}

function withNames(argument: AtenArgument, nameOf: (name: string) => string): AtenArgument {
  if (argument.kind === 'tensor') return { ...argument, name: nameOf(argument.name) };
  if (argument.kind !== 'tensors') return argument;
  return {
    ...argument,
    names: argument.names.map((name) => (name === undefined ? undefined : nameOf(name))),
  };
}

const placeOf = ({ outputs, modules, target }: AtenNode): string => {
  const path = modules.at(-1)?.path ?? '';
  return `\`${outputs[0] ?? target}\`${path === '' ? '' : ` in \`${path}\``}`;
};

const dearerBranch = ({ node }: ControlFlow, which: string): Issue => ({
  code: 'pt2/branch',
  severity: 'information',
  message: `Data decides which branch of the \`cond\` at ${placeOf(node)} runs. The ${which} one, which reads and writes more, is costed in every step`,
});

const assumedStart = ({ node }: ControlFlow, iterations: number): Issue => ({
  code: 'pt2/loop',
  severity: 'information',
  message: `The \`while_loop\` at ${placeOf(node)} is costed with ${iterations} iterations. Its counter begins at a stored number, taken as 0`,
});
