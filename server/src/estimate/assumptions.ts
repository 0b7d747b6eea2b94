/** What was assumed because the graph does not show it, what options of a framework cannot change, and what it refuses. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { Composites } from '../composites/findComposites.ts';
import { updatesOnHost } from '../frameworks/offload.ts';
import { hasOption, optionValues } from '../frameworks/registry.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { hostMemoryRate } from '../hardware/hostMemory.ts';
import { formatBandwidth } from '../model/format.ts';
import type { Graph } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import type { Scenario } from '../model/scenario.ts';
import { hasTrait } from '../operators/operatorFacts.ts';
import { measuredStepIssues } from './measuredStepIssues.ts';
import { sharedHeadIssues } from './sharedHeads.ts';
import { sparseGradientIssues } from './sparseGradients.ts';
import { partIssues } from './tooManyParts.ts';

export const assumptionsOf = (
  training: TrainingGraph,
  scenario: Scenario,
  { gpu, host }: ClusterProfile,
): readonly Issue[] => [
  ...attentionIssues(training, scenario),
  ...sharedHeadIssues(training, scenario, gpu.architecture),
  ...inPlaceIssues(training, scenario),
  ...routingIssues(training),
  ...maximumIssues(training, scenario),
  ...sparseGradientIssues(training, scenario),
  ...partIssues(training, scenario),
  ...measuredStepIssues(scenario),
  ...hostMemoryIssues(scenario, host),
];

/** How fast the processors of a node stream through their memory, where the optimizer runs there. */
function hostMemoryIssues({ framework, mode }: Scenario, host: ClusterProfile['host']): readonly Issue[] {
  const isKnown = host?.memoryBandwidth !== undefined;
  if (isKnown || mode !== 'training' || !updatesOnHost(optionValues(framework))) return [];
  const { low, high } = hostMemoryRate(host);
  return [
    {
      code: 'scenario/assumed-host-memory',
      severity: 'information',
      message: `The optimizer runs on the host, whose memory bandwidth the cluster does not say: ${formatBandwidth(low)} to ${formatBandwidth(high)} are assumed`,
      scenarioKey: 'cluster',
    },
  ];
}

/** In place, an activation keeps its result; otherwise its input, which nothing else may need. */
function inPlaceIssues(training: TrainingGraph, { framework, mode }: Scenario): readonly Issue[] {
  if (mode !== 'training' || !hasOption(framework.name, 'in-place')) return [];
  if (framework.options['in-place'] !== undefined) return [];
  const { operators } = (training.folded ?? training).analysis.graph;
  const found = operators.filter(
    (operator) => operator.isInPlace === undefined && hasTrait(operator, 'keeps-result-in-place'),
  );
  const [first] = found;
  if (first === undefined) return [];
  return [
    {
      code: 'scenario/assumed-in-place',
      severity: 'information',
      message: `${found.length} ${first.type} or similar are costed as not in place, first \`${first.name || first.outputs[0]}\`: each keeps its input; set \`in-place=true\` if they have \`inplace=True\``,
      scenarioKey: 'framework',
      scenarioPart: 'in-place',
    },
  ];
}

/** How many tokens an expert takes is known only when the model runs. */
function routingIssues(training: TrainingGraph): readonly Issue[] {
  const { operators, values } = (training.folded ?? training).analysis.graph;
  const lookups = operators.filter(
    ({ type, inputs }) => type === 'NonZero' && values.get(inputs[0] ?? '')?.routing?.kind === 'hits',
  );
  const [first] = lookups;
  if (first === undefined) return [];
  return [
    {
      code: 'scenario/assumed-routing',
      severity: 'information',
      message: `Which experts take which tokens is known only when the model runs. Every expert is costed as if all were chosen equally often, first at \`${first.name || first.outputs[0]}\`. FLOPs of all experts together do not depend on it, times do`,
    },
  ];
}

/** `max(dim)` keeps where they are, `amax` what comes in. */
function maximumIssues(training: TrainingGraph, { mode }: Scenario): readonly Issue[] {
  const { graph, composites } = (training.folded ?? training).analysis;
  const found = [...composites.values()].filter(({ kind }) => kind === 'assumed-maximum');
  const first = graph.operators[found[0]?.operators[0] ?? -1];
  if (mode !== 'training' || first === undefined) return [];
  return [
    {
      code: 'scenario/assumed-maximum',
      severity: 'information',
      message: `${found.length === 1 ? '1 maximum or minimum along an axis is' : `${found.length} maxima or minima along an axis are`} costed as \`max(dim)\`, first \`${first.name || first.outputs[0]}\`: it keeps positions. \`amax\` keeps what comes in, and the file does not show which it was; the default exporter records it`,
    },
  ];
}

function attentionIssues(training: TrainingGraph, { framework }: Scenario): readonly Issue[] {
  const { graph, composites } = (training.folded ?? training).analysis;
  const attention = optionValues(framework).get('attention') ?? 'as-exported';
  const { torch = '' } = framework.options;
  if (attention === 'eager')
    return fusedAnyway(
      graph,
      framework.options.attention === undefined ? `torch=${torch}` : 'attention=eager',
    );
  if (attention === 'fused') return writtenOutAnyway(graph, composites);
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

/** What its line writes out, or returns more than one kernel gives, stays so. */
function writtenOutAnyway(graph: Graph, composites: Composites): readonly Issue[] {
  const written = [...composites.values()].find(
    ({ kind, launchedAs, isFusible }) =>
      kind === 'attention' && launchedAs === 'several' && isFusible === false,
  );
  const last = graph.operators[written?.operators.at(-1) ?? -1];
  if (last === undefined) return [];
  return [
    {
      code: 'scenario/invalid',
      severity: 'information',
      message: `\`attention=fused\` has no effect on attention that stays several kernels, first \`${last.name || last.outputs[0]}\`; in a layer spec, take \`fused=False\` out of its line`,
      scenarioKey: 'framework',
      scenarioPart: 'attention',
    },
  ];
}

/** One with a cache or a cap stays one operator, and so does one whose line says so. */
function fusedAnyway(graph: Graph, asked: string): readonly Issue[] {
  const whole = graph.operators.find(({ domain, type }) => domain === '' && type === 'Attention');
  if (whole === undefined) return [];
  return [
    {
      code: 'scenario/invalid',
      severity: 'information',
      message: `\`${asked}\` has no effect on attention that stays one kernel, first \`${whole.name || whole.outputs[0]}\`; in a layer spec, take \`fused=True\` out of its line`,
      scenarioKey: 'framework',
      scenarioPart: asked.startsWith('torch') ? 'torch' : 'attention',
    },
  ];
}
