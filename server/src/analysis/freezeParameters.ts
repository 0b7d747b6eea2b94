/**
 * Parameters that a person says are not trained: fine-tuning of a head or of adapters.
 *
 * ONNX has no `requires_grad`. A frozen parameter receives no gradient, so that it has no optimizer state and no message,
 * and backward ends where nothing before it is trained (PyTorch, "Autograd mechanics", `requires_grad`).
 */

import type { Graph } from '../model/graph.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { ModelAnalysis, Parameter } from './modelAnalysis.ts';
import { isInside, modulesAround, namesOf } from './parameterNames.ts';
import { planCosting } from './planCosting.ts';

export interface FrozenAnalysis {
  readonly analysis: ModelAnalysis;
  /** Patterns that no parameter matches. */
  readonly unmatched: readonly string[];
  /** Names that patterns are matched with. */
  readonly names: readonly string[];
}

/**
 * The analysis with the parameters frozen that `patterns` name. A pattern names a parameter, or a module with all inside;
 * `*` stands for any characters. With `!` in front it takes parameters out again; the last one that matches decides.
 */
export const freezeParameters = memoizeRecent(
  (analysis: ModelAnalysis, patterns: readonly string[]): FrozenAnalysis => {
    const named = analysis.parameters.map((parameter) => ({
      parameter,
      names: namesOf(parameter, analysis),
    }));
    const matched = new Set<string>();
    const frozen: Parameter[] = [];
    for (const { parameter, names } of named) {
      let isFrozen = false;
      for (const pattern of patterns) {
        const glob = pattern.replace(/^!/, '');
        if (!names.some((name) => isInside(glob, name))) continue;
        matched.add(pattern);
        isFrozen = glob === pattern;
      }
      if (isFrozen) frozen.push(parameter);
    }
    return {
      analysis: frozen.length === 0 ? analysis : withFrozen(analysis, frozen),
      unmatched: patterns.filter((pattern) => !matched.has(pattern)),
      names: [
        ...new Set(named.flatMap(({ names }) => names.flatMap((name) => [name, ...modulesAround(name)]))),
      ],
    };
  },
  isSameContent,
);

/** The same analysis, costed without gradients of `frozen`; it is not folded, as blocks may differ in what is trained. */
function withFrozen(analysis: ModelAnalysis, frozen: readonly Parameter[]): ModelAnalysis {
  const names = new Set(frozen.map(({ name }) => name));
  const graph = withFrozenValues(analysis.graph, names, analysis.costing.auxiliary.storedLayout);
  const { folded: _, ...whole } = analysis;
  return {
    ...whole,
    graph,
    parameters: analysis.parameters.filter(({ name }) => !names.has(name)),
    frozen: [...analysis.frozen, ...frozen],
    costing: planCosting(graph, analysis.costing.auxiliary),
  };
}

/** A parameter in another layout is frozen with it. */
function withFrozenValues(graph: Graph, names: ReadonlySet<string>, storedLayout: readonly boolean[]): Graph {
  const values = new Map(graph.values);
  const freeze = (name: string): void => {
    const value = values.get(name);
    if (value !== undefined) values.set(name, { ...value, role: 'frozen' });
  };
  for (const name of names) freeze(name);
  for (const { index, inputs, outputs } of graph.operators) {
    if (storedLayout[index] !== true || values.get(inputs[0] ?? '')?.role !== 'frozen') continue;
    for (const name of outputs) if (name !== '') freeze(name);
  }
  return { ...graph, values };
}
