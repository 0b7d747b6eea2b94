/**
 * Regions of a program that `torch.utils.checkpoint` runs: forward keeps what goes in, and backward computes them again.
 *
 * The program has their operators as if nothing were checkpointed; what says it is the stack trace of each, which goes through
 * the line that calls `checkpoint`, in `forward` of a module. Dynamo writes a call of a graph instead,
 * `tag_activation_checkpoint`. Sources, PyTorch 2.13: torch/utils/checkpoint.py; torch/fx/proxy.py, which keeps frames of
 * `forward` alone; torch/_higher_order_ops/wrap.py.
 */

import type { AtenGraph, AtenModule, AtenNode } from '../../formats/pt2/syntax.ts';
import {
  besideCheckpoint,
  callsCheckpoint,
  choosesCheckpoint,
  type PythonFrame,
  parseStackTrace,
} from '../../formats/stackTrace.ts';
import type { Issue } from '../../model/issue.ts';
import { memoize } from '../../model/memoize.ts';

export const gradientRegion = 'torch.ops.higher_order.wrap_with_set_grad_enabled';
export const checkpointRegion = 'torch.ops.higher_order.tag_activation_checkpoint';

export interface Checkpoints {
  /** The number of the call of `checkpoint` that runs a node; nodes outside are absent. */
  readonly groupOf: ReadonlyMap<AtenNode, number>;
  readonly groups: number;
  /**
   * Regions without gradient that `use_reentrant=True` leaves in the program. Backward runs them with gradients. The first
   * does not end where its call ends, as its end is not traced: whatever follows seems to be without gradients too.
   */
  readonly reentrant: ReadonlySet<AtenNode>;
  /** A line that calls it, where one is recorded. */
  readonly frame: PythonFrame | undefined;
}

export function findCheckpoints(graph: AtenGraph): Checkpoints {
  const groupOf = new Map<AtenNode, number>();
  let groups = 0;
  let frame: PythonFrame | undefined;
  const give = (nodes: readonly AtenNode[]): void => {
    for (const node of nodes) groupOf.set(node, groups);
    groups += 1;
  };
  let run: Site[] = [];
  const close = (): void => {
    for (const group of callsOf(run)) give(group.map(({ node }) => node));
    run = [];
  };
  const siteOf = siteFinder();
  const visit = (node: AtenNode): void => {
    const inner = graphsOf(node);
    if (node.target === checkpointRegion) {
      close();
      give(inner.flatMap(({ nodes }) => nodes));
      return;
    }
    for (const { nodes } of inner) for (const called of nodes) visit(called);
    // Calls of graphs, and what takes their results apart, have no trace.
    if (node.stackTrace === '') return;
    const site = siteOf(node);
    if (site === undefined || run.some(({ key }) => key !== site.key)) close();
    if (site === undefined) return;
    frame ??= site.frame;
    run.push(site);
  };
  for (const node of graph.nodes) visit(node);
  close();
  return { groupOf, groups, reentrant: reentrantRegions(graph, groupOf), frame };
}

function reentrantRegions(graph: AtenGraph, groupOf: ReadonlyMap<AtenNode, number>): ReadonlySet<AtenNode> {
  const regions = graph.nodes.filter(({ target }) => target === gradientRegion);
  const first = regions.findIndex((node) =>
    graphsOf(node).some(({ nodes }) => nodes.some((called) => groupOf.has(called))),
  );
  return new Set(first < 0 ? [] : regions.slice(first));
}

const graphsOf = ({ arguments: given }: AtenNode): readonly AtenGraph[] =>
  [...given.values()].flatMap((argument) => (argument.kind === 'graph' ? [argument.graph] : []));

/** Where a node is called from under `checkpoint`. */
interface Site {
  readonly node: AtenNode;
  /** Alike for all nodes of a call, and for calls one after another on the same line. */
  readonly key: string;
  readonly frame: PythonFrame;
  readonly caller: AtenModule | undefined;
  /** The module below the one that calls; absent for operators of a function that is checkpointed. */
  readonly child: AtenModule | undefined;
  /** Whether modules stand below that one. */
  readonly isDeep: boolean;
}

function siteFinder(): (node: AtenNode) => Site | undefined {
  const framesOf = memoize(parseStackTrace);
  return (node) => {
    const frames = framesOf(node.stackTrace);
    const at = frames.findIndex(callsCheckpoint);
    const frame = frames[at];
    if (frame === undefined) return undefined;
    // Each module on the way is one call of `forward`.
    const depth = frames.slice(0, at + 1).filter((each) => each.function === 'forward').length;
    const [caller, child, ...below] = node.modules.slice(Math.max(0, depth - 1));
    const places = frames.slice(0, at + 1).map(({ path, line }) => `${path}:${line}`);
    const key = [caller?.path ?? '', ...places].join('\n');
    return { node, key, frame, caller, child, isDeep: below.length > 0 };
  };
}

/**
 * Nodes that one line runs one after another, as calls of `checkpoint`: a loop calls it for one block after another; a function
 * that calls several modules is one.
 */
function callsOf(run: readonly Site[]): readonly (readonly Site[])[] {
  if (run.length === 0) return [];
  const paths = [...new Set(run.map(({ child }) => child?.path))];
  if (!isMethod(run, paths) && run.some(isBeside)) return partsOf(run).flatMap(callsOf);
  if (paths.length === 1 || paths.includes(undefined) || isMethod(run, paths)) return [run];
  const isLoop = paths.every((path) => run.some(({ child, isDeep }) => child?.path === path && isDeep));
  if (!isLoop) return [run];
  const found: Site[][] = [];
  for (const site of run) {
    const last = found.at(-1);
    if (last !== undefined && last[0]?.child?.path === site.child?.path) last.push(site);
    else found.push([site]);
  }
  return found;
}

/** Whether an operator of the line itself takes the result: the sum of `x + checkpoint(block, x)`. */
function isBeside({ node, frame, child }: Site): boolean {
  if (child !== undefined) return false;
  const symbol = besideCheckpoint(frame);
  return symbol !== undefined && namesOfSymbols[symbol]?.test(node.target) === true;
}

const namesOfSymbols: Readonly<Record<string, RegExp>> = {
  '+': /\baten\.add_?\./,
  '-': /\baten\.r?sub_?\./,
  '*': /\baten\.mul_?\./,
  '/': /\baten\.div_?\./,
};

function partsOf(run: readonly Site[]): readonly (readonly Site[])[] {
  const parts: Site[][] = [[]];
  for (const site of run) {
    if (isBeside(site)) parts.push([]);
    else parts.at(-1)?.push(site);
  }
  return parts;
}

/** `checkpoint(self.mix, x)` where `mix` is none of the modules that run. */
function isMethod(run: readonly Site[], paths: readonly (string | undefined)[]): boolean {
  const [first] = run;
  const name = /\(\s*self\.(\w+)\s*[,)]/.exec(first?.frame.text ?? '')?.[1];
  const prefix = first?.caller?.path ? `${first.caller.path}.` : '';
  return name !== undefined && !paths.some((path) => path?.startsWith(prefix + name));
}

/** `pt2/checkpoint`: says what is computed again, and how to cost the step without. */
export function checkpointIssues({ groups, frame }: Checkpoints): readonly Issue[] {
  if (groups === 0) return [];
  const place = frame === undefined ? '' : `, first in line ${frame.line} of \`${fileOf(frame)}\``;
  const count = groups === 1 ? 'One call' : `${groups} calls`;
  const doubt =
    frame !== undefined && choosesCheckpoint(frame)
      ? '. That line also calls without it, and the file does not say which ran'
      : '';
  return [
    {
      code: 'pt2/checkpoint',
      severity: 'information',
      message: `${count} of the program ${groups === 1 ? 'is' : 'are'} checkpointed${place}: backward computes them again${doubt}. Set \`checkpoint: none\` to cost the step without`,
    },
  ];
}

const fileOf = ({ path }: PythonFrame): string => path.slice(path.lastIndexOf('/') + 1);
