/** An estimate whose layers are other groups of the same operators: those of the lines that a text shows. */

import type { ModelAnalysis, TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { Layer } from '../model/graph.ts';
import { costStep } from './costStep.ts';
import type { ModelEstimate } from './estimateModel.ts';

/** `group` gives every operator of the analysis to one layer. Totals stay as they are: grouping costs nothing. */
export function regroupEstimate(
  estimate: ModelEstimate,
  group: (analysis: ModelAnalysis) => readonly Layer[],
): ModelEstimate {
  const { training, scenario, cluster, cost, opened } = estimate;
  const known = opened.analysis;
  if (training === undefined || scenario === undefined || cluster === undefined || known === undefined) {
    return estimate;
  }
  const { folded: _, ...analysis } = { ...known, layers: group(known) };
  const { folded: __, ...whole } = training;
  const regrouped: TrainingGraph = { ...whole, analysis };
  const reasons = estimate.leftOut.map(({ message }) => message);
  return {
    ...estimate,
    opened: { ...opened, analysis },
    training: regrouped,
    cost: cost && costStep(regrouped, scenario, cluster, estimate.measurements, reasons, estimate.prefill),
  };
}
