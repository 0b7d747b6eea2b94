/**
 * The layouts of a model on so many GPUs, costed one by one as a report costs them, and ranked by the time of a step.
 *
 * Degrees of tensor and pipeline parallelism are those that divide the GPUs. For each pair, micro-batches are doubled while the
 * step gets shorter, and activations are kept as far as they fit: all, all but attention, or what goes into blocks. The search goes
 * from few GPUs of a copy to many, and ends where a copy has eight times the GPUs of the smallest that fits: more of them
 * exchange more and compute smaller kernels.
 */

import type { FrameworkChoice, ParallelScenario, ScenarioRequest } from '../../model/scenario.ts';
import type { StepCost } from '../../model/stepCost.ts';
import type { Steps } from '../../model/steps.ts';
import { runtimeReserve } from '../memory/reservedMemory.ts';

export interface LayoutSearch {
  readonly gpus: number;
  readonly gpusPerNode: number;
  /** Samples of a step over all GPUs. */
  readonly globalBatch: number;
  /** Blocks that a model can be cut between; 0 where there are none. */
  readonly blocks: number;
  /** What a person asked for; left out, all that are costed are tried. */
  readonly framework?: FrameworkChoice;
  readonly checkpoint?: Checkpointing;
  /** Largest sizes of a micro-batch that are tried; the model may fix its own. */
  readonly mostMicroBatch?: number;
  /** `undefined` where the request cannot be costed. */
  readonly cost: (request: ScenarioRequest) => StepCost | undefined;
}

type Checkpointing = NonNullable<ScenarioRequest['checkpoint']>;

export interface LayoutCandidate {
  readonly tensor: number;
  readonly pipeline: number;
  readonly replicas: number;
  readonly microBatch: number;
  readonly passes: number;
  readonly checkpoint: Checkpointing;
  readonly framework: FrameworkChoice;
  /** What a report of this layout is asked. */
  readonly request: ScenarioRequest;
  readonly cost: StepCost;
  /** Seconds. */
  readonly step: number;
}

export interface FoundLayouts {
  /** That may fit, the fastest first. */
  readonly fitting: readonly LayoutCandidate[];
  /** Layouts that were costed, those that do not fit among them. */
  readonly costed: number;
  /** Pairs of degrees that were left out because a copy has many times the GPUs that it needs. */
  readonly leftOut: number;
}

/**
 * A step of the generator is one layout. All of one size of micro-batch are costed before those of the next, and among them those
 * of one degree of tensor parallelism and of one framework one after another: what is found of a graph that is bound to a
 * batch, divided for a worker and lowered serves all of them.
 */
export function* searchLayouts(search: LayoutSearch): Steps<FoundLayouts> {
  let [costed, fewest] = [0, Number.POSITIVE_INFINITY];
  const untried = degreesOf(search).flatMap((degrees) =>
    frameworksOf(search, degrees).map(
      (framework): Trial => ({ degrees, framework, fitting: [], isOver: false }),
    ),
  );
  const tried: Trial[] = [];
  for (let next = untried.shift(); next !== undefined; next = untried.shift()) {
    costed += yield* tryMicroBatch(search, next, 1);
    tried.push(next);
    if (next.fitting.length === 0) continue;
    fewest = waysOf(next);
    break;
  }
  const within = untried.filter((trial) => waysOf(trial) <= mostOfFewest * fewest).sort(byWhatIsShared);
  for (const trial of within) costed += yield* tryMicroBatch(search, trial, 1);
  const trials = [...tried, ...within].sort(byWhatIsShared);
  const { mostMicroBatch = Number.POSITIVE_INFINITY } = search;
  for (let microBatch = 2; trials.some(({ isOver }) => !isOver); microBatch *= 2) {
    for (const trial of trials) {
      trial.isOver ||= microBatch > mostMicroBatch;
      if (!trial.isOver) costed += yield* tryMicroBatch(search, trial, microBatch);
    }
  }
  const fitting = trials.flatMap((trial) => trial.fitting).sort((one, other) => one.step - other.step);
  const leftOut = new Set(untried.filter((trial) => !within.includes(trial)).map(({ degrees }) => degrees));
  return { fitting, costed, leftOut: leftOut.size };
}

const waysOf = ({ degrees }: Trial): number => degrees.tensor * degrees.pipeline;

const byWhatIsShared = (one: Trial, other: Trial): number =>
  one.degrees.tensor - other.degrees.tensor || one.framework.name.localeCompare(other.framework.name);

/** Degrees and a framework, whose micro-batches are doubled while the step gets shorter. */
interface Trial {
  readonly degrees: Degrees;
  readonly framework: FrameworkChoice;
  readonly fitting: LayoutCandidate[];
  isOver: boolean;
}

const mostOfFewest = 8;

type Degrees = Pick<ParallelScenario, 'tensor' | 'pipeline'>;

/** From few GPUs of a copy to many. Groups of tensor parallelism stay within a node. */
function degreesOf({ gpus, gpusPerNode, blocks, globalBatch }: LayoutSearch): readonly Degrees[] {
  const divisors = Array.from({ length: gpus }, (_, index) => index + 1).filter((part) => gpus % part === 0);
  return divisors
    .filter((tensor) => tensor <= gpusPerNode && gpusPerNode % tensor === 0)
    .flatMap((tensor) =>
      divisors
        .filter((pipeline) => pipeline === 1 || pipeline <= blocks)
        .filter((pipeline) => gpus % (tensor * pipeline) === 0)
        // Copies share the samples of a step evenly.
        .filter((pipeline) => globalBatch % (gpus / (tensor * pipeline)) === 0)
        .map((pipeline) => ({ tensor, pipeline })),
    )
    .sort((one, other) => one.tensor * one.pipeline - other.tensor * other.pipeline);
}

/** Copies exchange whole gradients or shards of the update; stages of a pipeline keep their weights. */
function frameworksOf(
  { framework, gpus }: LayoutSearch,
  { tensor, pipeline }: Degrees,
): readonly FrameworkChoice[] {
  if (framework !== undefined) return [framework];
  if (gpus === tensor * pipeline) return [copies];
  return pipeline === 1 ? [copies, shardedUpdate, shardedWeights] : [copies, shardedUpdate];
}

const copies: FrameworkChoice = { name: 'pytorch-ddp', options: {} };
const shardedUpdate: FrameworkChoice = { name: 'deepspeed-zero', options: { stage: '1' } };
const shardedWeights: FrameworkChoice = { name: 'pytorch-fsdp', options: {} };

/** Gives how many layouts were costed. */
function* tryMicroBatch(search: LayoutSearch, trial: Trial, microBatch: number): Steps<number> {
  const { degrees, framework, fitting } = trial;
  const samples = search.globalBatch / (search.gpus / (degrees.tensor * degrees.pipeline));
  if (microBatch > samples || samples % microBatch !== 0) {
    trial.isOver = true;
    return 0;
  }
  const before = fitting.at(-1);
  let costed = 0;
  for (const checkpoint of checkpointsOf(search, before)) {
    const candidate = candidateOf(search, degrees, framework, microBatch, checkpoint);
    costed += 1;
    yield;
    // A model that fixes its batch has one micro-batch, and another request is none.
    if (candidate === undefined) continue;
    if (candidate.cost.fits !== 'no') {
      fitting.push(candidate);
      trial.isOver = before !== undefined && candidate.step > before.step;
      return costed;
    }
    if (isFullOfState(candidate.cost)) break;
  }
  trial.isOver = true;
  return costed;
}

/** A larger micro-batch keeps no more than the smaller one had room for. */
function checkpointsOf(
  { checkpoint, blocks }: LayoutSearch,
  before: LayoutCandidate | undefined,
): readonly Checkpointing[] {
  if (checkpoint !== undefined) return [checkpoint];
  const all: readonly Checkpointing[] = blocks === 0 ? ['none'] : ['none', 'selective', 'block'];
  return before === undefined ? all : all.slice(all.indexOf(before.checkpoint));
}

function candidateOf(
  { gpus, globalBatch, cost: costOf }: LayoutSearch,
  { tensor, pipeline }: Degrees,
  framework: FrameworkChoice,
  microBatch: number,
  checkpoint: Checkpointing,
): LayoutCandidate | undefined {
  const replicas = gpus / (tensor * pipeline);
  const request: ScenarioRequest = {
    gpus,
    globalBatch,
    checkpoint,
    framework,
    parallel: { tensor, pipeline, sequence: tensor > 1, microBatch },
  };
  const cost = costOf(request);
  const step = cost?.totals.time.step;
  if (cost === undefined || step === undefined || step === null) return undefined;
  if (cost.scenario.batchPerGpu !== microBatch) return undefined;
  const passes = globalBatch / (replicas * microBatch);
  return { tensor, pipeline, replicas, microBatch, passes, checkpoint, framework, request, cost, step };
}

/** Neither fewer samples nor fewer activations help where weights, gradients and optimizer state alone are too much. */
function isFullOfState({ totals: { memory } }: StepCost): boolean {
  const { parameters, gradients, optimizerState, communicationBuffers, capacity } = memory;
  return (
    capacity !== null &&
    parameters + gradients + optimizerState + communicationBuffers > capacity - runtimeReserve
  );
}
