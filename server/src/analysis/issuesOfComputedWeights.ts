/**
 * What is said where constant folding has computed tensors from parameters: a position embedding cut to the length of the
 * example, a bias table spread by its index. How many elements the parameter has is then not in the file.
 */

import type { Graph } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import type { Parameter } from './modelAnalysis.ts';

export function issuesOfComputedWeights(graph: Graph, parameters: readonly Parameter[]): readonly Issue[] {
  const computed = parameters.flatMap(({ name }) => {
    const { foldedFrom = [], parameter } = graph.values.get(name)?.literal?.origin ?? {};
    const source = parameter ?? foldedFrom.find((candidate) => candidate.includes('.'));
    return source !== undefined && [...foldedFrom, name].some((each) => cutting.test(each))
      ? [{ name, source }]
      : [];
  });
  const [first] = computed;
  if (first === undefined) return [];
  const others = computed.length === 1 ? '' : `, and ${computed.length - 1} more like it`;
  const message = `Constant folding replaced \`${first.source}\` by what was taken from it${others}: parameters are counted as the file stores them. Export with \`optimize=False\` to count them exactly`;
  return [{ code: 'graph/computed-weights', severity: 'information', message, value: first.name }];
}

/** Values that PyTorch's exporter names after operators that may leave elements out. */
const cutting =
  /^_?(chunk|embedding|gather|getitem|index|index_select|narrow|select|slice|split|unbind)(_\d+)*$/;
