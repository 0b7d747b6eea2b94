/**
 * The step of several GPUs where that of one is measured: computation is given, communication is predicted.
 *
 * Kernels are scaled until a single GPU takes the measured step, launches included; what is sent, when, and what
 * waits for it is then laid out as for any scenario.
 */

import type { TrainingGraph } from '../../../server/src/analysis/modelAnalysis.ts';
import type { OpenedModel } from '../../../server/src/analysis/openedModel.ts';
import { operationTime } from '../../../server/src/communication/operationTime.ts';
import { placeGpus } from '../../../server/src/communication/placement.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { givenStepFactors } from '../../../server/src/estimate/plan/givenStepFactors.ts';
import { gradientsInReadyOrder } from '../../../server/src/estimate/plan/gradients.ts';
import { gradientTimes } from '../../../server/src/estimate/plan/gradientTimes.ts';
import { independentRange } from '../../../server/src/estimate/plan/independentRange.ts';
import { timelineOf } from '../../../server/src/estimate/plan/plannedTimes.ts';
import { timeTraffic } from '../../../server/src/estimate/plan/plannedTraffic.ts';
import { launchEnds, planStep } from '../../../server/src/estimate/plan/planStep.ts';
import type { StepPlan } from '../../../server/src/estimate/plan/stepPlan.ts';
import type { WorkerGroup } from '../../../server/src/frameworks/exchange.ts';
import type { ClusterProfile } from '../../../server/src/hardware/clusterProfile.ts';
import type { Bound, Range } from '../../../server/src/model/estimate.ts';
import { lazy } from '../../../server/src/model/lazy.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { type Seconds, seconds } from '../../../server/src/model/units.ts';
import { type StepTimeline, stepTimeline } from '../../../server/src/schedule/stepTimeline.ts';

export interface PredictedStep {
  readonly step: Seconds;
  /** With what is computed, or sent, at its bounds, the other in the middle: simulated when first asked for. */
  readonly computed: Range<Seconds>;
  readonly sent: Range<Seconds>;
  /** What the engine says of it where the step of one GPU is given. */
  readonly range: Range<Seconds>;
}

/**
 * `alone`: the measured step of one GPU in seconds; `spread`: standard deviation of the workers' times over their mean,
 * of whom a synchronous step waits for the slowest. Throws where the model cannot be costed whole.
 */
export function predictStep(
  opened: OpenedModel,
  request: ScenarioRequest,
  cluster: ClusterProfile,
  alone: number,
  spread: number,
): PredictedStep {
  const { training, plan, single } = aloneOn(opened, request, cluster);
  const gpus = request.gpus ?? 1;
  const placement = placeGpus(gpus, request.nodes ?? 1);
  const usual = alone / single.step;
  const factor = usual * slowestOf(gpus, spread);
  const handled = handledGradients(training, plan, { ...placement, gpus }, cluster);
  const exchange = plan.behaviour.exchange(
    gradientsInReadyOrder(training),
    {
      ...placement,
      gpus,
      operators: training.costs.length,
      precision: plan.scenario.precision,
    },
    {
      // What a worker profiles by itself, which is no slower than the others.
      backwardEnds: () => cumulative(single.backward.map((time) => time * usual)),
      backwardLaunches: () =>
        launchEnds(plan.times, plan.behaviour.launch.middle, single.forwardTime * usual),
      batchPerGpu: () => training.batch,
      timeOf: (operation) => operationTime(cluster, placement, operation).time,
    },
  );
  const traffic = timeTraffic(exchange, cluster, placement, training);
  const launches = plan.updateTimes.launches[0] ?? 0;
  const factors = givenStepFactors(gpus);
  const stepWith = (bound: Bound, sent: Bound): Seconds => {
    const scale = (factor * factors[bound]) / factors.middle;
    const forward = single.forward.map((time) => time * scale);
    const backward = single.backward.map((time, at) => (time + (handled?.at(-1 - at) ?? 0)) * scale);
    const update = single.updateTime * scale;
    return stepTimeline({
      forward: { device: forward, host: new Float64Array(forward.length) },
      backward: { device: backward, host: new Float64Array(backward.length) },
      messages: traffic.messages(sent),
      channels: traffic.channels.map(({ order }) => order),
      slowing: traffic.slowing[sent],
      hostWaits: exchange.hostWaits ?? false,
      // What one GPU updates by itself it updates here too, unless the servers do; shards update a part of it.
      update: {
        device: seconds(exchange.update === 'at servers' ? 0 : update / exchange.shards.optimizerState),
        // What one GPU has launched ahead is launched here when the messages are back.
        host: seconds(
          exchange.hostWaits === true ? plan.updateTimes.hostLaunches * plan.behaviour.launch.middle : 0,
        ),
        launches: Math.max(1, launches),
      },
    }).step;
  };
  const step = stepWith('middle', 'middle');
  const computed = lazy(() => ({ low: stepWith('low', 'middle'), high: stepWith('high', 'middle') }));
  const sent = lazy(() => ({ low: stepWith('middle', 'low'), high: stepWith('middle', 'high') }));
  return {
    step,
    get computed() {
      return computed();
    },
    get sent() {
      return sent();
    },
    get range() {
      return independentRange(step, [computed(), sent()]);
    },
  };
}

/** By operator: what a framework that sends gradients does with them beside what it does on one GPU. */
function handledGradients(
  training: TrainingGraph,
  { scenario, behaviour, exchange, ownGradientTimes }: StepPlan,
  placed: Pick<WorkerGroup, 'gpus' | 'nodes' | 'gpusPerNode'>,
  { gpu }: ClusterProfile,
): Float64Array | undefined {
  const times = gradientTimes({
    training,
    scenario,
    gpu,
    behaviour,
    gradients: gradientsInReadyOrder(training),
    group: { ...placed, operators: training.costs.length, precision: scenario.precision },
    shards: exchange.shards,
  });
  const alone = ownGradientTimes?.last.middle;
  return times?.last.middle.map((time, index) => time - (alone?.[index] ?? 0));
}

interface StepAlone {
  readonly training: TrainingGraph;
  readonly plan: StepPlan;
  readonly single: StepTimeline;
}

/** Steps of one GPU by model, batch, precision and framework: rows come by the dozen. */
const known = new WeakMap<OpenedModel, Map<string, StepAlone>>();

function aloneOn(opened: OpenedModel, request: ScenarioRequest, cluster: ClusterProfile): StepAlone {
  const { batch, precision, optimizer, framework } = request;
  const key = JSON.stringify([batch, precision, optimizer, framework, cluster.gpu.name]);
  const steps = known.get(opened) ?? new Map<string, StepAlone>();
  known.set(opened, steps);
  let step = steps.get(key);
  if (step === undefined) {
    const { training, scenario, issues } = estimateModel(
      opened,
      [{ ...request, gpus: 1, nodes: 1 }],
      cluster,
    );
    const error = issues.find(({ severity }) => severity === 'error');
    if (training === undefined || scenario === undefined || error !== undefined) {
      throw new Error(error?.message ?? 'the model cannot be costed');
    }
    const plan = planStep(training, scenario, cluster);
    step = { training, plan, single: timelineOf(plan, 'middle') };
    steps.set(key, step);
  }
  return step;
}

/**
 * The slowest of so many workers over their mean, their times being normal: 1 + (σ/μ)·E[largest of N]. Blom's
 * approximation of the expectation, Φ⁻¹((N − 0.375)/(N + 0.25)), is within 0.03 from 2 to 64.
 */
export const slowestOf = (workers: number, spread: number): number =>
  workers < 2 ? 1 : 1 + spread * normalQuantile((workers - 0.375) / (workers + 0.25));

/** Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.23, error below 4.5e-4. */
function normalQuantile(share: number): number {
  const t = Math.sqrt(-2 * Math.log(1 - share));
  const above = 2.515517 + 0.802853 * t + 0.010328 * t * t;
  return t - above / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
}

function cumulative(times: Float64Array): Float64Array {
  let end = 0;
  return times.map((time) => {
    end += time;
    return end;
  });
}
