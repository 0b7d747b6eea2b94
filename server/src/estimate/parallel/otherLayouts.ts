/** The same step in another layout, as advice is costed by. */

import { bindAnalysis } from '../../analysis/bindTrainingGraph.ts';
import { itemAt } from '../../model/at.ts';
import { formatCount, formatTime } from '../../model/format.ts';
import { gpusPerCopy, type ParallelScenario, type Scenario } from '../../model/scenario.ts';
import { seconds } from '../../model/units.ts';
import { expertsOverCopies } from '../../parallel/expertGroups.ts';
import { fitsAtBest } from '../memory/reservedMemory.ts';
import { passesOf } from '../plan/stepPlan.ts';
import { type LaidOutStep, layOutStep } from './laidOutStep.ts';
import { refusedByFramework, unevenRounds } from './resolveParallel.ts';

/** `undefined` where the GPUs do not divide so, or the model cannot be cut so. */
export function changed(
  step: LaidOutStep,
  layout: Partial<ParallelScenario>,
  change: Partial<Scenario> = {},
): LaidOutStep | undefined {
  const asked = { ...step.parallel, ...layout };
  // One rank has one stage, whatever the schedule of several was.
  const parallel = withStages(asked.pipeline === 1 ? { ...asked, chunks: 1, schedule: '1f1b' } : asked);
  const [before, after] = [step.parallel, parallel].map(gpusPerCopy);
  if (before === undefined || after === undefined || step.scenario.gpus % after !== 0) return undefined;
  // Experts are shared among the GPUs that add up gradients.
  if ((step.scenario.gpus / (parallel.tensor * parallel.pipeline)) % expertsOverCopies(parallel) !== 0)
    return undefined;
  // Fewer copies have more passes each, so that a step has as many samples; a part of a pass cannot be.
  const passes = (passesOf(step.scenario) * after) / before;
  const { framework } = { ...step.scenario, ...change };
  if (!Number.isInteger(passes) || unevenRounds(parallel, passes, framework).length > 0) return undefined;
  if (refusedByFramework(parallel, step.training.analysis, framework) !== undefined) return undefined;
  return layOutStep(
    step.training,
    { ...step.scenario, ...change, parallel, accumulate: passes },
    { ...parallel, sequence: parallel.sequence && parallel.tensor > 1 },
    step.cluster,
  );
}

/** Blocks that were given for as many stages say nothing of another number of them. */
const withStages = (parallel: ParallelScenario): ParallelScenario =>
  typeof parallel.stages === 'string' || parallel.stages.length === parallel.pipeline * parallel.chunks
    ? parallel
    : { ...parallel, stages: 'balanced' };

export const fits = ({ memories, fullest, reserved }: LaidOutStep): boolean =>
  fitsAtBest(itemAt(memories, fullest), reserved);

export const timeOf = ({ times }: LaidOutStep): string => formatTime(seconds(times.step));

/** Of a half, a quarter and so on, as far as whole samples go; none where the model fixes its batch. */
export function smallerMicroBatches(step: LaidOutStep): readonly LaidOutStep[] {
  const found: LaidOutStep[] = [];
  for (let parts = 2; step.scenario.batchPerGpu % parts === 0; parts *= 2)
    found.push(...withMicroBatch(step, step.scenario.batchPerGpu / parts, passesOf(step.scenario) * parts));
  return found;
}

/** Of twice as many samples, four times and so on, as far as passes can be joined. */
export function largerMicroBatches(step: LaidOutStep): readonly LaidOutStep[] {
  const found: LaidOutStep[] = [];
  const passes = passesOf(step.scenario);
  for (let parts = 2; passes % parts === 0; parts *= 2)
    found.push(...withMicroBatch(step, step.scenario.batchPerGpu * parts, passes / parts));
  return found;
}

/** The step of as many samples; none where the model fixes its batch. */
function withMicroBatch(
  { training, scenario, parallel, cluster }: LaidOutStep,
  batch: number,
  accumulate: number,
): readonly LaidOutStep[] {
  const { batchSymbol } = training.analysis;
  if (batchSymbol === undefined || unevenRounds(parallel, accumulate, scenario.framework).length > 0)
    return [];
  const dimensions = { ...scenario.dimensions, [batchSymbol]: batch };
  const bound = bindAnalysis(training.analysis, new Map(Object.entries(dimensions)), scenario.mode);
  const after = layOutStep(
    bound,
    { ...scenario, batchPerGpu: batch, dimensions, accumulate },
    parallel,
    cluster,
  );
  return after === undefined ? [] : [after];
}

/** As a scenario says it: `micro-batch` divides a global batch, and has no effect without one. */
export function microBatchText({ scenario }: LaidOutStep): string {
  const { batchPerGpu: batch, globalBatch } = scenario;
  const passes = passesOf(scenario);
  return globalBatch === undefined
    ? `use ${passes === 1 ? 'one micro-batch' : `${formatCount(passes)} micro-batches`} of ${formatCount(batch)} (\`batch=${batch}\`, \`accumulate=${passes}\`)`
    : `use a micro-batch of ${formatCount(batch)} (\`micro-batch=${batch}\`)`;
}
