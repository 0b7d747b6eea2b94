/** Fills a scenario from what was asked for, first request first, and from defaults; says what does not fit together. */

import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import { hasOption, resolveFramework } from '../frameworks/registry.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { findCluster } from '../hardware/clusters.ts';
import { halfPrecision } from '../hardware/computePath.ts';
import type { Thresholds } from '../model/findingThresholds.ts';
import type { Issue } from '../model/issue.ts';
import type { FrameworkChoice, Precision, Scenario, ScenarioRequest } from '../model/scenario.ts';
import { frameworkOf, resolveParallel, sequenceProblem, unevenRounds } from './parallel/resolveParallel.ts';
import { resolveRun } from './resolveRun.ts';
import {
  askedBatch,
  askedGlobalBatch,
  microBatches,
  onlyMicroBatch,
  reportTwoBatches,
  resolveBatch,
} from './scenario/resolveBatch.ts';
import { resolveCheckpoint } from './scenario/resolveCheckpoint.ts';
import { bindDimensions, mergeDimensions, reportUnknownDimensions } from './scenario/resolveDimensions.ts';
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
  const { nodes, gpus } = resolveRequestedSize(cluster, requests, report);
  const given = mergeDimensions(requests);
  reportUnknownDimensions(given, analysis, settled, report);
  const mode = first(requests, 'mode') ?? 'training';
  const shared = resolveParallel(first(requests, 'parallel'), analysis, gpus, mode, requests);
  issues.push(...shared.issues);
  const copies = gpus / shared.ways;
  const accumulate = microBatches(
    shared.microBatch ?? onlyMicroBatch(requests, analysis),
    copies,
    requests,
    report,
  );
  issues.push(...unevenRounds(shared.parallel, accumulate, frameworkOf(requests)));
  const passes = copies * (mode === 'inference' ? 1 : accumulate);
  const batch = resolveBatch(askedBatch(requests, passes), given, analysis, report);
  reportTwoBatches(requests, analysis, report);
  const globalBatch = askedGlobalBatch(requests);
  // Copies of a layout that was refused are not those that were asked for.
  const isLaidOut = shared.issues.every(({ severity }) => severity !== 'error');
  if (isLaidOut && globalBatch !== undefined && globalBatch < passes) {
    const among = passes === gpus ? `${gpus} GPUs` : `${passes / copies} passes of ${copies} GPUs`;
    report(
      'warning',
      'scenario/invalid',
      `A batch of ${globalBatch} over ${among} leaves ${passes - globalBatch} of them without a sample; use fewer ${passes === gpus ? '' : 'passes or '}GPUs or a larger batch`,
      'globalBatch',
    );
  }
  const [input, workers] = [first(requests, 'input'), first(requests, 'workers')];
  const askedRun = first(requests, 'run');
  const { run, message: priceMessage } =
    askedRun === undefined ? {} : resolveRun(askedRun, cluster, first(requests, 'market'));
  if (priceMessage !== undefined) report('information', 'scenario/price', priceMessage, 'run');
  reportOtherGpus(workers, gpus, report);
  const precisionOf = (trainsIn: 'half' | 'fp32'): Precision =>
    first(requests, 'precision') ?? (trainsIn === 'half' ? halfPrecision(cluster.gpu) : undefined) ?? 'fp32';
  const asked = frameworkOf(requests);
  const precision = precisionOf(resolveFramework(asked).trainsIn);
  const framework = mode === 'inference' ? withInferenceWeights(asked, precision) : asked;
  const { oneNode, issues: frameworkIssues } = resolveFramework(framework);
  issues.push(...frameworkIssues);
  if (oneNode && nodes > 1) {
    report(
      'error',
      'scenario/invalid',
      `\`${framework.name}\` runs in one process, so on one node, not on ${nodes}; use one node, or \`pytorch-ddp\``,
      'framework',
    );
  }
  const past = mode === 'inference' ? first(requests, 'past') : undefined;
  if (mode === 'training' && first(requests, 'past') !== undefined) {
    report(
      'warning',
      'scenario/no-effect',
      '`past` has no effect in training; set `mode` to `inference`',
      'past',
    );
  }
  const optimizer = resolveOptimizer(
    first(requests, 'optimizer'),
    framework,
    shared.parallel?.tensor ?? 1,
    mode === 'training' ? accumulate : 1,
    report,
  );
  const measuredStep = first(requests, 'measuredStep');
  const thresholds = mergeThresholds(requests);
  const checkpoint = resolveCheckpoint(first(requests, 'checkpoint'), mode, analysis, report);
  const loss = mode === 'training' ? first(requests, 'loss') : undefined;
  const freeze = mode === 'training' ? (first(requests, 'freeze') ?? []) : [];
  const lora = mode === 'training' ? first(requests, 'lora') : undefined;
  const dimensions = bindDimensions(given, batch, analysis, report);
  const problem = shared.parallel && sequenceProblem(analysis, shared.parallel, dimensions);
  if (problem !== undefined) issues.push(problem);
  return {
    scenario: {
      cluster: cluster.name,
      nodes,
      gpus,
      batchPerGpu: batch,
      // A file that fixes its batch is costed for that.
      ...(globalBatch === undefined || batch !== Math.ceil(globalBatch / passes) ? {} : { globalBatch }),
      dimensions,
      precision,
      optimizer,
      framework,
      mode,
      ...(past === undefined ? {} : { past }),
      ...(measuredStep === undefined ? {} : { measuredStep }),
      ...(input === undefined ? {} : { input }),
      ...(workers === undefined ? {} : { workers }),
      ...(run === undefined ? {} : { run }),
      ...(thresholds === undefined ? {} : { thresholds }),
      ...(checkpoint === undefined ? {} : { checkpoint }),
      ...(shared.parallel === undefined ? {} : { parallel: shared.parallel }),
      ...(loss === undefined ? {} : { loss }),
      ...(freeze.length === 0 ? {} : { freeze }),
      ...(lora === undefined ? {} : { lora }),
      ...(mode === 'inference' || accumulate === 1 ? {} : { accumulate }),
    },
    cluster,
    issues,
  };
}

/** A model is loaded for inference in the precision that it runs in, not cast from fp32 in each pass. */
function withInferenceWeights(framework: FrameworkChoice, precision: Precision): FrameworkChoice {
  const { name, options } = framework;
  const isWide = precision === 'fp32' || precision === 'tf32';
  if (isWide || options.weights !== undefined || !hasOption(name, 'weights')) return framework;
  return { ...framework, options: { ...options, weights: 'half' } };
}

/** Each threshold as the first request that sets it. */
function mergeThresholds(requests: readonly ScenarioRequest[]): Thresholds | undefined {
  const set = requests.flatMap(({ thresholds }) => thresholds ?? []);
  return set.length === 0 ? undefined : Object.assign({}, ...set.toReversed());
}
