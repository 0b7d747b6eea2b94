/** The work of a step before it is simulated: kernels with times, messages with times, the update. */

import type { Update } from '../../frameworks/behaviour.ts';
import type { Scenario } from '../../model/scenario.ts';
import { type Seconds, seconds, sum } from '../../model/units.ts';
import { type GradientTimes, passTimes } from './gradientTimes.ts';
import type { HeldTables } from './heldTables.ts';
import type { InputWork } from './inputWork.ts';
import type { LoweredStep } from './loweredStep.ts';
import type { MeasuredWork } from './measuredWork.ts';
import type { OperatorTimes, UpdateTimes } from './operatorTimes.ts';
import type { ExchangingStep, PlannedExchange } from './plannedExchange.ts';

export interface StepPlan extends LoweredStep, ExchangingStep, PlannedExchange {
  /** Where the scenario describes the input. */
  readonly input: InputWork | undefined;
  /** Time of the slowest worker over the average. */
  readonly imbalance: number;
  /** Embedding tables whose gradients are rows, or that are sharded. */
  readonly tables: HeldTables;
  readonly update: Update;
  /** Of length 1. */
  readonly updateTimes: UpdateTimes;
  /** The same of a GPU that updates all parameters itself. */
  readonly wholeUpdateTimes: UpdateTimes;
  /** What is done with gradients beside computing them, and by a GPU by itself; left out, nothing. */
  readonly gradientTimes?: GradientTimes;
  readonly ownGradientTimes?: GradientTimes;
  /** What a GPU by itself copies to and from its host; left out, nothing. */
  readonly ownExchange?: PlannedExchange;
  /** In the place of `times`, launches and `updateTimes`. */
  readonly measured?: MeasuredWork;
  /** Where GPUs are of two kinds: the plan is that of the slower kind, this the one of the others. */
  readonly faster?: FasterWorkers;
}

export interface FasterWorkers {
  readonly plan: StepPlan;
  readonly count: number;
}

/** Passes forward and backward of one step. */
export const passesOf = ({ accumulate }: Scenario): number => accumulate ?? 1;

/** Whether a pass adds its gradients to what is there: those of the passes before, or zeros in those of the step before. */
export const addsToGradients = ({ scenario, behaviour }: Pick<StepPlan, 'scenario' | 'behaviour'>): boolean =>
  scenario.mode === 'training' && (passesOf(scenario) > 1 || behaviour.addsGradients === true);

/** Whether the GPU frees a gradient as soon as it is complete: it goes to the host, or its parameter is updated then. */
export const gradientsLeave = ({
  scenario,
  behaviour,
  exchange,
}: Pick<StepPlan, 'scenario' | 'behaviour' | 'exchange'>): boolean =>
  exchange.onHost?.gradients === true || (behaviour.updatesInBackward === true && scenario.gpus === 1);

/**
 * What is sent once in a step (`no_sync` of PyTorch DDP), or, where a GPU keeps a shard of the gradients alone, in each
 * of its passes (FSDP without `no_sync`, DeepSpeed stages 2 and 3), as where they go to the host.
 */
export const exchangesPerStep = ({ exchange, scenario }: StepPlan): number =>
  exchange.shards.gradients > 1 || exchange.onHost?.gradients === true ? passesOf(scenario) : 1;

/** Kernels of one pass on average, with what it does with its gradients. */
export const passTimesOf = ({ times, gradientTimes: handled, scenario }: StepPlan): OperatorTimes =>
  handled === undefined ? times : passTimes(times, { handled, passes: passesOf(scenario) });

/** What servers take for one exchange of every node. */
export const timeAtServers = ({ placement, traffic }: StepPlan): Seconds =>
  seconds(placement.nodes * sum(traffic.serverTimes));
