/**
 * What is said where constant folding has computed tensors from parameters: a position embedding cut to the length of the
 * example, a bias table spread by its index. How many elements the parameter has is then not in the file.
 */

import type { Graph } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import type { Parameter } from './modelAnalysis.ts';

export function issuesOfComputedWeights(graph: Graph, parameters: readonly Parameter[]): readonly Issue[] {
  const computed = parameters.flatMap(({ name }) => {
    const sources = graph.values.get(name)?.literal?.origin?.foldedFrom ?? [];
    const source = sources.find((candidate) => candidate.includes('.'));
    return sources.length > 1 && source !== undefined ? [{ name, source }] : [];
  });
  const [first] = computed;
  if (first === undefined) return [];
  const others = computed.length === 1 ? '' : `, and ${computed.length - 1} more like it`;
  const message = `Constant folding computed \`${first.name}\` from \`${first.source}\`${others}: parameters are counted as the file stores them. Export with \`optimize=False\` to count them exactly`;
  return [{ code: 'graph/computed-weights', severity: 'information', message, value: first.name }];
}
