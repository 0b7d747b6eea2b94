/** From an opened model and what a person asks for to the cost of a step: the engine's one entry. */

import { bindTrainingGraph } from '../analysis/bindTrainingGraph.ts';
import { decodeAnalysis } from '../analysis/decoding/decodeAnalysis.ts';
import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { openBatch } from '../analysis/openBatch.ts';
import type { OpenedModel } from '../analysis/openedModel.ts';
import { asTrainedInSteps } from '../analysis/restoration/asTrained.ts';
import { writeOutAttention } from '../analysis/writeOutAttention.ts';
import { optionValues } from '../frameworks/registry.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { findCluster } from '../hardware/clusters.ts';
import { formatCount, formatPercent } from '../model/format.ts';
import type { Issue } from '../model/issue.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import { readableIssues } from '../model/readableIssues.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { Scenario, ScenarioRequest } from '../model/scenario.ts';
import type { StepCost } from '../model/stepCost.ts';
import { finish, type Steps } from '../model/steps.ts';
import { withAddedLoss } from './addedLoss.ts';
import { assumptionsOf } from './assumptions.ts';
import { costInSteps, costStep } from './costStep.ts';
import type { Prefill } from './decoding/decodeCost.ts';
import type { EstimateCache } from './estimateCache.ts';
import { leftOutOf } from './leftOut.ts';
import { impossibleStepIssues, measuredLayerIssues } from './measuredStepIssues.ts';
import { resolveScenario } from './resolveScenario.ts';
import { tokensPerSample } from './tokens.ts';
import { withTrainedParameters } from './trainedParameters.ts';

export interface ModelEstimate {
  readonly asked: AskedEstimate;
  readonly opened: OpenedModel;
  /** Absent where the file could not be analysed. */
  readonly scenario: Scenario | undefined;
  readonly cluster: ClusterProfile | undefined;
  readonly training: TrainingGraph | undefined;
  /** Absent where the file could not be analysed or the scenario has an error. */
  readonly cost: StepCost | undefined;
  /** Whether any operator has a cost; without one the numbers of `cost` say nothing. */
  readonly costed: boolean;
  /** Issues that say what of the file is not in the graph: totals are lower bounds. */
  readonly leftOut: readonly Issue[];
  /** The pass over the prompt, where a decode step was asked for. */
  readonly prefill?: () => Prefill | undefined;
  /** What took the place of predicted compute. */
  readonly measurements?: LayerMeasurements;
  /** Issues of the file, then those of the scenario. */
  readonly issues: readonly Issue[];
}

/** What an estimate was asked of; `estimateModel` explains each. */
export interface AskedEstimate {
  readonly model: OpenedModel;
  readonly requests: readonly ScenarioRequest[];
  readonly customCluster: ClusterProfile | undefined;
  readonly measurements: LayerMeasurements | undefined;
}

/**
 * The first request wins; `customCluster` is a person's own profile, which wins over every named one; `measurements`
 * take the place of predicted compute.
 */
export const estimateModel = (
  model: OpenedModel,
  requests: readonly ScenarioRequest[],
  customCluster?: ClusterProfile,
  measurements?: LayerMeasurements,
): ModelEstimate => finish(estimateInSteps(model, requests, customCluster, measurements));

/** The same in steps: costing operators, and laying out the step. `memory` keeps both for the next state of a text. */
export function* estimateInSteps(
  model: OpenedModel,
  requests: readonly ScenarioRequest[],
  customCluster?: ClusterProfile,
  measurements?: LayerMeasurements,
  memory?: EstimateCache,
): Steps<ModelEstimate> {
  const asked = { model, requests, customCluster, measurements };
  const prepare = (one: OpenedModel): OpenedModel =>
    withRequestedBatch(withAskedAttention(one, requests), requests);
  const prepared = prepare(yield* inRequestedMode(model, requests));
  const decoding = askedDecoding(prepared, requests, prepare);
  const { opened: trained, issues: lossIssues } = withAddedLoss(decoding?.opened ?? prepared, requests);
  const { opened, issues: frozenIssues } = withTrainedParameters(trained, requests);
  const { analysis } = opened;
  if (analysis === undefined) {
    return {
      asked,
      opened,
      scenario: undefined,
      cluster: undefined,
      training: undefined,
      cost: undefined,
      costed: false,
      leftOut: [],
      issues: opened.issues,
    };
  }
  const own = customCluster === undefined ? [] : [{ cluster: customCluster.name }];
  const resolved = resolveScenario(
    [...withoutRivals(requests, customCluster), ...own],
    analysis,
    (name) => (name === customCluster?.name ? customCluster : findCluster(name)),
    opened.selectedModel?.dims.map(({ name }) => name.text),
  );
  const { scenario, cluster } = resolved;
  const basis = { analysis, scenario, cluster, measurements };
  const before = memory?.find(basis);
  const bindings = new Map(Object.entries(scenario.dimensions));
  const training = before?.training ?? bindTrainingGraph(analysis, bindings, scenario.mode);
  const leftOut = leftOutOf(opened, training);
  const reasons = leftOut.map(({ message }) => message);
  const same = before !== undefined && isSameContent(before.leftOut, reasons) ? before : undefined;
  const issues = [
    ...resolved.issues,
    ...lossIssues,
    ...frozenIssues,
    ...(decoding?.issues ?? []),
    ...assumptionsOf(training, scenario, cluster),
    ...(measurements === undefined || scenario.parallel === undefined ? [] : [measuredWithParallel]),
    ...measuredLayerIssues(scenario, analysis.layers, measurements),
  ].map((issue) => locate(issue, opened, requests));
  yield;
  const known = training.costs.filter((cost) => cost.kind === 'known');
  // Layouts and constants cost nothing whatever the sizes: beside others of unknown cost they are no cost of a model.
  const costed =
    known.length === training.costs.length
      ? known.length > 0
      : known.some(({ forward }) => forward.kernels > 0);
  const explained = [...opened.issues, ...issues].some(({ severity }) => severity === 'error');
  const sound = issues.every(({ severity }) => severity !== 'error');
  const prefill = decoding === undefined ? undefined : () => prefillOf(prepared, scenario, cluster);
  const cost = sound
    ? (same?.cost ?? (yield* costInSteps(training, scenario, cluster, measurements, reasons, prefill)))
    : undefined;
  memory?.keep(basis, same !== undefined && same.cost === cost ? same : { training, leftOut: reasons, cost });
  return {
    asked,
    opened,
    scenario,
    cluster,
    training,
    cost,
    costed,
    leftOut,
    ...(prefill === undefined ? {} : { prefill }),
    ...(measurements === undefined ? {} : { measurements }),
    issues: [
      ...opened.issues,
      ...readableIssues([
        ...withoutFollowing(opened, issues),
        ...(cost === undefined ? [] : impossibleStepIssues(cost)).map((issue) =>
          locate(issue, opened, requests),
        ),
        ...(costed || explained ? [] : [nothingCosted(training)]),
      ]),
    ],
  };
}

/** Where a line cannot be read, it may be the one that opens the batch, or that gives the logits. */
function withoutFollowing({ layerSpec, issues }: OpenedModel, found: readonly Issue[]): readonly Issue[] {
  const isUnread = layerSpec !== undefined && issues.some(({ severity }) => severity === 'error');
  return isUnread
    ? found.filter(({ code, scenarioKey }) => code !== 'scenario/fixed-batch' && scenarioKey !== 'loss')
    : found;
}

/** A layer spec that asks for the impossible does so at one key of its scenario, or at one option of its framework. */
export function locate(issue: Issue, opened: OpenedModel, requests: readonly ScenarioRequest[]): Issue {
  const { scenarioKey: key, scenarioPart: part, span } = issue;
  if (key === undefined || span !== undefined) return issue;
  const asked = requests.find((request) => request[key] !== undefined);
  const spans = asked === opened.scenario ? opened.selectedModel?.scenarioSpans : undefined;
  const place = spans?.get(`${key}.${part}`) ?? spans?.get(key);
  return place === undefined ? issue : { ...issue, span: place };
}

/** A file that is another network in inference is costed as that one; one that was changed for inference, as it is trained. */
function* inRequestedMode(opened: OpenedModel, requests: readonly ScenarioRequest[]): Steps<OpenedModel> {
  const mode = requests.find((request) => request.mode !== undefined)?.mode;
  return mode === 'inference' ? (opened.inference?.() ?? opened) : yield* asTrainedInSteps(opened);
}

/** Attention that a person says is several kernels is costed as those, also where the file has an operator for it. */
function withAskedAttention(opened: OpenedModel, requests: readonly ScenarioRequest[]): OpenedModel {
  const framework = requests.find((request) => request.framework !== undefined)?.framework;
  const isEager = framework !== undefined && optionValues(framework).get('attention') === 'eager';
  return isEager ? writeOutAttention(opened) : opened;
}

/** A file that fixes its batch is costed for another one, of a GPU or of all, where its batch can be opened. */
function withRequestedBatch(opened: OpenedModel, requests: readonly ScenarioRequest[]): OpenedModel {
  const { analysis, structure } = opened;
  const onnx = opened.trained ?? opened.described ?? opened.onnx;
  if (analysis?.fixedBatch === undefined || onnx === undefined) return opened;
  const asked = requestedBatch(requests);
  if (asked === undefined || asked.batch === analysis.fixedBatch) return opened;
  const open = openBatch(onnx, analysis, structure);
  if (open === undefined) return opened;
  if (open.kind === 'fixed') {
    const message = `The batch of the file cannot be changed: ${open.reason}`;
    const why: Issue = { code: 'scenario/fixed-batch', severity: 'information', message };
    return { ...opened, issues: [...opened.issues, ...readableIssues([why])] };
  }
  const message = `The file fixes its batch at ${analysis.fixedBatch}; costs for ${asked.text} replace the leading dimension of its inputs${sharedWork(open.shared)}`;
  return {
    ...opened,
    analysis: open.analysis,
    ...(open.structure && { structure: open.structure }),
    issues: [...opened.issues, { code: 'scenario/opened-batch', severity: 'information', message }],
  };
}

/** The request that asks for a batch at all says which. A global batch leaves samples of a GPU to the layout. */
function requestedBatch(
  requests: readonly ScenarioRequest[],
): { readonly batch?: number; readonly text: string } | undefined {
  for (const { batch, globalBatch } of requests) {
    if (globalBatch !== undefined) return { text: `a global batch of ${formatCount(globalBatch)}` };
    if (batch !== undefined) return { batch, text: formatCount(batch) };
  }
  return undefined;
}

const measuredWithParallel: Issue = {
  code: 'scenario/invalid',
  severity: 'error',
  message:
    'Measured times are those of a GPU with a copy of the model; leave out the measurements or `parallel`',
  scenarioKey: 'parallel',
};

/** What the file computes without its inputs may be the exporter's, who took one sample's for all. */
const sharedWork = (share: number): string =>
  share < 0.001
    ? ''
    : `. ${formatPercent(share)} of its FLOPs do not depend on the inputs and are counted once for the whole batch`;

/** A file may be read and still give no number: then that is said, not a table of unknowns. */
function nothingCosted({ costs, analysis }: TrainingGraph): Issue {
  const index = costs.findIndex(({ kind }) => kind === 'unknown');
  const first = costs[index];
  if (first?.kind !== 'unknown') {
    return nothing('The graph has no operators, so there is nothing to cost; export the model again');
  }
  const { name, type } = analysis.graph.operators[index] ?? { name: '', type: 'operator' };
  return nothing(
    `No operator could be costed; the first is ${type}${name === '' ? '' : ` \`${name}\``}: ${first.reason}`,
  );
}

const nothing = (message: string): Issue => ({ code: 'graph/nothing-costed', severity: 'error', message });

/** A profile given as a file is more than a name: cluster names in requests, such as a layer spec's, yield to it. */
function withoutRivals(
  requests: readonly ScenarioRequest[],
  customCluster: ClusterProfile | undefined,
): readonly ScenarioRequest[] {
  if (customCluster === undefined) return requests;
  return requests.map(({ cluster: _, ...rest }) => rest);
}

/** The model as one decode step computes it, where a cache is asked for in inference; why not, where it has none. */
function askedDecoding(
  prepared: OpenedModel,
  requests: readonly ScenarioRequest[],
  prepare: (opened: OpenedModel) => OpenedModel,
): { readonly opened: OpenedModel; readonly issues: readonly Issue[] } | undefined {
  const past = requests.find((request) => request.past !== undefined)?.past;
  if (past === undefined || requests.find(({ mode }) => mode !== undefined)?.mode !== 'inference')
    return undefined;
  const decoding = decodeAnalysis(prepared, past, prepare);
  if (decoding.kind === 'decoding')
    return { opened: { ...prepared, analysis: decoding.analysis }, issues: [] };
  const message = `\`past\` asks for a decode step, which this model has not. ${decoding.reason}`;
  return {
    opened: prepared,
    issues: [{ code: 'scenario/no-cache', severity: 'error', message, scenarioKey: 'past' }],
  };
}

/** The pass over the prompt that comes before decode steps: that of the model as it is. */
function prefillOf(
  { analysis }: OpenedModel,
  { past: _, ...scenario }: Scenario,
  cluster: ClusterProfile,
): Prefill | undefined {
  if (analysis === undefined) return undefined;
  const training = bindTrainingGraph(analysis, new Map(Object.entries(scenario.dimensions)), scenario.mode);
  const cost = costStep(training, scenario, cluster);
  return cost && { cost, tokens: tokensPerSample(training) };
}
