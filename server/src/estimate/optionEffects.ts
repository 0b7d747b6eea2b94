/**
 * `scenario/no-effect`: what a person asked for that changes nothing of this step, with what would have to be otherwise.
 *
 * Nothing here knows what an option does. The step is costed without the option; where that costs the same, it is costed
 * under other circumstances with and without it, until the two differ. So it holds for every option there is, and no
 * sentence says more than was costed. It takes several times as long as the step: reports ask for it, keystrokes do not.
 */

import { repeatedBlocks } from '../analysis/repeatedBlocks.ts';
import { defaultFramework, findFramework } from '../frameworks/registry.ts';
import { halfPrecision } from '../hardware/computePath.ts';
import type { Issue } from '../model/issue.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { Precision, ScenarioRequest } from '../model/scenario.ts';
import type { ScenarioKey } from '../model/scenarioKey.ts';
import type { StepCost } from '../model/stepCost.ts';
import { estimateModel, locate, type ModelEstimate } from './estimateModel.ts';

/** One issue for each part of the requests that changes nothing, unless another issue says so already. */
export function optionsWithoutEffect(estimate: ModelEstimate): readonly Issue[] {
  const { asked, cost, opened } = estimate;
  if (cost === undefined) return [];
  return judgedRequests(asked.requests, opened.scenario).flatMap((request) =>
    partsOf(request, frameworkBelow(request, asked.requests))
      .filter((part) => isFirst(part, request, asked.requests) && !isSaid(part, estimate))
      .filter((part) => !changesCost(part, request, estimate))
      .map((part) => locate(issueOf(part, request, estimate), opened, asked.requests)),
  );
}

/** A spec's own scenario is judged where nothing was asked before it: `--mode inference` is no reproach to its optimizer. */
const judgedRequests = (
  requests: readonly ScenarioRequest[],
  ofModel: ScenarioRequest,
): readonly ScenarioRequest[] =>
  requests.filter(
    (request, index) =>
      request !== ofModel || requests.slice(0, index).every((before) => Object.keys(before).length === 0),
  );

/** The framework where this request asks for none. */
const frameworkBelow = (request: ScenarioRequest, all: readonly ScenarioRequest[]): string =>
  all.slice(all.indexOf(request) + 1).find(({ framework }) => framework !== undefined)?.framework?.name ??
  defaultFramework.name;

interface Part {
  readonly key: ScenarioKey;
  /** An option of the framework, a dimension, a member of a group. */
  readonly name?: string;
  /** How a person writes it, where that is another: `cp-comm`. */
  readonly written?: string;
  /** `bucket-mb=50`. */
  readonly text: string;
  /** What it is, in the words of its documentation. */
  readonly about?: string;
  /** The request without it. */
  readonly without: ScenarioRequest;
  /** It asks for what is the case where nobody asks. */
  readonly isDefault?: boolean;
}

/** What a request asks for that may have no effect. Cluster, batch and mode have one, or an issue says why not. */
function partsOf(request: ScenarioRequest, otherwise: string): readonly Part[] {
  const defaults: Partial<Record<ScenarioKey, unknown>> = {
    checkpoint: 'none',
    loss: 'auto',
    accumulate: 1,
  };
  const single = (
    [
      'nodes',
      'gpus',
      'precision',
      'optimizer',
      'checkpoint',
      'loss',
      'freeze',
      'accumulate',
      'measuredStep',
    ] as const
  ).flatMap((key): readonly Part[] =>
    request[key] === undefined
      ? []
      : [
          {
            key,
            text: `${key === 'measuredStep' ? 'measured-step' : key}: ${request[key]}`,
            without: omit(request, key),
            isDefault: request[key] === defaults[key],
          },
        ],
  );
  return [
    ...single,
    ...frameworkParts(request, otherwise),
    ...members(request, 'dimensions', (name) => name),
    ...members(request, 'thresholds', (name) => name),
    ...members(request, 'input', (name) => inputNames[name] ?? name),
    ...members(request, 'parallel', (name) => parallelNames[name] ?? name),
    ...members(request, 'lora', (name) => name),
    ...members(request, 'workers', (name) => (name === 'others' ? 'other-gpu' : name)),
    ...members(request, 'run', (name) => (name === 'start' ? 'start-seconds' : name)).filter(
      ({ name }) => name === 'start' || name === 'price' || name === 'pue',
    ),
  ];
}

const parallelNames: Readonly<Record<string, string>> = {
  tensor: 'tp',
  pipeline: 'pp',
  chunks: 'vp',
  sequence: 'sp',
  context: 'cp',
  contextExchange: 'cp-comm',
  expert: 'ep',
  expertImbalance: 'expert-imbalance',
  microBatch: 'micro-batch',
};

const inputNames: Readonly<Record<string, string>> = {
  sampleBytes: 'sample-bytes',
  decodeRate: 'decode-rate',
  readRate: 'read-gbs',
};

function frameworkParts(request: ScenarioRequest, otherwise: string): readonly Part[] {
  const { framework } = request;
  if (framework === undefined) return [];
  const known = findFramework(framework.name)?.options ?? [];
  const options = Object.entries(framework.options).map(([name, value]): Part => {
    const { [name]: _, ...others } = framework.options;
    const option = known.find((each) => each.name === name);
    return {
      key: 'framework',
      name,
      text: `${name}=${value}`,
      ...(option === undefined ? {} : { about: option.documentation }),
      without: { ...request, framework: { ...framework, options: others } },
      isDefault: option?.default === value,
    };
  });
  return [
    {
      key: 'framework',
      name: 'name',
      text: `framework: ${framework.name}`,
      without: omit(request, 'framework'),
      isDefault: framework.name === otherwise,
    },
    ...options,
  ];
}

function members<Key extends 'dimensions' | 'thresholds' | 'input' | 'workers' | 'parallel' | 'lora' | 'run'>(
  request: ScenarioRequest,
  key: Key,
  nameOf: (name: string) => string,
): readonly Part[] {
  const group: Readonly<Record<string, unknown>> = { ...request[key] };
  return Object.entries(group).map(([name, value]) => {
    const { [name]: _, ...others } = group;
    const isEmpty =
      key === 'input'
        ? others.sampleBytes === undefined && others.decodeRate === undefined
        : Object.keys(others).length === 0 || (key === 'lora' && name === 'rank');
    const shown = typeof value === 'object' ? '' : `=${name === 'readRate' ? Number(value) / 1e9 : value}`;
    const written = nameOf(name);
    return {
      key,
      name,
      written,
      text: `${written}${shown}`,
      without: isEmpty ? omit(request, key) : { ...request, [key]: others },
    };
  });
}

const omit = (request: ScenarioRequest, key: ScenarioKey): ScenarioRequest => {
  const { [key]: _, ...others } = request;
  return others;
};

/** What a request before it asks for is what counts. */
function isFirst(
  { key, name = '' }: Part,
  request: ScenarioRequest,
  all: readonly ScenarioRequest[],
): boolean {
  const before = all.slice(0, all.indexOf(request));
  if (key !== 'dimensions' && key !== 'thresholds') return before.every((each) => each[key] === undefined);
  return before.every((each) => !Object.hasOwn({ ...each[key] }, name));
}

/** Another issue is about it, or the dims of a spec took the value when the graph was made. */
const isSaid = ({ key, name, written = name, isDefault }: Part, { issues, opened }: ModelEstimate): boolean =>
  isDefault === true ||
  (key === 'dimensions' && opened.selectedModel?.dims.some((dim) => dim.name.text === name) === true) ||
  issues.some(
    ({ scenarioKey, scenarioPart = name, message }) =>
      scenarioKey === key && scenarioPart === name && (written === undefined || message.includes(written)),
  );

/** Also where it is what the requests below ask for, or nobody: then it is granted. */
function changesCost(part: Part, request: ScenarioRequest, estimate: ModelEstimate): boolean {
  const { cost, scenario } = estimate;
  const there = costWith([], estimate, request, part.without);
  if (isSameContent(there.scenario, scenario)) return isGranted(part, request, estimate);
  return cost === undefined || there.cost === undefined || !isSameCost(cost, there.cost, part.key);
}

function isGranted({ key, name = '' }: Part, request: ScenarioRequest, { scenario }: ModelEstimate): boolean {
  if (key === 'dimensions') return request.dimensions?.[name] === scenario?.dimensions[name];
  if (key === 'batch' || key === 'globalBatch') return true;
  return isSameContent(request[key], scenario?.[key]);
}

function costWith(
  circumstances: readonly ScenarioRequest[],
  { asked }: ModelEstimate,
  request: ScenarioRequest,
  instead: ScenarioRequest,
): Pick<ModelEstimate, 'scenario' | 'cost'> {
  const requests = asked.requests.map((each) => (each === request ? instead : each));
  return estimateModel(asked.model, [...circumstances, ...requests], asked.customCluster, asked.measurements);
}

/** Thresholds change findings alone; what else changes these changes a total too. */
const isSameCost = (left: StepCost, right: StepCost, key: ScenarioKey): boolean =>
  key === 'thresholds'
    ? isSameContent(
        left.findings.map(({ message }) => message),
        right.findings.map(({ message }) => message),
      )
    : left.totals.time.step === right.totals.time.step &&
      left.totals.memory.peak === right.totals.memory.peak &&
      isSameContent(left.totals, right.totals) &&
      isSameContent(left.messages, right.messages);

interface Circumstance {
  readonly request: ScenarioRequest;
  /** "in inference". */
  readonly now: string;
  /** "in training". */
  readonly where: string;
}

function issueOf(part: Part, request: ScenarioRequest, estimate: ModelEstimate): Issue {
  const { key, name, text, about } = part;
  const found = part.key === 'thresholds' ? undefined : whereItMatters(part, request, estimate);
  const [now, where] = [found?.map((each) => each.now), found?.map((each) => each.where)];
  const why =
    now !== undefined && where !== undefined
      ? `has no effect ${now.join(', ')}; it has one ${where.join(', ')}`
      : part.key === 'thresholds'
        ? 'changes no finding of this step'
        : `has no effect: no part of this step depends on it; leave it out${about === undefined ? '' : `. What it sets: ${about}`}`;
  return {
    code: 'scenario/no-effect',
    severity: key === 'thresholds' ? 'information' : 'warning',
    message: `\`${text}\` ${why}`,
    scenarioKey: key,
    ...(name === undefined ? {} : { scenarioPart: name }),
  };
}

/** The first circumstance that lets the part change the cost, else as few of them together as do. */
function whereItMatters(
  { without, key }: Part,
  request: ScenarioRequest,
  estimate: ModelEstimate,
): readonly Circumstance[] | undefined {
  if ((estimate.training?.costs.length ?? 0) > mostOperators) return undefined;
  const others = circumstances(estimate).filter((each) => each.request[key] === undefined);
  const differs = (chosen: readonly Circumstance[]): boolean => {
    const asked = chosen.map((each) => each.request);
    const [left, right] = [request, without].map((each) => costWith(asked, estimate, request, each).cost);
    return left !== undefined && right !== undefined && !isSameCost(left, right, key);
  };
  const alone = others.find((each) => differs([each]));
  if (alone !== undefined) return [alone];
  if (others.length < 2 || !differs(others)) return undefined;
  return others.reduce((needed, each) => {
    const fewer = needed.filter((other) => other !== each);
    return differs(fewer) ? fewer : needed;
  }, others);
}

/** Beyond it, costing a dozen steps takes longer than a person waits. */
const mostOperators = 10_000;

/** What is not so in this scenario, and is what options most often wait for. */
function circumstances({ scenario, cluster, opened }: ModelEstimate): readonly Circumstance[] {
  if (scenario === undefined || cluster === undefined) return [];
  const perNode = cluster.gpusPerNode.value;
  const several: Omit<Circumstance, 'now'> =
    perNode > 1
      ? { request: { cluster: cluster.name, gpus: perNode, nodes: 1 }, where: `on ${perNode} GPUs` }
      : cluster.network === undefined
        ? { request: { cluster: 'dgx-h100', gpus: 8, nodes: 1 }, where: 'on several GPUs' }
        : { request: { cluster: cluster.name, gpus: 2, nodes: 2 }, where: 'on 2 nodes' };
  const isWide = scenario.precision === 'fp32' || scenario.precision === 'tf32';
  const other: Precision | undefined = isWide ? halfPrecision(cluster.gpu) : 'fp32';
  const found: (Circumstance | false | undefined)[] = [
    scenario.mode === 'inference' && {
      request: { mode: 'training' },
      now: 'in inference',
      where: 'in training',
    },
    scenario.gpus === 1 && { ...several, now: 'on one GPU' },
    scenario.nodes === 1 &&
      scenario.gpus > 1 &&
      cluster.network !== undefined && {
        request: { gpus: 2 * perNode, nodes: 2 },
        now: 'on one node',
        where: 'on 2 nodes',
      },
    other && { request: { precision: other }, now: `in ${scenario.precision}`, where: `in ${other}` },
    (scenario.checkpoint ?? 'none') === 'none' &&
      opened.analysis !== undefined &&
      repeatedBlocks(opened.analysis) !== undefined && {
        request: { checkpoint: 'block' },
        now: 'without checkpointing',
        where: 'with `checkpoint: block`',
      },
    scenario.optimizer === 'none' && {
      request: { optimizer: 'adamw' },
      now: 'without an optimizer',
      where: 'with `optimizer: adamw`',
    },
  ];
  return found.filter((each) => each !== false && each !== undefined);
}
