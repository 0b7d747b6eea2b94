/** What people know a call by: the path of its module, or of its weights, and the function where a module calls several. */

import type { Operator } from '../../model/graph.ts';
import { tally } from '../../model/tally.ts';
import { qualifiedName } from '../moduleScope.ts';
import type { GraphCalls } from './callsOfGraph.ts';
import type { GraphFacts } from './graphFacts.ts';
import type { SpecCall } from './specCall.ts';

export interface CallPath {
  /** Parts of the module's path, outermost first; empty at the root. */
  readonly module: readonly string[];
  /** The module's last part, or what is called in it. */
  readonly name: string;
  /** What is called beside others in the module: its name is that of the function. */
  readonly isFunction?: true;
}

/** By call. */
export function pathsOfCalls({ main }: GraphCalls, facts: GraphFacts): readonly CallPath[] {
  const modules = main.map((call) => moduleOf(call, facts));
  const counts = new Map<string, number>();
  const parents = new Set<string>();
  for (const module of modules) {
    const path = module.join('.');
    tally(counts, path);
    for (let length = 1; length < module.length; length += 1) parents.add(module.slice(0, length).join('.'));
  }
  return main.map((call, index) => {
    const module = modules[index] ?? [];
    const path = module.join('.');
    const isOwn = module.length > 0 && counts.get(path) === 1 && !parents.has(path);
    return isOwn
      ? { module: module.slice(0, -1), name: module.at(-1) ?? '' }
      : { module, name: functionWord(call.callee), isFunction: true };
  });
}

function moduleOf(call: SpecCall, facts: GraphFacts): readonly string[] {
  const operators = call.operators.flatMap((index) => facts.graph.operators[index] ?? []);
  const [leader] = operators;
  if (leader === undefined) return [];
  if (leader.scope.length > 0) {
    return qualifiedName({ paths: leader.scope, moduleClass: undefined }).split('.').filter(Boolean);
  }
  return moduleOfWeights(operators, facts);
}

/** `layer1.0.conv1` of a weight `layer1.0.conv1.weight`. */
function moduleOfWeights(operators: readonly Operator[], facts: GraphFacts): readonly string[] {
  for (const name of operators.flatMap(({ inputs }) => inputs)) {
    const base = facts.weight(name)?.base;
    if (base === undefined) continue;
    const module = base.replace(/[._/](weight|bias|kernel|gamma|beta|scale|w|b)(_\d+)?$/i, '');
    if (module !== base) return module.split(/[./]/).filter(Boolean);
  }
  return [];
}

/** `Conv2d` is called `conv`, `ReLU` `relu`. */
export const functionWord = (callee: string): string =>
  shortNames[callee] ?? callee.replace(/\dd$/, '').replace(/.*\./, '').toLowerCase();

const shortNames: Readonly<Record<string, string>> = {
  scaled_dot_product_attention: 'attention',
};
