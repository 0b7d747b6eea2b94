/** Fills a scenario from what was asked for, first request first, and from defaults; says what does not fit together. */

import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import { overriddenMarks } from '../analysis/recomputedGroups.ts';
import { repeatedBlocks } from '../analysis/repeatedBlocks.ts';
import { nodesFor } from '../communication/placement.ts';
import { hasOption, resolveFramework } from '../frameworks/registry.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { builtInClusters, findCluster, likelyClusters } from '../hardware/clusters.ts';
import { halfPrecision } from '../hardware/computePath.ts';
import { builtInGpus, findGpu } from '../hardware/gpus.ts';
import type { Thresholds } from '../model/findingThresholds.ts';
import type { Issue, Severity } from '../model/issue.ts';
import type { IssueCode } from '../model/issueCodes.ts';
import { didYouMeanOneOf } from '../model/likelyNames.ts';
import type {
  Checkpoint,
  FrameworkChoice,
  Mode,
  Precision,
  Scenario,
  ScenarioRequest,
  WorkersScenario,
} from '../model/scenario.ts';
import type { ScenarioKey } from '../model/scenarioKey.ts';
import { frameworkOf, resolveParallel, sequenceProblem, unevenRounds } from './parallel/resolveParallel.ts';
import { resolveRun } from './resolveRun.ts';

const defaultClusterName = 'dgx-h100';

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
  const accumulate = microBatches(shared.microBatch, copies, requests, report);
  issues.push(...unevenRounds(shared.parallel, accumulate, frameworkOf(requests)));
  const passes = copies * (mode === 'inference' ? 1 : accumulate);
  const batch = resolveBatch(askedBatch(requests, passes), given, analysis, report);
  reportTwoBatches(requests, analysis, report);
  const globalBatch = askedGlobalBatch(requests);
  if (globalBatch !== undefined && globalBatch < passes) {
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
      'scenario/invalid',
      '`past` has no effect in training; set `mode` to `inference`',
      'past',
    );
  }
  const measuredStep = first(requests, 'measuredStep');
  const thresholds = mergeThresholds(requests);
  const checkpoint = resolveCheckpoint(first(requests, 'checkpoint'), mode, analysis, report);
  const loss = mode === 'training' ? first(requests, 'loss') : undefined;
  const freeze = mode === 'training' ? (first(requests, 'freeze') ?? []) : [];
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
      optimizer: first(requests, 'optimizer') ?? 'adamw',
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

/** Passes follow from the micro-batch where that is asked for, else they are what was asked for. */
function microBatches(
  microBatch: number | undefined,
  copies: number,
  requests: readonly ScenarioRequest[],
  report: Report,
): number {
  const globalBatch = askedGlobalBatch(requests);
  if (microBatch === undefined) return resolveAccumulation(first(requests, 'accumulate'), report);
  if (globalBatch !== undefined) return Math.max(1, Math.ceil(globalBatch / (copies * microBatch)));
  report(
    'warning',
    'scenario/invalid',
    '`micro-batch` has no effect without a global batch; set `global-batch`, or `batch` and `accumulate`',
    'parallel',
  );
  return resolveAccumulation(first(requests, 'accumulate'), report);
}

/** The request that asks for a batch at all says which. */
const askedGlobalBatch = (requests: readonly ScenarioRequest[]): number | undefined =>
  requests.find(({ batch, globalBatch }) => batch !== undefined || globalBatch !== undefined)?.globalBatch;

/** Of the busiest GPU: the remainder of a batch over the passes of all GPUs goes to some. */
function askedBatch(requests: readonly ScenarioRequest[], passes: number): number | undefined {
  const globalBatch = askedGlobalBatch(requests);
  return globalBatch === undefined ? first(requests, 'batch') : Math.ceil(globalBatch / passes);
}

/** The key is the one that asked for it. */
type Report = (
  severity: Severity,
  code: IssueCode,
  message: string,
  key: ScenarioKey,
  unset?: readonly string[],
) => void;

function first<Key extends keyof ScenarioRequest>(
  requests: readonly ScenarioRequest[],
  key: Key,
): ScenarioRequest[Key] | undefined {
  return requests.find((request) => request[key] !== undefined)?.[key];
}

/** Each threshold as the first request that sets it. */
function mergeThresholds(requests: readonly ScenarioRequest[]): Thresholds | undefined {
  const set = requests.flatMap(({ thresholds }) => thresholds ?? []);
  return set.length === 0 ? undefined : Object.assign({}, ...set.toReversed());
}

function resolveCluster(
  name: string | undefined,
  lookup: (name: string) => ClusterProfile | undefined,
  report: Report,
): ClusterProfile {
  const found = lookup(name ?? defaultClusterName);
  if (found !== undefined) return found;
  report(
    'error',
    'scenario/unknown-cluster',
    `No cluster or GPU is called \`${name ?? defaultClusterName}\`${likelyClusters(name ?? '')}; \`layercost clusters\` lists them`,
    'cluster',
  );
  const fallback = findCluster(defaultClusterName) ?? builtInClusters[0];
  if (fallback === undefined) throw new Error('no built-in cluster');
  return fallback;
}

/**
 * Nodes and GPUs come from one request, so that one's GPUs are not spread over another's nodes. A size asked for
 * below the request that chose the cluster was meant for another one: it is kept where it fits, else one node is.
 */
function resolveRequestedSize(
  cluster: ClusterProfile,
  requests: readonly ScenarioRequest[],
  report: Report,
): { readonly nodes: number; readonly gpus: number } {
  const chosenAt = requests.findIndex((request) => request.cluster !== undefined);
  const sizedAt = requests.findIndex(({ nodes, gpus }) => nodes !== undefined || gpus !== undefined);
  const sized = requests[sizedAt] ?? {};
  if (chosenAt < 0 || sizedAt <= chosenAt) return resolveSize(cluster, sized.nodes, sized.gpus, report);
  let fits = true;
  const size = resolveSize(cluster, sized.nodes, sized.gpus, (severity) => {
    if (severity === 'error') fits = false;
  });
  if (!fits) {
    const asked = sized.gpus === undefined ? `${sized.nodes} nodes` : `${sized.gpus} GPUs`;
    const message = `\`${cluster.name}\` cannot provide ${asked} (requested for another cluster); using one node`;
    report('information', 'scenario/invalid', message, sized.gpus === undefined ? 'nodes' : 'gpus');
  }
  return size;
}

function resolveSize(
  cluster: ClusterProfile,
  askedNodes: number | undefined,
  askedGpus: number | undefined,
  report: Report,
): { readonly nodes: number; readonly gpus: number } {
  const perNode = cluster.gpusPerNode.value;
  const oneNode = { nodes: 1, gpus: perNode };
  for (const [option, value] of [
    ['nodes', askedNodes],
    ['gpus', askedGpus],
  ] as const) {
    if (value !== undefined && !(Number.isInteger(value) && value > 0)) {
      report(
        'error',
        'scenario/invalid',
        `\`${option}\` is ${value}; it takes a whole number from 1`,
        option,
      );
      return oneNode;
    }
  }
  const nodes = askedNodes ?? (askedGpus === undefined ? 1 : nodesFor(cluster, askedGpus));
  const gpus = askedGpus ?? nodes * perNode;
  const sizeKey = askedGpus === undefined ? 'nodes' : 'gpus';
  if (nodes > 1 && cluster.network === undefined) {
    const reason = `\`${cluster.name}\` is one node of ${perNode} ${plural(perNode, 'GPU')} without a network`;
    report('error', 'scenario/invalid', `${reason}; use at most ${perNode}, or choose a cluster`, sizeKey);
    return oneNode;
  }
  if (gpus < nodes || Math.ceil(gpus / nodes) > perNode) {
    report(
      'error',
      'scenario/invalid',
      `${gpus} ${plural(gpus, 'GPU')} do not fit on ${nodes} ${plural(nodes, 'node')} of ${perNode}: set only one of \`gpus\` and \`nodes\`, or use ${nodes}–${nodes * perNode} GPUs`,
      sizeKey,
    );
    return oneNode;
  }
  if (gpus % nodes !== 0) {
    report(
      'warning',
      'scenario/invalid',
      `${gpus} GPUs do not divide evenly over ${nodes} nodes; communication assumes ${Math.ceil(gpus / nodes)} on each`,
      sizeKey,
    );
  }
  return { nodes, gpus };
}

function mergeDimensions(requests: readonly ScenarioRequest[]): ReadonlyMap<string, number> {
  const merged = new Map<string, number>();
  for (const request of requests) {
    for (const [name, value] of Object.entries(request.dimensions ?? {})) {
      if (!merged.has(name)) merged.set(name, value);
    }
  }
  return merged;
}

function reportUnknownDimensions(
  given: ReadonlyMap<string, number>,
  analysis: ModelAnalysis,
  settled: readonly string[],
  report: Report,
): void {
  const known = [...new Set([...analysis.symbols.map(({ name }) => name), ...settled])];
  for (const [name, value] of given) {
    // 0 is a size: a decoder's past is empty at its first step.
    if (!(Number.isInteger(value) && value >= 0)) {
      report(
        'error',
        'scenario/invalid',
        `Dimension \`${name}\` is ${value}; it takes a whole number from 0`,
        'dimensions',
      );
    }
    if (known.includes(name) || name === analysis.batchSymbol) continue;
    const list = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
    report(
      'warning',
      'scenario/invalid',
      `The model has no symbolic dimension \`${name}\`; ${list}`,
      'dimensions',
    );
  }
}

function resolveBatch(
  asked: number | undefined,
  given: ReadonlyMap<string, number>,
  analysis: ModelAnalysis,
  report: Report,
): number {
  const { batchSymbol, fixedBatch } = analysis;
  if (asked !== undefined && !(Number.isInteger(asked) && asked > 0)) {
    report('error', 'scenario/invalid', `\`batch\` is ${asked}; it takes a whole number from 1`, 'batch');
    return fixedBatch ?? 1;
  }
  if (batchSymbol === undefined) {
    const batch = fixedBatch ?? 1;
    if (asked !== undefined && asked !== batch) {
      report(
        'warning',
        'scenario/fixed-batch',
        `The model fixes its batch at ${batch}, so ${asked} cannot be applied; export it with a dynamic batch`,
        'batch',
      );
    }
    return batch;
  }
  const known =
    asked ??
    given.get(batchSymbol) ??
    analysis.symbols.find(({ name }) => name === batchSymbol)?.default ??
    fixedBatch;
  if (known !== undefined) return known;
  report(
    'information',
    'scenario/default-batch',
    `The batch (\`${batchSymbol}\`) has no value; costs assume one sample per GPU`,
    'batch',
    [batchSymbol],
  );
  return 1;
}

/** A batch that is asked for twice at one place, as itself and as a dimension. */
function reportTwoBatches(
  requests: readonly ScenarioRequest[],
  { batchSymbol }: ModelAnalysis,
  report: Report,
): void {
  if (batchSymbol === undefined) return;
  for (const { batch, globalBatch, dimensions } of requests) {
    const dimension = dimensions?.[batchSymbol];
    const isOther = globalBatch !== undefined || (batch !== undefined && batch !== dimension);
    if (dimension === undefined || !isOther) continue;
    const [name, value] = globalBatch === undefined ? ['batch', batch] : ['global batch', globalBatch];
    report(
      'warning',
      'scenario/invalid',
      `Dimension \`${batchSymbol}\` is ${dimension} and the ${name} is ${value}; costs take the ${name}. Set one of them`,
      'dimensions',
    );
  }
}

/** The cluster's GPUs stand for others that are not known, and one of its own is always among them. */
function reportOtherGpus(workers: WorkersScenario | undefined, gpus: number, report: Report): void {
  const { others } = workers ?? {};
  if (others === undefined) return;
  if (findGpu(others.gpu) === undefined) {
    const hint = didYouMeanOneOf(
      others.gpu,
      builtInGpus.map(({ name }) => name),
    );
    report(
      'error',
      'scenario/invalid',
      `\`other-gpu\` is \`${others.gpu}\`, which is not a built-in GPU${hint}; \`layercost clusters\` lists them`,
      'workers',
    );
  } else if (others.count > Math.max(1, gpus - 1)) {
    report(
      'warning',
      'scenario/invalid',
      `\`other-count\` is ${others.count} of ${gpus} ${plural(gpus, 'GPU')}; costs assume ${gpus - 1}`,
      'workers',
    );
  }
}

function resolveAccumulation(asked: number | undefined, report: Report): number {
  if (asked === undefined) return 1;
  if (Number.isInteger(asked) && asked > 0) return asked;
  report(
    'error',
    'scenario/invalid',
    `\`accumulate\` is ${asked}; it takes a whole number from 1`,
    'accumulate',
  );
  return 1;
}

/** `undefined` where nothing takes the place of what the layers are marked with, and in inference, which has no backward. */
function resolveCheckpoint(
  asked: Checkpoint | undefined,
  mode: Mode,
  analysis: ModelAnalysis,
  report: Report,
): Checkpoint | undefined {
  if (asked === undefined || mode === 'inference') return undefined;
  const overridden = overriddenMarks(analysis, asked);
  const [first] = overridden;
  if (first !== undefined) {
    report(
      'information',
      'scenario/overridden-marks',
      `\`checkpoint: ${asked}\` replaces the \`recompute\` of ${overridden.length === 1 ? 'layer' : `${overridden.length} layers, first`} \`${first.name}\`; leave \`checkpoint\` out to cost the marks`,
      'checkpoint',
    );
  }
  if (asked === 'none') return first === undefined ? undefined : 'none';
  if (repeatedBlocks(analysis) === undefined) {
    report(
      'warning',
      'scenario/no-blocks',
      `\`checkpoint: ${asked}\` has no effect: the model has no numbered modules of the same structure. Mark layers of a layer spec with \`recompute\`, or export the model with its module names`,
      'checkpoint',
    );
  }
  return asked;
}

function bindDimensions(
  given: ReadonlyMap<string, number>,
  batch: number,
  analysis: ModelAnalysis,
  report: Report,
): Readonly<Record<string, number>> {
  const bound: Record<string, number> = {};
  for (const { name, default: standard, limit } of analysis.symbols) {
    const isBatch = name === analysis.batchSymbol;
    const value = isBatch ? batch : (given.get(name) ?? standard);
    if (value !== undefined) bound[name] = value;
    if (value !== undefined && limit !== undefined && value > limit) {
      report(
        'warning',
        'scenario/out-of-range',
        `Dimension \`${name}\` is ${value}, but the model was exported for at most ${limit}; give at most ${limit}, or export it for more`,
        isBatch ? 'batch' : 'dimensions',
      );
    }
    if (value === undefined) {
      report(
        'warning',
        'shape/unbound-dimension',
        `Dimension \`${name}\` has no value, so costs that depend on it are unknown`,
        'dimensions',
        [name],
      );
    }
  }
  if (analysis.batchSymbol !== undefined) bound[analysis.batchSymbol] = batch;
  return bound;
}

const plural = (count: number, word: string): string => (count === 1 ? word : `${word}s`);
