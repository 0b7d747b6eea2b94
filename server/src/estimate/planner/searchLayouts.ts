/**
 * The layouts of a model on so many GPUs, costed one by one as a report costs them, and ranked by the time of a step.
 *
 * Degrees are those that divide the GPUs: of tensor and pipeline parallelism, of context parallelism where sequences are long, of
 * expert parallelism where there are experts. For each set, micro-batches are doubled while the step gets shorter, and activations
 * are kept as far as they fit: all, what the framework selects, or what goes into blocks. Where copies shard weights and where they
 * do not, the search goes from few GPUs of a copy to many, and ends where a copy has eight times the GPUs of the smallest that
 * fits: more of them exchange more and compute smaller kernels. A pipeline that could be the fastest with another schedule is tried
 * with it at once. What cannot be among the layouts that are listed, by the bounds of `layoutBound.ts`, is not costed.
 */

import { entryAt } from '../../model/at.ts';
import { type FrameworkChoice, gpusPerCopy } from '../../model/scenario.ts';
import type { StepCost } from '../../model/stepCost.ts';
import type { Steps } from '../../model/steps.ts';
import { copies, selectionOf, shardedWeights, sharesUpdate } from './copyFrameworks.ts';
import { LayoutBounds, stateOf } from './layoutBound.ts';
import {
  type Checkpointing,
  candidateOf,
  type Degrees,
  type LayoutCandidate,
  type LayoutSearch,
  samplesOf,
} from './layoutCandidate.ts';
import { ScheduleTrials } from './scheduleTrials.ts';
import { degreesOf, frameworksOf } from './searchedDegrees.ts';

export interface FoundLayouts {
  /** That may fit, the fastest first. */
  readonly fitting: readonly LayoutCandidate[];
  /** Layouts that were costed, those that do not fit among them. */
  readonly costed: number;
  /** Sets of degrees that were left out because a copy has many times the GPUs that it needs. */
  readonly leftOut: number;
  /** Layouts that were not costed, since they cannot be among those that are listed. */
  readonly bounded: number;
}

/**
 * A step of the generator is one layout, or a part of one where these are costed in steps. One layout of each way to divide a pass comes first: it bounds the others, which follow from
 * the one with the lowest bound on. All of one size of micro-batch are costed before those of the next: what is found of a graph that
 * is bound to a batch, divided for a worker and lowered serves all of them. Copies that each update all come last, as those that share
 * the update bound them.
 */
export function* searchLayouts(search: LayoutSearch): Steps<FoundLayouts> {
  let costed = 0;
  const least = search.fixedMicroBatch ?? 1;
  const bounds = new LayoutBounds(search.top ?? mostListed);
  const all = degreesOf(search).flatMap((degrees) =>
    frameworksOf(search, degrees).map(
      (framework, _, tried): Trial => ({
        degrees,
        framework,
        isBounded: framework === copies && tried.some(sharesUpdate),
        fitting: [],
        isOver: false,
      }),
    ),
  );
  const schedules = new ScheduleTrials(search, bounds);
  const tried = new Set<Trial>();
  const within: Trial[] = [];
  for (const own of byWhatIsDivided(all)) {
    let fewest = Number.POSITIVE_INFINITY;
    for (const trial of own) {
      if (trial.isBounded) continue;
      costed += yield* tryMicroBatch(search, bounds, trial, least);
      tried.add(trial);
      if (trial.fitting.length === 0) continue;
      fewest = waysOf(trial);
      break;
    }
    within.push(...own.filter((trial) => !tried.has(trial) && waysOf(trial) <= mostOfFewest * fewest));
  }
  const others = within.filter(({ isBounded }) => !isBounded).sort(byWhatIsShared);
  const firsts = firstOfPasses(others);
  for (const trial of firsts) costed += yield* tryMicroBatch(search, bounds, trial, least);
  const trials = [...tried, ...others];
  costed += yield* schedules.promising(fittingOf(trials));
  const leastOf = new Map(others.map((trial) => [trial, leastOfTrial(search, bounds, trial)]));
  for (const trial of others.toSorted((one, other) => entryAt(leastOf, one) - entryAt(leastOf, other))) {
    if (firsts.includes(trial)) continue;
    costed += yield* tryMicroBatch(search, bounds, trial, least);
    costed += yield* schedules.promising(trial.fitting);
  }
  costed += yield* tryLargerMicroBatches(search, bounds, trials);
  costed += yield* schedules.all(fittingOf(trials));
  const bounded = within.filter(
    ({ degrees, isBounded }) =>
      isBounded && !bounds.areCopiesTooSlow(degrees) && !bounds.areCopiesTooFull(degrees),
  );
  for (const trial of bounded) costed += yield* tryMicroBatch(search, bounds, trial, least);
  costed += yield* tryLargerMicroBatches(search, bounds, bounded);
  costed += yield* schedules.all(fittingOf([...trials, ...bounded]));
  const fitting = [...fittingOf([...trials, ...bounded]), ...schedules.fitting].sort(byStep);
  const degreesTried = new Set([...tried, ...within].map(({ degrees }) => degrees));
  const leftOut = new Set(all.flatMap(({ degrees }) => (degreesTried.has(degrees) ? [] : [degrees])));
  return { fitting, costed, leftOut: leftOut.size, bounded: bounds.bounded };
}

/** Micro-batches doubled while the step gets shorter. */
function* tryLargerMicroBatches(
  search: LayoutSearch,
  bounds: LayoutBounds,
  trials: readonly Trial[],
): Steps<number> {
  if (search.fixedMicroBatch !== undefined) return 0;
  const ordered = trials.toSorted(byWhatIsShared);
  let costed = 0;
  for (let microBatch = 2; ordered.some(({ isOver }) => !isOver); microBatch *= 2) {
    for (const trial of ordered) {
      if (!trial.isOver) costed += yield* tryMicroBatch(search, bounds, trial, microBatch);
    }
  }
  return costed;
}

const fittingOf = (trials: readonly Trial[]): readonly LayoutCandidate[] =>
  trials.flatMap(({ fitting }) => fitting).sort(byStep);

/** Of those that differ in their pipeline alone, the one with the fewest stages. */
const firstOfPasses = (trials: readonly Trial[]): readonly Trial[] =>
  trials.filter((trial, index) => trials.findIndex((other) => byWhatIsShared(trial, other) === 0) === index);

const leastOfTrial = (search: LayoutSearch, bounds: LayoutBounds, trial: Trial): number =>
  bounds.leastOf(
    trial,
    search.fixedMicroBatch ?? 1,
    samplesOf(search, trial.degrees) / (search.fixedMicroBatch ?? 1),
  );

const byStep = (one: LayoutCandidate, other: LayoutCandidate): number => one.step - other.step;

const waysOf = ({ degrees }: Trial): number => gpusPerCopy(degrees);

const byWhatIsShared = (one: Trial, other: Trial): number =>
  one.degrees.tensor - other.degrees.tensor ||
  one.degrees.context - other.degrees.context ||
  one.degrees.expert - other.degrees.expert ||
  one.framework.name.localeCompare(other.framework.name);

/** Degrees and a framework, whose micro-batches are doubled while the step gets shorter. */
interface Trial {
  readonly degrees: Degrees;
  readonly framework: FrameworkChoice;
  /** Copies that each update all, where there are those that share the update, too. */
  readonly isBounded: boolean;
  readonly fitting: LayoutCandidate[];
  isOver: boolean;
}

const mostOfFewest = 8;

/** Those whose weights are divided by degrees alone, and those that copies shard, which fit on fewer GPUs of a copy. */
const byWhatIsDivided = (trials: readonly Trial[]): readonly (readonly Trial[])[] => [
  trials.filter(({ framework }) => framework !== shardedWeights),
  trials.filter(({ framework }) => framework === shardedWeights),
];

/** Gives how many layouts were costed. */
function* tryMicroBatch(
  search: LayoutSearch,
  bounds: LayoutBounds,
  trial: Trial,
  microBatch: number,
): Steps<number> {
  const { degrees, framework, fitting } = trial;
  const samples = samplesOf(search, degrees);
  if (microBatch > samples || samples % microBatch !== 0) {
    trial.isOver = true;
    return 0;
  }
  if (microBatch === (search.fixedMicroBatch ?? 1) && bounds.isTooFull(trial)) {
    trial.isOver = true;
    return 0;
  }
  if (trial.isBounded && bounds.areCopiesTooSlow(degrees, microBatch)) return 0;
  if (bounds.isTooSlow(trial, microBatch, samples / microBatch)) {
    // Kernels of one sample, or of fewer, may say little of larger ones.
    trial.isOver = microBatch > 1 && bounds.knowsSize(trial, microBatch);
    return 0;
  }
  const before = fitting.at(-1);
  if (before !== undefined && bounds.leastStep(trial, microBatch, samples / microBatch) > before.step) {
    bounds.bounded += 1;
    trial.isOver = true;
    return 0;
  }
  let costed = 0;
  for (const checkpoint of checkpointsOf(search, framework, before)) {
    const candidate = yield* candidateOf(search, degrees, framework, microBatch, checkpoint);
    yield;
    // What a framework or the model refuses is no layout.
    if (candidate === undefined) continue;
    costed += 1;
    bounds.learn(candidate);
    if (candidate.cost.mayFit) {
      bounds.list(candidate);
      fitting.push(candidate);
      trial.isOver = before !== undefined && candidate.step > before.step;
      return costed;
    }
    if (isFullOfState(candidate.cost)) break;
    // What keeps less computes more.
    const isSlower = before !== undefined && candidate.step > before.step;
    if (isSlower || bounds.isOverLimit(candidate.step)) break;
  }
  trial.isOver = true;
  return costed;
}

/** A larger micro-batch keeps no more than the smaller one had room for. */
function checkpointsOf(
  { checkpoint, blocks }: LayoutSearch,
  framework: FrameworkChoice,
  before: LayoutCandidate | undefined,
): readonly Checkpointing[] {
  if (checkpoint !== undefined) return [checkpoint];
  const all: readonly Checkpointing[] = blocks === 0 ? ['none'] : ['none', selectionOf(framework), 'block'];
  return before === undefined ? all : all.slice(all.indexOf(before.checkpoint));
}

/** As many as a table has lines. */
const mostListed = 8;

/** Neither fewer samples nor fewer activations help where weights, gradients and optimizer state alone are too much. */
function isFullOfState(cost: StepCost): boolean {
  const { bytes, room } = stateOf(cost);
  return bytes > room;
}
