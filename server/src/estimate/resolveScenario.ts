/** Fills a scenario from what was asked for, first request first, and from defaults; says what does not fit together. */

import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { findCluster } from '../hardware/clusters.ts';
import type { Thresholds } from '../model/findingThresholds.ts';
import type { Issue } from '../model/issue.ts';
import type { RunScenario, Scenario, ScenarioRequest } from '../model/scenario.ts';
import { frameworkOf, resolveParallel, sequenceProblem, unevenRounds } from './parallel/resolveParallel.ts';
import { resolveRun } from './resolveRun.ts';
import { checkAdapters } from './scenario/checkAdapters.ts';
import {
  askedBatch,
  askedGlobalBatch,
  microBatches,
  onlyMicroBatch,
  reportIdlePasses,
  reportTwoBatches,
  resolveBatch,
} from './scenario/resolveBatch.ts';
import { resolveCheckpoint } from './scenario/resolveCheckpoint.ts';
import { bindDimensions, mergeDimensions, reportUnknownDimensions } from './scenario/resolveDimensions.ts';
import { reportSeveralNodes, resolveFrameworkChoice } from './scenario/resolveFrameworkChoice.ts';
import { resolveOptimizer } from './scenario/resolveOptimizer.ts';
import { reportOtherGpus, resolveCluster, resolveRequestedSize } from './scenario/resolveSize.ts';
import { first, type Report } from './scenario/scenarioReport.ts';

export interface ResolvedScenario {
  readonly scenario: Scenario;
  readonly cluster: ClusterProfile;
  /** An issue of severity `error` means that the scenario is not what was asked for. */
  readonly issues: readonly Issue[];
}

/**
 * Defaults: cluster `dgx-h100`, all GPUs of one node, the model's batch or 1, AdamW, PyTorch DDP, training, and what people
 * train in with the framework: mixed precision in the GPU's half precision (bf16 where it has it) with PyTorch, else fp32.
 * `lookup` finds clusters by name; a person's own profile is found by it too. `settled` are dimensions that got their
 * values before the graph was made: the dims of a layer spec.
 */
export function resolveScenario(
  requests: readonly ScenarioRequest[],
  analysis: ModelAnalysis,
  lookup: (name: string) => ClusterProfile | undefined = findCluster,
  settled: readonly string[] = [],
): ResolvedScenario {
  const issues: Issue[] = [];
  const report: Report = (severity, code, message, scenarioKey, unset) => {
    issues.push({ severity, code, message, scenarioKey, ...(unset === undefined ? {} : { unset }) });
  };
  const cluster = resolveCluster(first(requests, 'cluster'), lookup, report);
  const size = resolveRequestedSize(cluster, requests, report);
  const given = mergeDimensions(requests);
  reportUnknownDimensions(given, analysis, settled, report);
  const mode = first(requests, 'mode') ?? 'training';
  const isTraining = mode === 'training';
  const shared = resolveParallel(first(requests, 'parallel'), analysis, size.gpus, mode, requests);
  issues.push(...shared.issues);
  const copies = size.gpus / shared.ways;
  const micro = shared.microBatch ?? onlyMicroBatch(requests, analysis);
  const accumulate = microBatches(micro, copies, requests, report);
  issues.push(...unevenRounds(shared.parallel, accumulate, frameworkOf(requests)));
  const passes = copies * (isTraining ? accumulate : 1);
  const batch = resolveBatch(askedBatch(requests, passes), given, analysis, report);
  reportTwoBatches(requests, analysis, report);
  const globalBatch = askedGlobalBatch(requests);
  // Copies of a layout that was refused are not those that were asked for.
  if (shared.issues.every(({ severity }) => severity !== 'error'))
    reportIdlePasses(globalBatch, { gpus: size.gpus, copies, passes }, report);
  const run = resolveAskedRun(requests, cluster, report);
  const workers = first(requests, 'workers');
  reportOtherGpus(workers, size.gpus, report);
  const { precision, framework, ...launch } = resolveFrameworkChoice(requests, mode, cluster);
  issues.push(...launch.issues);
  if (launch.oneNode) reportSeveralNodes(framework, size.nodes, report);
  const past = resolvePast(requests, mode, report);
  const tensor = shared.parallel?.tensor ?? 1;
  const summed = isTraining ? accumulate : 1;
  const optimizer = resolveOptimizer(first(requests, 'optimizer'), framework, tensor, summed, report);
  const checkpoint = resolveCheckpoint(first(requests, 'checkpoint'), mode, analysis, report);
  const dimensions = bindDimensions(given, batch, analysis, report);
  const problem = shared.parallel && sequenceProblem(analysis, shared.parallel, dimensions);
  if (problem !== undefined) issues.push(problem);
  const scenario: Scenario = {
    cluster: cluster.name,
    ...size,
    batchPerGpu: batch,
    // A file that fixes its batch is costed for that.
    ...(globalBatch === undefined || batch !== Math.ceil(globalBatch / passes) ? {} : { globalBatch }),
    ...{ dimensions, precision, optimizer, framework, mode },
    ...(past === undefined ? {} : { past }),
    ...asAsked(requests),
    ...(workers === undefined ? {} : { workers }),
    ...(run === undefined ? {} : { run }),
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(shared.parallel === undefined ? {} : { parallel: shared.parallel }),
    ...(isTraining ? ofTraining(requests, accumulate) : {}),
  };
  checkAdapters(scenario, report);
  return { scenario, cluster, issues };
}

/** What of a request is taken as it is. */
function asAsked(
  requests: readonly ScenarioRequest[],
): Pick<Scenario, 'measuredStep' | 'input' | 'thresholds'> {
  const measuredStep = first(requests, 'measuredStep');
  const input = first(requests, 'input');
  const thresholds = mergeThresholds(requests);
  return {
    ...(measuredStep === undefined ? {} : { measuredStep }),
    ...(input === undefined ? {} : { input }),
    ...(thresholds === undefined ? {} : { thresholds }),
  };
}

/** What inference has not. */
function ofTraining(
  requests: readonly ScenarioRequest[],
  accumulate: number,
): Pick<Scenario, 'loss' | 'freeze' | 'lora' | 'accumulate'> {
  const loss = first(requests, 'loss');
  const freeze = first(requests, 'freeze') ?? [];
  const lora = first(requests, 'lora');
  return {
    ...(loss === undefined ? {} : { loss }),
    ...(freeze.length === 0 ? {} : { freeze }),
    ...(lora === undefined ? {} : { lora }),
    ...(accumulate === 1 ? {} : { accumulate }),
  };
}

function resolveAskedRun(
  requests: readonly ScenarioRequest[],
  cluster: ClusterProfile,
  report: Report,
): RunScenario | undefined {
  const asked = first(requests, 'run');
  if (asked === undefined) return undefined;
  const { run, message } = resolveRun(asked, cluster, first(requests, 'market'));
  if (message !== undefined) report('information', 'scenario/price', message, 'run');
  return run;
}

/** Tokens in the cache are those of a decode step. */
function resolvePast(
  requests: readonly ScenarioRequest[],
  mode: Scenario['mode'],
  report: Report,
): number | undefined {
  const past = first(requests, 'past');
  if (mode === 'inference' || past === undefined) return past;
  const message = '`past` has no effect in training; set `mode` to `inference`';
  report('warning', 'scenario/no-effect', message, 'past');
  return undefined;
}

/** Each threshold as the first request that sets it. */
function mergeThresholds(requests: readonly ScenarioRequest[]): Thresholds | undefined {
  const set = requests.flatMap(({ thresholds }) => thresholds ?? []);
  return set.length === 0 ? undefined : Object.assign({}, ...set.toReversed());
}
