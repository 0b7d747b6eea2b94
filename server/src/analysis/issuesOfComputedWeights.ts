/**
 * What is said where constant folding has computed tensors from parameters: a position embedding cut to the length of the
 * example, a bias table spread by its index, a kernel that weight normalization makes of a direction and a length (Salimans and
 * Kingma, arXiv 1602.07868). How many elements the parameters have is then not in the file.
 */

import type { Graph } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import { isArithmeticName, isLookUpName } from '../model/tensorNames.ts';
import type { Parameter } from './modelAnalysis.ts';

export function issuesOfComputedWeights(graph: Graph, parameters: readonly Parameter[]): readonly Issue[] {
  const computed = parameters.flatMap(({ name }) => {
    const { foldedFrom = [], parameter } = graph.values.get(name)?.literal?.origin ?? {};
    const source = parameter ?? foldedFrom.find((candidate) => candidate.includes('.'));
    return source !== undefined &&
      [...foldedFrom, name].some((each) => isLookUpName(each) || isArithmeticName(each))
      ? [{ name, source }]
      : [];
  });
  const [first] = computed;
  if (first === undefined) return [];
  const others = computed.length === 1 ? '' : `, and ${computed.length - 1} more like it`;
  const message = `Constant folding replaced \`${first.source}\` by what was computed from it${others}: parameters are counted as the file stores them, and the time of computing it in each step is left out. Export with \`optimize=False\` to have both`;
  return [{ code: 'graph/computed-weights', severity: 'information', message, value: first.name }];
}
