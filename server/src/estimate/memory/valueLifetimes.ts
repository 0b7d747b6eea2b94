/** Until when forward holds each value that it stores, kept for backward or not. */

import { layersByOperator } from '../../analysis/layersByOperator.ts';
import type { ModelAnalysis, TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { LoweredGraph } from '../../frameworks/behaviour.ts';
import type { Graph, Layer, Operator } from '../../model/graph.ts';
import { memoize, memoizeOfObject } from '../../model/memoize.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';

export interface LoweredTraining {
  readonly training: TrainingGraph;
  readonly lowered: LoweredGraph;
}

export interface ValueLifetimes {
  /** The value whose memory a value shares: itself, or what it is a view of. */
  readonly rootOf: (name: string) => string;
  /** The operator behind which each stored value is let go of; the number of operators where it is there to the end. */
  readonly lastUse: ReadonlyMap<string, number>;
}

export type Variables = 'held' | 'let go of';

/**
 * A value is let go of behind its last reader, and what goes in or out of the model is there to the end. Where a program
 * calls modules, what a module was given is there until it returns, as the frames of the call hold it (PyTorch 2.x
 * torch/nn/modules/module.py, `Module._call_impl`, whose `args` it is): the input of a row of blocks through all of them.
 * Which variables name a value beside that is not known: where they hold it, they do until the call returns whose code has
 * it, which is the longest that they can.
 */
export function valueLifetimes(
  { training, lowered }: LoweredTraining,
  variables: Variables = 'let go of',
): ValueLifetimes {
  const { graph } = training.analysis;
  const root = new Map<string, string>();
  const lastUse = new Map<string, number>();
  const rootOf = (name: string): string => root.get(name) ?? name;
  const calls = lowered.callsModules === true ? callsIn(training.analysis) : undefined;
  const hold = (name: string, until: number): void => {
    const before = lastUse.get(name);
    if (before === undefined || before < until) lastUse.set(name, until);
  };
  const { operators, values } = graph;
  // Models have tens of thousands of operators, most of which keep nothing: no iterators, no pairs.
  for (let index = 0; index < operators.length; index += 1) {
    const operator = operators[index];
    if (operator === undefined) continue;
    const kernels = lowered.operators[index];
    const source = operator.inputs[0];
    for (const input of operator.inputs) {
      const until =
        calls === undefined ? index : returnOf(calls, index, values.get(input)?.producer, variables);
      hold(rootOf(input), until);
    }
    for (const output of operator.outputs) {
      if (kernels?.view === true && source !== undefined) root.set(output, rootOf(source));
      hold(rootOf(output), index);
    }
    if (kernels === undefined) continue;
    // A fused kernel runs at the last of its operators, and keeps what the first of them read.
    for (const { key } of kernels.saved) {
      const name = rootOf(key.slice(0, key.lastIndexOf(':')));
      if (lastUse.has(name)) hold(name, index);
    }
  }
  for (const name of [...graph.inputs, ...graph.outputs]) lastUse.set(rootOf(name), graph.operators.length);
  return { rootOf, lastUse };
}

/** Found once for an analysis, whatever its batch; `undefined` where nobody says which modules there are. */
const callsIn = memoizeOfObject((analysis: ModelAnalysis): Calls | undefined => {
  const scopes = scopesOf(analysis);
  return scopes && callsOf(analysis.graph, scopes);
});

type Scopes = (operator: Operator) => readonly string[];

/** The modules around an operator: as its exporter recorded them, else by the layers of an archive or a spec; `undefined` where none are. */
function scopesOf({ graph, layers }: ModelAnalysis): Scopes | undefined {
  if (graph.operators.some(({ scope }) => scope.length > 0)) return ({ scope }) => scope;
  if (!layers.some(({ ancestors }) => ancestors.length > 0)) return undefined;
  const byOperator = layersByOperator(layers);
  const pathOf = memoize(({ ancestors, name }: Layer): readonly string[] => [...ancestors, name]);
  return ({ index }) => {
    const layer = byOperator.get(index);
    return layer === undefined ? [] : pathOf(layer);
  };
}

/** One call of a module: its first and last operator. */
interface Call {
  readonly path: string;
  readonly start: number;
  end: number;
  /** It calls numbered modules and does nothing else: `Sequential`, whose one variable is overwritten (torch/nn/modules/container.py). */
  isRow: boolean;
}

/** By operator, the calls that it runs in, outermost first. */
type Calls = readonly (readonly Call[])[];

/** When what a reader was given is let go of at the earliest, or, where variables hold it, at the latest. */
function returnOf(calls: Calls, reader: number, producer: number | undefined, variables: Variables): number {
  const around = calls[reader] ?? [];
  const made = producer ?? -1;
  let given = reader;
  for (const { start, end } of around) {
    if (start <= made) continue;
    given = end;
    break;
  }
  if (variables === 'let go of' || producer === undefined) return given;
  const both = (calls[producer] ?? []).findLast((call, depth) => around[depth] === call);
  if (both === undefined) return calls.length - 1;
  return both.isRow ? given : both.end;
}

/** Operators of one module that stand together are one call of it. */
function callsOf({ operators }: Graph, scopes: Scopes): Calls {
  let running: readonly Call[] = [];
  return operators.map((operator) => {
    const { index } = operator;
    const scope = scopes(operator);
    // Constants stand where the exporter put them.
    if (hasTrait(operator, 'constant')) return [];
    const ending = scope.findIndex((path, depth) => running[depth]?.path !== path);
    const depth = ending < 0 ? scope.length : ending;
    const begun = scope.slice(depth).map((path) => ({ path, start: index, end: index, isRow: true }));
    if (begun.length > 0 || running.length > depth) running = [...running.slice(0, depth), ...begun];
    for (const [level, call] of running.entries()) {
      call.end = index;
      const inside = running[level + 1]?.path;
      if (inside === undefined || !isNumbered(inside)) call.isRow = false;
    }
    return running;
  });
}

const isNumbered = (path: string): boolean => /(\.\d+|\[\d+\])$/.test(path);
