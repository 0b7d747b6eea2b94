/** How GPUs share a copy of the model, from what was asked for; and why they cannot. */

import type { ModelAnalysis } from '../../analysis/modelAnalysis.ts';
import { type AskedLayout, freeLayout, type LayoutRules } from '../../frameworks/layoutRules.ts';
import { defaultFramework, findFramework, frameworks, optionValues } from '../../frameworks/registry.ts';
import { evaluateDimension } from '../../model/dimension.ts';
import { isKnownShape } from '../../model/graph.ts';
import type { Issue, Severity } from '../../model/issue.ts';
import {
  type FrameworkChoice,
  gpusPerCopy,
  type Mode,
  type ParallelRequest,
  type ParallelScenario,
  type PipelineScheduleName,
  type ScenarioRequest,
  type StageCut,
} from '../../model/scenario.ts';
import { hasSlidingWindow, headsOfAttention, keyHeadsOfAttention } from '../../parallel/attentionCores.ts';
import { sequencesOf } from '../../parallel/contextParallel.ts';
import { expertsOverCopies, spansTensor } from '../../parallel/expertGroups.ts';
import { expertCounts } from '../../parallel/expertParallel.ts';
import { resolveStages } from '../../parallel/givenStages.ts';
import { cutsOf } from '../../parallel/pipelineStages.ts';
import { chunksOfSchedule, leastMicroBatches, roundOf } from '../../schedule/pipelineSchedules.ts';

export interface ResolvedParallel {
  /** Absent where each GPU has a copy of the model. */
  readonly parallel?: ParallelScenario;
  /** GPUs that share a copy. */
  readonly ways: number;
  /** Samples of a pass, where they were asked for. */
  readonly microBatch?: number;
  readonly issues: readonly Issue[];
}

/** `asked` is what the first of the requests asks that asks for parallelism. */
export function resolveParallel(
  asked: ScenarioRequest['parallel'],
  analysis: ModelAnalysis,
  gpus: number,
  mode: Mode,
  requests: readonly ScenarioRequest[],
): ResolvedParallel {
  if (asked === undefined) return { ways: 1, issues: [] };
  const framework = frameworkOf(requests);
  const usual = rulesOf(framework).defaults;
  const {
    tensor = 1,
    pipeline = 1,
    sequence = usual.sequence ?? false,
    gathered = usual.gathered ?? 'keep',
    stages: askedStages = usual.stages ?? 'balanced',
    microBatch,
    context = 1,
    expert = 1,
    expertImbalance = 1,
  } = asked;
  const ways = gpusPerCopy({ tensor, context, pipeline });
  const { chunks, schedule } = chunkedSchedule(asked, pipeline);
  const given = microBatch === undefined ? {} : { microBatch };
  const idle = [
    ...(asked.sequence === true && tensor === 1 && ways > 1 ? [noEffect('sp', 'tp')] : []),
    ...(pipeline === 1 && asked.chunks !== undefined && ways > 1 ? [noEffect('vp', 'pp')] : []),
    ...(expert === 1 && expertImbalance !== 1 ? [noEffect('expert-imbalance', 'ep')] : []),
    ...(expert > 1 && pipeline > 1 && schedule === 'dualpipe-v'
      ? [
          issue(
            'information',
            'DualPipeV hides all-to-alls of experts behind the other pass; they are costed as exposed, so that the step may be shorter. Compare it with `schedule=zb-v`',
          ),
        ]
      : []),
  ];
  if (ways === 1 && expert === 1) return { ways, ...given, issues: idle };
  const cut = resolveStages(askedStages, analysis, pipeline * chunks);
  const stages = 'stages' in cut ? cut.stages : 'balanced';
  const parallel: ParallelScenario = {
    tensor,
    sequence: sequence && tensor > 1,
    gathered,
    context,
    contextExchange: asked.contextExchange ?? usual.contextExchange ?? 'all-gather',
    expert,
    expertImbalance,
    pipeline,
    chunks,
    schedule,
    stages,
  };
  const problem =
    impossible({ tensor, context, pipeline }, gpus) ??
    unlikeExperts(analysis, { tensor, sequence: parallel.sequence, context, pipeline, expert }, gpus) ??
    notCosted(mode, requests) ??
    (pipeline === 1 ? undefined : unlikeSchedule(schedule, chunks)) ??
    tooFewBlocks(analysis, stages, pipeline, chunks) ??
    ('problem' in cut ? cut.problem : undefined) ??
    noSequence(analysis, context) ??
    refusedByFramework(parallel, analysis, framework);
  if (problem !== undefined) return { ways: 1, ...given, issues: [issue('error', problem)] };
  const surprise = surprisesOf(parallel, analysis, framework, gpus, requests);
  return {
    parallel,
    ways,
    ...given,
    issues: surprise === undefined ? idle : [...idle, issue('warning', surprise)],
  };
}

/** Of a step in half precision; in fp32 there is none. */
function surprisesOf(
  parallel: ParallelScenario,
  analysis: ModelAnalysis,
  framework: FrameworkChoice,
  gpus: number,
  requests: readonly ScenarioRequest[],
): string | undefined {
  const precision = requests.find((request) => request.precision !== undefined)?.precision;
  if (precision === 'fp32' || precision === 'tf32') return undefined;
  return rulesOf(framework).warns?.(askedLayout(parallel, analysis, framework), gpus);
}

/**
 * Experts are shared by GPUs that add up gradients: copies of the model, and those that share a sequence; and by those of a group of
 * tensor parallelism, where each has tokens of its own.
 */
function unlikeExperts(
  analysis: ModelAnalysis,
  degrees: Pick<ParallelScenario, 'tensor' | 'sequence' | 'context' | 'pipeline' | 'expert'>,
  gpus: number,
): string | undefined {
  const { tensor, context, pipeline, expert } = degrees;
  if (expert === 1) return undefined;
  const counts = expertCounts(analysis);
  if (counts.length === 0)
    return 'The model has no mixture of experts whose weights lie in one tensor [experts, …]; leave `ep` out, or describe it with `MixtureOfExperts`';
  for (const experts of counts) {
    if (experts % expert !== 0)
      return `${experts} experts do not divide over \`ep=${expert}\`; ${fewerWays(experts, expert)}`;
  }
  const sharing = gpus / (tensor * pipeline);
  if (sharing % expertsOverCopies(degrees) === 0) return undefined;
  const withTokens = { ...degrees, sequence: true };
  const orTokens =
    spansTensor(withTokens) && sharing % expertsOverCopies(withTokens) === 0
      ? ', or `sp`, with which groups of experts span those of `tp`'
      : '';
  return `${sharing} GPUs with a part of the batch (${gpus} ÷ tp ${tensor} ÷ pp ${pipeline}${context === 1 ? '' : `, cp ${context} among them`}) do not divide into groups of \`ep=${expert}\`; ${fewerWays(sharing, expert)}${orTokens}`;
}

function fewerWays(size: number, expert: number): string {
  const divisor = commonDivisor(size, expert);
  return divisor === 1 ? 'leave `ep` out, or use a divisor' : `use a divisor, such as \`ep=${divisor}\``;
}

const commonDivisor = (one: number, other: number): number =>
  other === 0 ? one : commonDivisor(other, one % other);

/** One rank alone has no chunks. Interleaved schedules have two on each rank where nothing is said, as torchtitan's. */
function chunkedSchedule(
  asked: ParallelRequest,
  pipeline: number,
): Pick<ParallelScenario, 'chunks' | 'schedule'> {
  if (pipeline === 1) return { chunks: 1, schedule: asked.schedule ?? '1f1b' };
  const { chunks, schedule = (chunks ?? 1) > 1 ? 'interleaved-1f1b' : '1f1b' } = asked;
  return { schedule, chunks: chunks ?? chunksOfSchedule[schedule].usual };
}

function unlikeSchedule(schedule: PipelineScheduleName, chunks: number): string | undefined {
  const { least, most } = chunksOfSchedule[schedule];
  if (chunks >= least && chunks <= most) return undefined;
  if (most === 1)
    return `\`schedule=${schedule}\` has one stage on each rank; leave out \`vp\`, or use \`schedule=interleaved-1f1b\``;
  if (most === least)
    return `\`schedule=${schedule}\` has ${most} stages on each rank; set \`vp\` to ${most}, or leave it out`;
  return `\`schedule=${schedule}\` has several stages on each rank; set \`vp\` to 2 or more, or use \`schedule=1f1b\``;
}

/**
 * Interleaved stages take micro-batches in rounds of as many as ranks, or somewhat more; PyTorch refuses rounds that are not of one
 * size (`ScheduleInterleaved1F1B`), and Megatron-LM any that are not of as many as ranks.
 */
export function unevenRounds(
  parallel: ParallelScenario | undefined,
  microBatches: number,
  framework: FrameworkChoice,
): readonly Issue[] {
  if (parallel === undefined || parallel.pipeline === 1) return [];
  const { pipeline, schedule, chunks } = parallel;
  const least = leastMicroBatches(schedule, { ranks: pipeline, chunks });
  if (microBatches < least)
    return [
      issue(
        'error',
        `${microBatches} micro-batch${microBatches === 1 ? ' is' : 'es are'} too few for \`schedule=${schedule}\`, which needs ${least}, as many as stages; use more of them, or \`schedule=zb-v\``,
      ),
    ];
  if (schedule !== 'interleaved-1f1b' && (schedule !== 'zb-h1' || chunks === 1)) return [];
  const isWhole = rulesOf(framework).wholeRounds === true;
  const rounds = isWhole
    ? Math.ceil(microBatches / pipeline)
    : Math.floor(microBatches / roundOf({ ranks: pipeline, microBatches }));
  if (isWhole ? microBatches % pipeline === 0 : microBatches % rounds === 0) return [];
  const more = Math.ceil(microBatches / pipeline) * pipeline;
  return [
    issue(
      'error',
      `${microBatches} micro-batches do not divide into ${rounds} like rounds for ${pipeline} interleaved pipeline ranks; use a multiple of ${pipeline}, such as ${more}, or \`schedule=1f1b\``,
    ),
  ];
}

const noEffect = (name: string, needed: string): Issue =>
  issue('warning', `\`${name}\` has no effect without \`${needed}\`; set \`${needed}\` to 2 or more`);

const issue = (severity: Severity, message: string): Issue => ({
  code: 'scenario/invalid',
  severity,
  message,
  scenarioKey: 'parallel',
});

/** What the first of the requests asks for that asks for one. */
export const frameworkOf = (requests: readonly ScenarioRequest[]): FrameworkChoice =>
  requests.find(({ framework }) => framework !== undefined)?.framework ?? defaultFramework;

const rulesOf = ({ name }: FrameworkChoice): LayoutRules => findFramework(name)?.layout ?? freeLayout;

/** Why the framework does not run a layout, and what to do. */
export function refusedByFramework(
  parallel: ParallelScenario,
  analysis: ModelAnalysis,
  framework: FrameworkChoice,
): string | undefined {
  const { schedules, refuses } = rulesOf(framework);
  if (parallel.pipeline > 1 && schedules?.includes(parallel.schedule) === false)
    return `\`${framework.name}\` has no schedule \`${parallel.schedule}\`; use ${schedules.map((name) => `\`${name}\``).join(' or ')}`;
  return refuses?.(askedLayout(parallel, analysis, framework));
}

const askedLayout = (
  parallel: ParallelScenario,
  analysis: ModelAnalysis,
  framework: FrameworkChoice,
): AskedLayout => ({
  parallel,
  blocks: cutsOf(analysis).length,
  heads: headsOfAttention(analysis),
  keyHeads: keyHeadsOfAttention(analysis),
  hasWindow: () => hasSlidingWindow(analysis),
  options: optionValues(framework),
});

function impossible(
  degrees: Pick<ParallelScenario, 'tensor' | 'context' | 'pipeline'>,
  gpus: number,
): string | undefined {
  const ways = gpusPerCopy(degrees);
  if (gpus % ways === 0) return undefined;
  const { tensor, context, pipeline } = degrees;
  return `${gpus} GPUs do not divide into groups of ${ways} (tp ${tensor}${context === 1 ? '' : ` × cp ${context}`} × pp ${pipeline}); use a multiple of ${ways} GPUs, or other degrees`;
}

/** A number for these would leave out what they ask for. */
function notCosted(mode: Mode, requests: readonly ScenarioRequest[]): string | undefined {
  const isAsked = (key: keyof ScenarioRequest): boolean =>
    requests.some((request) => request[key] !== undefined);
  const { name, description } = frameworkOf(requests);
  if (mode === 'inference') return '`parallel` is costed in training; leave it out in inference';
  if (isAsked('measuredStep'))
    return 'A measured step is that of a GPU with a copy of the model; leave out `measured-step` or `parallel`';
  if (isAsked('input')) return '`input` is not costed with `parallel`; leave one of them out';
  if (isAsked('workers')) return '`workers` is not costed with `parallel`; leave one of them out';
  if (description === undefined && findFramework(name)?.layout !== undefined) return undefined;
  return `\`${name}\` is not costed with \`parallel\`; use ${parallelFrameworks.join(', ')}`;
}

/** Their workers wait for each other in every step, and exchange by collectives alone. */
const parallelFrameworks: readonly string[] = frameworks.flatMap(({ name, layout }) =>
  layout === undefined ? [] : [name],
);

function noSequence(analysis: ModelAnalysis, context: number): string | undefined {
  if (context === 1 || sequencesOf(analysis).length > 0) return undefined;
  return 'The model has no input of tokens [batch, sequence] or features [batch, sequence, width] to split by `cp`; leave `cp` out';
}

/**
 * Why the sequences of the model cannot be shared so. `dimensions` are the values of its symbols. With a causal mask each GPU
 * has two pieces of a sequence.
 */
export function sequenceProblem(
  analysis: ModelAnalysis,
  { context, contextExchange, tensor, sequence }: ParallelScenario,
  dimensions: Readonly<Record<string, number>>,
): Issue | undefined {
  if (context === 1) return undefined;
  if (contextExchange === 'all-to-all') {
    for (const heads of headsOfAttention(analysis)) {
      const own = heads % tensor === 0 ? heads / tensor : heads;
      if (own % context !== 0)
        return issue(
          'error',
          `${heads} heads${own === heads ? '' : ` over \`tp=${tensor}\``} do not divide by \`cp=${context}\`, which \`cp-comm=all-to-all\` needs; use \`cp-comm=ring\` or \`all-gather\`, or a \`cp\` that divides them`,
        );
    }
  }
  const parts = 2 * context * (sequence ? tensor : 1);
  for (const name of sequencesOf(analysis)) {
    const type = analysis.graph.values.get(name)?.type;
    const length = type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape[1] : undefined;
    const size =
      length === undefined ? undefined : evaluateDimension(length, new Map(Object.entries(dimensions)));
    if (typeof size === 'number' && size % parts !== 0)
      return issue(
        'error',
        `\`${name}\` has ${size} positions, which do not divide into ${parts} pieces, two for each GPU of \`cp=${context}\`${sequence ? ` and \`tp=${tensor}\`` : ''}; use a multiple of ${parts}, or a smaller \`cp\``,
      );
  }
  return undefined;
}

/** Where the embedding and the head count as a block each, the first and the last stage may have no other. */
function tooFewBlocks(
  analysis: ModelAnalysis,
  cut: StageCut,
  pipeline: number,
  chunks: number,
): string | undefined {
  if (pipeline === 1) return undefined;
  const blocks = cutsOf(analysis).length;
  const counted = blocks + (cut === 'torchtitan' ? 2 : 0);
  if (blocks > 0 && counted >= pipeline * chunks) return undefined;
  if (blocks === 0)
    return 'The model has no numbered modules of the same structure to cut between; leave `pp` out, or export the model with its module names';
  const has = `The model has ${blocks} blocks${counted === blocks ? '' : `, ${counted} with the embedding and the head`}`;
  const most = Math.floor(counted / pipeline);
  return counted >= pipeline
    ? `${has}, fewer than the ${pipeline * chunks} stages of ${pipeline} ranks with ${chunks} each; ${most > 1 ? `set \`vp\` to at most ${most}` : 'use `schedule=1f1b` without `vp`'}, or \`pp\` to at most ${Math.floor(counted / chunks)}`
    : `${has}, fewer than its ${pipeline} pipeline stages; set \`pp\` to at most ${counted}`;
}
