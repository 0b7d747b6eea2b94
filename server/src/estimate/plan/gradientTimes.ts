/** What each pass of a step does with its gradients beside computing them, by the operator whose backward completes them. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { FrameworkBehaviour, GradientPass } from '../../frameworks/behaviour.ts';
import type { Exchange, WorkerGroup } from '../../frameworks/exchange.ts';
import type { Gradient } from '../../frameworks/gradient.ts';
import { elementwiseKernel } from '../../frameworks/pytorch/elementwiseKernel.ts';
import type { GpuProfile } from '../../hardware/clusterProfile.ts';
import { memoizeRecent } from '../../model/memoizeRecent.ts';
import { isSameContent } from '../../model/sameContent.ts';
import type { Scenario } from '../../model/scenario.ts';
import { addedTimes, type OperatorTimes, type PassTimes, timesByOperator } from './operatorTimes.ts';

/** Times of the last pass of a step, and of one before it on average. */
export interface GradientTimes {
  readonly last: PassTimes;
  readonly earlier: PassTimes;
}

export interface HandlingStep {
  readonly training: TrainingGraph;
  readonly scenario: Scenario;
  readonly gpu: GpuProfile;
  readonly behaviour: FrameworkBehaviour;
  readonly gradients: readonly Gradient[];
  readonly group: WorkerGroup;
  readonly shards: Exchange['shards'];
}

/** `undefined` where nothing is done with them. They are found once for a model, whatever its batch. */
export const gradientTimes = (step: HandlingStep): GradientTimes | undefined =>
  knownTimes(step.gradients, step);

const knownTimes = memoizeRecent(
  (_: readonly Gradient[], step: HandlingStep): GradientTimes | undefined => timesOfStep(step),
  (known, asked) =>
    known.gpu === asked.gpu &&
    known.scenario.mode === asked.scenario.mode &&
    known.scenario.accumulate === asked.scenario.accumulate &&
    isSameContent(known.scenario.framework, asked.scenario.framework) &&
    isSameContent(known.group, asked.group) &&
    isSameContent(known.shards, asked.shards),
);

function timesOfStep(step: HandlingStep): GradientTimes | undefined {
  const { scenario, behaviour, shards } = step;
  if (scenario.mode !== 'training' || behaviour.handleGradients === undefined) return undefined;
  const passes = scenario.accumulate ?? 1;
  const last = timesOfPass(step, { adds: passes > 1, sends: true });
  // The first of the passes finds no gradients to add to.
  const sends = shards.gradients > 1;
  const adding = passes > 2 ? (passes - 2) / (passes - 1) : 0;
  const first = timesOfPass(step, { adds: false, sends });
  const others = timesOfPass(step, { adds: true, sends });
  return { last, earlier: addedTimes(first, 1 - adding, others, adding) };
}

/** Kernels of one pass of a step on average, with what it does with its gradients. */
export const passTimes = memoizeRecent(
  (times: OperatorTimes, { handled, passes }: HandledPasses): OperatorTimes => {
    const { last, earlier } = handled;
    const average = addedTimes(last, 1 / passes, earlier, (passes - 1) / passes);
    return { ...times, backward: addedTimes(times.backward, 1, average, 1) };
  },
  (known, asked) => known.handled === asked.handled && known.passes === asked.passes,
);

export interface HandledPasses {
  readonly handled: GradientTimes;
  readonly passes: number;
}

function timesOfPass(
  { training, gpu, behaviour, gradients, group, scenario }: HandlingStep,
  pass: GradientPass,
): PassTimes {
  const { bytesPerElement = 0, launches = 0 } =
    behaviour.handleGradients?.(group, pass, scenario.precision) ?? {};
  return timesOfHandling(gradients, { gpu, operators: training.costs.length, bytesPerElement, launches });
}

interface Handling {
  readonly gpu: GpuProfile;
  /** Of the graph. */
  readonly operators: number;
  /** For each element of a gradient. */
  readonly bytesPerElement: number;
  readonly launches: number;
}

/** Passes, and groups of any number of GPUs, mostly do one of two things with a gradient. */
const timesOfHandling = memoizeRecent(
  (gradients: readonly Gradient[], { gpu, operators, bytesPerElement, launches }: Handling): PassTimes => {
    const work =
      bytesPerElement === 0
        ? []
        : gradients
            // The rows of a table are handled by who sends them.
            .filter(({ table }) => table === undefined)
            .map(({ elements, readyAfter }) => ({
              operator: operators - 1 - readyAfter,
              kernel: { ...elementwiseKernel(elements * bytesPerElement, elements), launches },
            }));
    return timesByOperator(gpu, operators, work);
  },
  (known, asked) =>
    known.gpu === asked.gpu &&
    known.operators === asked.operators &&
    known.bytesPerElement === asked.bytesPerElement &&
    known.launches === asked.launches,
  // With and without an addition, of copies and of shards.
  6,
);
