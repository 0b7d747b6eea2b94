/** What a report says of attention: what was assumed of it, and what the option `attention` of a framework cannot change. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { hasOption } from '../frameworks/registry.ts';
import type { Graph } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import type { Scenario } from '../model/scenario.ts';

export function attentionIssues(training: TrainingGraph, { framework }: Scenario): readonly Issue[] {
  const { graph, composites } = (training.folded ?? training).analysis;
  const { attention = 'as-exported' } = framework.options;
  if (attention === 'eager') return fusedAnyway(graph);
  if (attention !== 'as-exported' || !hasOption(framework.name, 'attention')) return [];
  const assumed = [...composites.values()].find(
    ({ kind, launchedAs }) => kind === 'attention' && launchedAs === 'assumed-one',
  );
  const last = graph.operators[assumed?.operators.at(-1) ?? -1];
  if (last === undefined) return [];
  return [
    {
      code: 'scenario/assumed-attention',
      severity: 'information',
      message: `The graph does not show whether attention was one fused kernel or several, first at \`${last.name || last.outputs[0]}\`: one is costed; set \`attention=eager\` if scores are stored`,
      scenarioKey: 'framework',
      scenarioPart: 'attention',
    },
  ];
}

/** An operator that is attention as a whole stores no scores, whatever the framework is told. */
function fusedAnyway(graph: Graph): readonly Issue[] {
  const whole = graph.operators.find(({ domain, type }) => domain === '' && type === 'Attention');
  if (whole === undefined) return [];
  return [
    {
      code: 'scenario/invalid',
      severity: 'information',
      message: `\`attention=eager\` has no effect on \`Attention\` operators, which are one kernel, first \`${whole.name || whole.outputs[0]}\`; in a layer spec, \`fused=False\` writes attention out`,
      scenarioKey: 'framework',
      scenarioPart: 'attention',
    },
  ];
}
