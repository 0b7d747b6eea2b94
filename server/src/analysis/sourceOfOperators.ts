/** Which node of the file each operator comes from. */

import type { ModelAnalysis } from './modelAnalysis.ts';

/** By index of an operator: the index of its node. A folded analysis is asked without being unfolded. */
export function sourceOfOperators(analysis: ModelAnalysis): (operator: number) => number | undefined {
  if (analysis.folded !== undefined) return analysis.folded.sourceOf;
  const { operators } = analysis.graph;
  return (operator) => operators[operator]?.source;
}
