/** A layout that is searched for: what a report of it is asked, and what that says. */

import {
  type FrameworkChoice,
  gpusPerCopy,
  type ParallelScenario,
  type PipelineScheduleName,
  type ScenarioRequest,
} from '../../model/scenario.ts';
import type { StepCost } from '../../model/stepCost.ts';
import type { Steps } from '../../model/steps.ts';

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
  /** Experts of each mixture; none where the model has none that can be divided. */
  readonly experts: readonly number[];
  /** Degrees of context parallelism that are worth a try. */
  readonly contexts: readonly number[];
  /** Layouts that are listed: slower ones need not be found. Left out, 8. */
  readonly top?: number;
  /** The one micro-batch of a model that fixes its batch; left out, all sizes from one sample on are tried. */
  readonly fixedMicroBatch?: number;
  /** A transformer of tokens, as the models of Megatron-LM and torchtitan are. */
  readonly isLanguageModel: boolean;
  /** Whether Megatron-LM divides it so. */
  readonly runsInMegatron: (degrees: Degrees) => boolean;
  /** `undefined` where the request cannot be costed. */
  readonly cost: (request: ScenarioRequest) => StepCost | undefined;
  /** The same in steps, for whoever turns to something else between them. */
  readonly costInSteps?: (request: ScenarioRequest) => Steps<StepCost | undefined>;
}

export type Checkpointing = NonNullable<ScenarioRequest['checkpoint']>;

export type Degrees = Pick<ParallelScenario, 'tensor' | 'pipeline' | 'context' | 'expert'>;

export interface LayoutCandidate extends Degrees {
  readonly chunks: number;
  readonly schedule: PipelineScheduleName;
  readonly replicas: number;
  readonly microBatch: number;
  readonly passes: number;
  readonly checkpoint: Checkpointing;
  readonly framework: FrameworkChoice;
  readonly isLanguageModel: boolean;
  /** What a report of this layout is asked. */
  readonly request: ScenarioRequest;
  readonly cost: StepCost;
  /** Seconds. */
  readonly step: number;
}

/** Layouts with tensor parallelism split tokens between its pairs, too: nothing of a step is longer with it. */
export const tokensAreSplit = (tensor: number): boolean => tensor > 1;

/** Of a copy in a step. */
export const samplesOf = ({ globalBatch, gpus }: LayoutSearch, degrees: Degrees): number =>
  globalBatch / (gpus / gpusPerCopy(degrees));

/** `undefined` where the layout cannot be costed. */
export function* candidateOf(
  { gpus, globalBatch, isLanguageModel, cost: costOf, costInSteps }: LayoutSearch,
  degrees: Degrees,
  framework: FrameworkChoice,
  microBatch: number,
  checkpoint: Checkpointing,
  { chunks, schedule }: Pick<ParallelScenario, 'chunks' | 'schedule'> = oneForOne,
): Steps<LayoutCandidate | undefined> {
  const { tensor, pipeline, context, expert } = degrees;
  const replicas = gpus / gpusPerCopy(degrees);
  const request: ScenarioRequest = {
    gpus,
    globalBatch,
    checkpoint,
    framework,
    parallel: {
      tensor,
      pipeline,
      sequence: tokensAreSplit(tensor),
      microBatch,
      ...(context === 1 ? {} : { context }),
      ...(expert === 1 ? {} : { expert }),
      ...(schedule === '1f1b' ? {} : { chunks, schedule }),
    },
  };
  const cost = costInSteps === undefined ? costOf(request) : yield* costInSteps(request);
  const step = cost?.totals.time.step;
  if (cost === undefined || step === undefined || step === null) return undefined;
  if (cost.scenario.batchPerGpu !== microBatch) return undefined;
  const passes = globalBatch / (replicas * microBatch);
  return {
    ...degrees,
    chunks,
    schedule,
    replicas,
    microBatch,
    passes,
    checkpoint,
    framework,
    isLanguageModel,
    request,
    cost,
    step,
  };
}

const oneForOne = { chunks: 1, schedule: '1f1b' } as const;
