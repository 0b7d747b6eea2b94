/** How GPUs share a copy of the model, from what was asked for; and why they cannot. */

import type { ModelAnalysis } from '../../analysis/modelAnalysis.ts';
import type { Issue, Severity } from '../../model/issue.ts';
import type { Mode, ParallelScenario, ScenarioRequest } from '../../model/scenario.ts';
import { cutsOf } from '../../parallel/pipelineStages.ts';

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
  const {
    tensor = 1,
    pipeline = 1,
    sequence = false,
    gathered = 'keep',
    schedule = '1f1b',
    stages = 'balanced',
    microBatch,
  } = asked;
  const ways = tensor * pipeline;
  const given = microBatch === undefined ? {} : { microBatch };
  if (ways === 1) return { ways, ...given, issues: [] };
  const problem =
    impossible(ways, tensor, pipeline, gpus) ?? notCosted(mode, requests) ?? tooFewBlocks(analysis, pipeline);
  if (problem !== undefined) return { ways: 1, ...given, issues: [issue('error', problem)] };
  return {
    parallel: { tensor, pipeline, sequence: sequence && tensor > 1, gathered, schedule, stages },
    ways,
    ...given,
    issues:
      sequence && tensor === 1
        ? [issue('warning', '`sp` has no effect without `tp`; set `tp` to 2 or more')]
        : [],
  };
}

const issue = (severity: Severity, message: string): Issue => ({
  code: 'scenario/invalid',
  severity,
  message,
  scenarioKey: 'parallel',
});

function impossible(ways: number, tensor: number, pipeline: number, gpus: number): string | undefined {
  if (gpus % ways === 0) return undefined;
  return `${gpus} GPUs do not divide into groups of ${ways} (tp ${tensor} × pp ${pipeline}); use a multiple of ${ways} GPUs, or other degrees`;
}

/** A number for these would leave out what they ask for. */
function notCosted(mode: Mode, requests: readonly ScenarioRequest[]): string | undefined {
  const isAsked = (key: keyof ScenarioRequest): boolean =>
    requests.some((request) => request[key] !== undefined);
  const framework = requests.find((request) => request.framework !== undefined)?.framework;
  if (mode === 'inference') return '`parallel` is costed in training; leave it out in inference';
  if (isAsked('measuredStep'))
    return 'A measured step is that of a GPU with a copy of the model; leave out `measured-step` or `parallel`';
  if (isAsked('input')) return '`input` is not costed with `parallel`; leave one of them out';
  if (isAsked('workers')) return '`workers` is not costed with `parallel`; leave one of them out';
  if (framework === undefined || frameworks.includes(framework.name)) return undefined;
  return `\`${framework.name}\` is not costed with \`parallel\`; use ${frameworks.join(', ')}`;
}

/** Their workers wait for each other in every step, and exchange by collectives alone. */
const frameworks: readonly string[] = ['pytorch-ddp', 'pytorch-fsdp', 'deepspeed-zero'];

function tooFewBlocks(analysis: ModelAnalysis, pipeline: number): string | undefined {
  if (pipeline === 1) return undefined;
  const blocks = cutsOf(analysis).length;
  if (blocks >= pipeline) return undefined;
  return blocks === 0
    ? 'The model has no numbered modules of the same structure to cut between; leave `pp` out, or export the model with its module names'
    : `The model has ${blocks} blocks, fewer than its ${pipeline} pipeline stages; set \`pp\` to at most ${blocks}`;
}
