/** Until when forward holds each value that it stores, kept for backward or not. */

import type { Graph, Operator } from '../model/graph.ts';
import type { StepPlan } from './stepPlan.ts';

export interface ValueLifetimes {
  /** The value whose memory a value shares: itself, or what it is a view of. */
  readonly rootOf: (name: string) => string;
  /** The operator behind which each stored value is let go of; the number of operators where it is there to the end. */
  readonly lastUse: ReadonlyMap<string, number>;
}

/**
 * A value is let go of behind its last reader, and what goes in or out of the model is there to the end. Where a program
 * calls modules, what a module was given is there until it returns, as the frames of the call hold it (PyTorch 2.x
 * torch/nn/modules/module.py, `Module._call_impl`, whose `args` it is): the input of a row of blocks through all of them.
 * Variables of a program beside those are not known.
 */
export function valueLifetimes({
  training,
  lowered,
}: Pick<StepPlan, 'training' | 'lowered'>): ValueLifetimes {
  const { graph } = training.analysis;
  const root = new Map<string, string>();
  const lastUse = new Map<string, number>();
  const rootOf = (name: string): string => root.get(name) ?? name;
  const returnOf = lowered.callsModules === true ? returnsOfCalls(graph) : undefined;
  for (const [index, operator] of graph.operators.entries()) {
    const [source] = operator.inputs;
    for (const input of operator.inputs) {
      const name = rootOf(input);
      const until = returnOf?.(operator, graph.values.get(input)?.producer ?? -1) ?? index;
      lastUse.set(name, Math.max(lastUse.get(name) ?? until, until));
    }
    for (const output of operator.outputs) {
      if (lowered.operators[index]?.view === true && source !== undefined) root.set(output, rootOf(source));
      lastUse.set(rootOf(output), Math.max(lastUse.get(rootOf(output)) ?? index, index));
    }
  }
  for (const name of [...graph.inputs, ...graph.outputs]) lastUse.set(rootOf(name), graph.operators.length);
  return { rootOf, lastUse };
}

/** The last operator of the outermost call around a reader that a value was made before; the reader where there is none. */
type ReturnOf = (reader: Operator, producer: number) => number;

/** Operators of one module that stand together are one call of it. */
function returnsOfCalls({ operators }: Graph): ReturnOf {
  const calls = new Map<string, { readonly start: number; end: number }[]>();
  /** Calls that are running, outermost first, with their modules. */
  let running: { readonly path: string; readonly call: { readonly start: number; end: number } }[] = [];
  const around: (readonly { readonly start: number; readonly end: number }[])[] = [];
  for (const { index, type, scope } of operators) {
    // Constants stand where the exporter put them.
    if (type === 'Constant') {
      around.push([]);
      continue;
    }
    let depth = 0;
    while (depth < scope.length && running[depth]?.path === scope[depth]) depth += 1;
    running = running.slice(0, depth);
    for (const path of scope.slice(depth)) {
      const call = { start: index, end: index };
      running.push({ path, call });
      calls.set(path, [...(calls.get(path) ?? []), call]);
    }
    for (const { call } of running) call.end = index;
    around.push(running.map(({ call }) => call));
  }
  return (reader, producer) =>
    around[reader.index]?.find(({ start }) => start > producer)?.end ?? reader.index;
}
