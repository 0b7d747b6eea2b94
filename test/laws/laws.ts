/**
 * What holds of a step whatever the model, the cluster and the framework.
 *
 * A law takes a costed scenario and says what is wrong with it; '' where it holds, or has nothing to say. Laws of change
 * cost the model again in another scenario, or on a cluster with other numbers. Scheduling anomalies are proved where they
 * are allowed: giving a list schedule shorter jobs can make it longer (Graham, "Bounds on Multiprocessing Timing
 * Anomalies", SIAM J. Appl. Math. 17, 1969), since what is ready earlier takes a channel from what is more urgent.
 */

import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { type PlannedTraffic, timeTraffic } from '../../server/src/estimate/plan/plannedTraffic.ts';
import { workOf } from '../../server/src/estimate/plan/plannedWork.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import type { StepPlan } from '../../server/src/estimate/plan/stepPlan.ts';
import { makeReport } from '../../server/src/estimate/report/makeReport.ts';
import { renderTable } from '../../server/src/estimate/report/renderTable.ts';
import { type Report, reportSchema } from '../../server/src/estimate/report/report.ts';
import { scaleInSteps } from '../../server/src/estimate/scaling/scaleJob.ts';
import type { ClusterProfile } from '../../server/src/hardware/clusterProfile.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import { thresholdOf } from '../../server/src/model/findingThresholds.ts';
import { gpuMemory } from '../../server/src/model/gpuMemory.ts';
import type { Scenario, ScenarioRequest } from '../../server/src/model/scenario.ts';
import type { StepCost } from '../../server/src/model/stepCost.ts';
import { finish } from '../../server/src/model/steps.ts';
import { type BytesPerSecond, bytes, type Seconds, seconds } from '../../server/src/model/units.ts';
import { endsInOrderOf, endsOf } from './fixedOrder.ts';

export interface CostedCase {
  readonly opened: OpenedModel;
  readonly request: ScenarioRequest;
  readonly scenario: Scenario;
  readonly cluster: ClusterProfile;
  readonly cost: StepCost;
  readonly report: Report;
  /** The same model in another scenario; `undefined` where that cannot be costed. */
  readonly again: (change: Partial<ScenarioRequest>, cluster?: ClusterProfile) => StepCost | undefined;
  /** The step before it is simulated, of this scenario or, with a change, of another. */
  readonly plan: (change?: Partial<ScenarioRequest>, cluster?: ClusterProfile) => StepPlan | undefined;
}

export type Law = (of: CostedCase) => string;

/** The case of a request; `undefined` where it cannot be costed, such as more GPUs than a cluster has. */
export function costCase(opened: OpenedModel, request: ScenarioRequest): CostedCase | undefined {
  const estimate = estimateModel(opened, [request]);
  const { scenario, cluster, cost, costed, training, issues } = estimate;
  if (
    !costed ||
    scenario === undefined ||
    cluster === undefined ||
    cost === undefined ||
    training === undefined
  ) {
    return undefined;
  }
  const estimateAgain = (change: Partial<ScenarioRequest>, other?: ClusterProfile) => {
    const { cluster: _, ...unplaced } = { ...request, ...change };
    return estimateModel(opened, [other === undefined ? { ...request, ...change } : unplaced], other);
  };
  return {
    opened: estimate.opened,
    request,
    scenario,
    cluster,
    cost,
    report: makeReport(estimate.opened, training.analysis, cost, issues),
    again: (change, other) => {
      const there = estimateAgain(change, other);
      // A request that cannot be met is another one.
      return there.issues.some(
        ({ code, severity }) => severity !== 'information' && code.startsWith('scenario/'),
      )
        ? undefined
        : there.cost;
    },
    plan: (change = {}, other) => {
      const there = estimateAgain(change, other);
      if (there.training === undefined || there.scenario === undefined || there.cluster === undefined) return;
      return planStep(there.training, there.scenario, there.cluster);
    },
  };
}

const share = 1e-9;
const isEqual = (left: number, right: number): boolean =>
  Math.abs(left - right) <= share * Math.max(Math.abs(left), Math.abs(right)) + 1e-15;
const atMost = (left: number, right: number, factor = 1 + share): boolean => left <= right * factor + 1e-15;

const equal = (what: string, left: number | null, right: number | null): string =>
  left === right || (left !== null && right !== null && isEqual(left, right))
    ? ''
    : `${what}: ${left} and ${right}`;
const first = (...found: readonly string[]): string => found.find((text) => text !== '') ?? '';

const sumOf = (numbers: readonly (number | null | undefined)[]): number =>
  numbers.reduce<number>((total, number) => total + (number ?? 0), 0);

const everyNumber: Law = ({ report }) => {
  const odd: string[] = [];
  const visit = (value: unknown, path: string): void => {
    if (typeof value === 'number' && !(Number.isFinite(value) && value >= 0)) odd.push(`${path} is ${value}`);
    else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) visit(inner, `${path}.${key}`);
    }
  };
  visit(report.totals, 'totals');
  for (const layer of report.layers) visit(layer, layer.name);
  visit(report.messages, 'messages');
  return odd[0] ?? '';
};

const layersToTotals: Law = ({ cost, scenario }) => {
  const { layers, totals, messages = [] } = cost;
  const { time, flops } = totals;
  // Headers that workers exchange belong to no layer.
  const ofLayers = messages.filter((message) => message.layers.some(({ bytes }) => bytes > 0));
  const sum = (read: (layer: (typeof layers)[number]) => number | null): number => sumOf(layers.map(read));
  const backward = (layer: (typeof layers)[number]): number =>
    sumOf([layer.flops.backwardData, layer.flops.backwardWeight]);
  return first(
    equal(
      'forward FLOPs',
      sum((layer) => layer.flops.forward),
      flops.forward,
    ),
    equal('backward FLOPs', sum(backward), flops.backward),
    equal(
      'forward',
      sum((layer) => layer.time.forward),
      time.forward,
    ),
    equal(
      'backward',
      sum((layer) => layer.time.backward),
      time.backward,
    ),
    scenario.mode === 'training'
      ? equal(
          'saved activations',
          sum((layer) => layer.memory.activations),
          totals.memory.activations,
        )
      : '',
    equal(
      'communication',
      sum((layer) => layer.time.communication),
      sumOf(ofLayers.map(({ time: sent }) => sent)),
    ),
    totals.exact
      ? equal(
          'exposed',
          sum((layer) => layer.time.exposedCommunication),
          sumOf(ofLayers.map(({ exposed }) => exposed)),
        )
      : '',
    equal('messages', sumOf(messages.map(({ time: sent }) => sent)), time.communication),
  );
};

const partsOfTheStep: Law = ({ cost }) => {
  const { time, exact } = cost.totals;
  if (!exact || time.step === null) return '';
  const parts = [time.forward, time.backward, time.update, time.exposedCommunication, time.exposedInput];
  return first(
    equal('parts of the step', sumOf(parts), time.step),
    equal('messages', sumOf((cost.messages ?? []).map(({ exposed }) => exposed)), time.exposedCommunication),
    atMost(time.exposedCommunication ?? 0, time.communication ?? 0) ? '' : 'more is exposed than sent',
    atMost(time.waitingForHost ?? 0, time.step) ? '' : 'the host is waited for longer than the step',
  );
};

const partsOfMemory: Law = ({ cost }) => {
  const { peak, peakAt, reserved } = cost.totals.memory;
  const { parameters, gradients, optimizerState, activations, workspace, communicationBuffers } = peakAt;
  return first(
    equal(
      'parts of the peak',
      sumOf([parameters, gradients, optimizerState, activations, workspace, communicationBuffers]),
      peak,
    ),
    reserved.low <= reserved.high ? '' : 'the range of reserved memory is upside down',
    atMost(peak, reserved.high) ? '' : `reserved up to ${reserved.high}, less than the peak of ${peak}`,
  );
};

const rangesHold: Law = ({ cost }) => {
  const { step, range } = cost.totals.time;
  const holds = (
    time: number | null,
    within: { readonly low: number; readonly high: number } | null,
  ): boolean => time === null || within === null || (atMost(within.low, time) && atMost(time, within.high));
  const wrong = cost.layers.find(
    (layer) =>
      layer.unknown === undefined &&
      !holds(
        layer.time.forward === null ? null : sumOf([layer.time.forward, layer.time.backward]),
        layer.range,
      ),
  );
  return first(
    holds(step, range) ? '' : `the step of ${step} is not in ${range?.low} to ${range?.high}`,
    wrong === undefined ? '' : `the time of ${wrong.name} is not in its range`,
  );
};

const exactMeansWhole: Law = ({ cost, report }) => {
  const { exact, unknown, time } = cost.totals;
  return first(
    exact === (unknown.length === 0) ? '' : 'exact although something is unknown',
    time.exact && !exact ? 'the step is exact, the totals are not' : '',
    exact || report.findings.length > 0 ? '' : 'inexact without a finding',
    !exact || cost.layers.every((layer) => layer.unknown === undefined)
      ? ''
      : 'a layer is unknown, the totals exact',
  );
};

const findingsAreThere: Law = ({ cost, scenario }) => {
  const { time, exact } = cost.totals;
  if (!exact || time.step === null) return '';
  const has = (code: string): boolean => cost.findings.some((finding) => finding.code === `findings/${code}`);
  const waits = (time.exposedCommunication ?? 0) / time.step;
  const host = (time.waitingForHost ?? 0) / time.step;
  const limits = scenario.thresholds;
  return first(
    // A late gradient that makes most of it says so itself.
    waits > thresholdOf(limits, 'exposed-communication') &&
      !has('exposed-communication') &&
      !has('late-gradient')
      ? `${waits} of the step is exposed without a finding`
      : '',
    host > thresholdOf(limits, 'launch-bound') && !has('launch-bound')
      ? `${host} of the step waits for the host without a finding`
      : '',
    (cost.totals.scalingEfficiency ?? 0) > 1.006 && !/over 100 %/.test(cost.totals.efficiencyNotes.join())
      ? 'an efficiency above 100 % is not explained'
      : '',
    cost.fits === 'no' && !has('out-of-memory') ? 'out of memory without a finding' : '',
    cost.fits === 'may' && !has('little-memory-left') && exact ? 'little memory left without a finding' : '',
  );
};

/** Samples are conserved: what a step takes, and what a run needs, by its steps or by its throughput. */
const samplesAddUp: Law = ({ cost, scenario, request }) => {
  const { throughput, run, asynchronous, time } = cost.totals;
  if (throughput === null || time.step === null) return '';
  const passes = scenario.accumulate ?? 1;
  const { gpus, batchPerGpu, globalBatch } = scenario;
  const samples = globalBatch ?? batchPerGpu * passes * gpus;
  const isWholeBatch = request.globalBatch !== undefined && request.globalBatch === globalBatch;
  const needed = (scenario.run?.samples ?? 0) * (scenario.run?.epochs ?? 0);
  return first(
    asynchronous === undefined ? equal('samples of a step', throughput * time.step, samples) : '',
    isWholeBatch && !(batchPerGpu * passes * gpus >= globalBatch)
      ? `${gpus} GPUs take ${batchPerGpu} in ${passes} passes, less than the batch of ${globalBatch}`
      : '',
    run === undefined || scenario.run === undefined
      ? ''
      : first(
          atMost(needed, run.steps * samples) ? '' : `${run.steps} steps of ${samples} for ${needed} samples`,
          atMost(needed / throughput, run.time) ? '' : `a run of ${run.time} for ${needed / throughput}`,
          atMost(run.time - (run.initialisation ?? 0), (needed + scenario.run.epochs * samples) / throughput)
            ? ''
            : `a run of ${run.time} where its throughput gives ${needed / throughput}`,
          run.exact && !time.exact ? 'the run is exact, its steps are not' : '',
          atMost(run.loading ?? 0, run.initialisation ?? 0) ? '' : 'loading takes longer than the start',
        ),
  );
};

/** A stage of the input supplies one batch at a time: no step is shorter than the slowest. */
const inputIsSupplied: Law = ({ cost, scenario }) => {
  const { input, time, asynchronous } = cost.totals;
  if (input === undefined || time.step === null) return '';
  const passes = scenario.mode === 'inference' ? 1 : (scenario.accumulate ?? 1);
  const slowest = passes * Math.max(input.storage ?? 0, input.decoding ?? 0, input.copying);
  return first(
    asynchronous !== undefined || atMost(slowest, time.step)
      ? ''
      : `a step of ${time.step} whose input takes ${slowest}`,
    atMost(time.exposedInput ?? 0, time.input ?? 0)
      ? ''
      : `${time.exposedInput} of ${time.input} of the input is waited for`,
    input.unknown.length > 0 && time.exact ? 'a part of the input is unknown, the step exact' : '',
  );
};

const reportReadsBack: Law = ({ report }) => {
  const read = reportSchema.parse(JSON.parse(JSON.stringify(report)));
  const [left, right] = [renderTable(read), renderTable(report)];
  return left === right ? '' : 'the JSON report shows another table';
};

const curveIsReport: Law = ({ opened, cost, request, scenario, again }) => {
  const costOn = (gpus: number) => estimateModel(opened, [{ ...request, gpus }]);
  const curve = finish(scaleInSteps('m', [scenario.gpus], costOn));
  const [point] = curve.points;
  if (point === undefined) return 'the curve has no point';
  const { totals } = cost;
  if (scenario.globalBatch !== undefined) {
    return first(
      equal('step', point.step, totals.time.step),
      equal('throughput', point.throughput, totals.throughput),
      equal('memory', point.memory, gpuMemory(cost).needed),
      scenario.gpus > 1 ? equal('efficiency', point.scalingEfficiency, totals.strongScalingEfficiency) : '',
    );
  }
  const alone = again({ gpus: 1, nodes: 1, workers: {} })?.totals.time.step ?? null;
  return first(
    equal('step', point.step, totals.time.step),
    equal('throughput', point.throughput, totals.throughput),
    equal('efficiency', point.scalingEfficiency, totals.scalingEfficiency),
    equal('memory', point.memory, gpuMemory(cost).needed),
    // Workers that are unlike have no single GPU that stands for all.
    request.workers === undefined && alone !== null && totals.time.exact && totals.scalingEfficiency !== null
      ? equal('efficiency', totals.scalingEfficiency, alone / (totals.time.step ?? 1))
      : '',
  );
};

const inferenceIsLess: Law = ({ cost, scenario, again }) => {
  if (scenario.mode !== 'training') return '';
  const there = again({ mode: 'inference' });
  if (there === undefined || !there.totals.exact || !cost.totals.exact) return '';
  return first(
    atMost(there.totals.flops.forward, cost.totals.flops.forward) ? '' : 'inference has more forward FLOPs',
    atMost(there.totals.time.step ?? 0, cost.totals.time.step ?? 0)
      ? ''
      : `inference takes ${there.totals.time.step}, training ${cost.totals.time.step}`,
    atMost(there.totals.memory.parameters, cost.totals.memory.parameters)
      ? ''
      : `inference holds ${there.totals.memory.parameters} of parameters, training ${cost.totals.memory.parameters}`,
  );
};

const accumulationAddsPasses: Law = ({ cost, scenario, again }) => {
  if (scenario.mode !== 'training') return '';
  const passes = scenario.accumulate ?? 1;
  const { globalBatch } = scenario;
  // As many samples in each pass.
  const times = (factor: number) =>
    again({
      accumulate: factor * passes,
      ...(globalBatch === undefined ? {} : { globalBatch: factor * globalBatch }),
    });
  const [before, twice, thrice] = [cost, times(2), times(3)];
  if (twice === undefined || thrice === undefined || !before.totals.exact) return '';
  const moved = ({ layers }: typeof cost): number => sumOf(layers.map(({ bytes }) => bytes.backward));
  const timeOf = ({ totals }: typeof cost): number => totals.time.step ?? 0;
  const [one, two, three] = [timeOf(before), timeOf(twice), timeOf(thrice)];
  return first(
    equal('FLOPs of twice the passes', twice.totals.flops.forward, 2 * before.totals.flops.forward),
    equal('bytes of as many passes more', moved(thrice) + moved(before), 2 * moved(twice)),
    atMost(one, two) ? '' : `twice the passes take ${two}, less than ${one}`,
    // Every pass but the first adds its gradients, so one addition is missing in either; a pass is no shorter.
    // Messages of the last passes may go where one step had none to hide them.
    atMost(three, 1.5 * two + (0.5 * (two - one)) / passes, 1.001)
      ? ''
      : `three times the passes take ${three}, more than 1.5 times ${two} and an addition of gradients`,
  );
};

const batchIsMonotone: Law = ({ cost, request, scenario, again }) => {
  const { globalBatch, batchPerGpu, accumulate = 1, gpus } = scenario;
  // Of a batch that divides, each GPU takes twice as much.
  if (globalBatch !== undefined && globalBatch !== batchPerGpu * accumulate * gpus) return '';
  if (globalBatch === undefined && request.globalBatch !== undefined) return '';
  const there = again(
    globalBatch === undefined ? { batch: 2 * batchPerGpu } : { globalBatch: 2 * globalBatch },
  );
  const [before, after] = [cost.totals, there?.totals];
  if (after === undefined || !before.exact || !after.exact) return '';
  return first(
    equal('FLOPs of twice the batch', after.flops.forward, 2 * before.flops.forward),
    equal('backward FLOPs of twice the batch', after.flops.backward, 2 * before.flops.backward),
    // MG-WFBP merges gradients by the time of backward, and so into other buffers.
    scenario.framework.name === 'mg-wfbp' || atMost(before.memory.peak, after.memory.peak)
      ? ''
      : `twice the batch takes ${after.memory.peak}, less than ${before.memory.peak}`,
    // Messages that run beside kernels slow them, and may run beside others of a longer step. A compiler launches
    // another number of kernels: a reduction to few elements is split. While the GPU waits for its input, the host launches
    // ahead, so that nothing waits for the host later.
    scenario.gpus > 1 ||
      scenario.input !== undefined ||
      (scenario.framework.options.compile ?? 'false') !== 'false' ||
      atMost(before.time.forward ?? 0, after.time.forward ?? 0, 1 + 1e-6)
      ? ''
      : `forward of twice the batch takes ${after.time.forward}, less than ${before.time.forward}`,
  );
};

const shardsShrink: Law = ({ cost, scenario, again }) => {
  const { name, options } = scenario.framework;
  const isSharded = name === 'pytorch-fsdp' && (options.sharding ?? 'full') === 'full';
  if (!isSharded || scenario.gpus < 2) return '';
  const there = again({ gpus: 2 * scenario.gpus });
  const [before, after] = [cost.totals.memory, there?.totals.memory];
  if (after === undefined) return '';
  return first(
    equal('sharded parameters', before.parameters, 2 * after.parameters),
    equal('sharded optimizer state', before.optimizerState, 2 * after.optimizerState),
    atMost(after.peak, before.peak) ? '' : `twice the GPUs take ${after.peak} each, more than ${before.peak}`,
  );
};

/**
 * Where shorter times make a step longer, '' if that is a scheduling anomaly, else what is wrong. A scheduling anomaly goes
 * away when the faster step sends the messages of before in the order of before: then shorter times make nothing later
 * (`fixedOrder.ts`). It needs messages that overtake each other, by priority or on several channels, or that MG-WFBP merges
 * by what they cost. `anomalies.test.ts` has a small step for each kind.
 */
function notByOrder(before: StepPlan | undefined, after: StepPlan | undefined): string {
  if (before === undefined || after === undefined) return 'the step is not costed again';
  if (before.exchange.synchrony !== 'synchronous') return 'workers that wait for nobody take longer';
  const { exchange } = before;
  const traffic = timeTraffic(exchange, after.cluster, after.placement, after.training);
  const slower = workOf(before, 'middle');
  const faster = workOf({ ...after, exchange, traffic: onSameRoutes(before.traffic, traffic) }, 'middle');
  for (const part of [{}, { update: { device: seconds(0), host: seconds(0) } }]) {
    const [now, then] = [
      { ...faster, ...part },
      { ...slower, ...part },
    ];
    const limits = endsOf(then);
    const place = endsInOrderOf(then, now).findIndex(
      (end, step) => !atMost(end, limits[step] ?? 0, 1 + 1e-6),
    );
    if (place >= 0) return `step ${place + 1} ends later than before in the same order`;
  }
  return '';
}

/**
 * The times of `after`, but for messages that NCCL sends by another algorithm, because it takes that for the faster one:
 * of NVLink SHARP between nodes it does not count how the first round fills it (`nccl/tuning.ts`). They keep the shorter.
 */
const onSameRoutes = (before: PlannedTraffic, after: PlannedTraffic): PlannedTraffic => ({
  ...after,
  messages: (bound) => {
    const [old, columns] = [before.messages(bound).time, after.messages(bound)];
    const routes = [before, after].map(({ stages }) =>
      stages.flatMap((all) => all.map(({ description }) => routeOf(description))),
    );
    const time = columns.time.map((now, stage) =>
      routes[0]?.[stage] === routes[1]?.[stage] ? now : Math.min(now, old[stage] ?? now),
    );
    return { ...columns, time };
  },
});

const withNetwork = (cluster: ClusterProfile, bandwidth: number, latency: number): ClusterProfile => {
  const wider = <Entry extends { readonly value: BytesPerSecond }>(entry: Entry): Entry => ({
    ...entry,
    value: (entry.value * bandwidth) as BytesPerSecond,
  });
  const sooner = <Entry extends { readonly value: Seconds }>(entry: Entry): Entry => ({
    ...entry,
    value: (entry.value * latency) as Seconds,
  });
  const { link, network } = cluster;
  return {
    ...cluster,
    name: `${cluster.name}-changed`,
    link: link && {
      ...link,
      busBandwidth: wider(link.busBandwidth),
      latency: sooner(link.latency),
      groups: link.groups && { ...link.groups, acrossBandwidth: wider(link.groups.acrossBandwidth) },
      inSwitchReduction: link.inSwitchReduction && wider(link.inSwitchReduction),
    },
    network: network && {
      ...network,
      portBandwidth: wider(network.portBandwidth),
      nodeBandwidth: wider(network.nodeBandwidth),
      latency: sooner(network.latency),
    },
  };
};

/**
 * By itself no message takes longer: an anomaly is one of their order alone. A queue at servers depends on the step. NCCL
 * chooses algorithm and protocol by its own tuning, which may prefer a slower one at another bandwidth.
 */
function longerMessage(before: StepCost, after: StepCost): string {
  const { messages = [], totals } = before;
  const { messages: faster = [] } = after;
  // MG-WFBP merges others.
  if (faster.length !== messages.length || totals.asynchronous !== undefined) return '';
  const place = messages.findIndex(
    ({ time, bytes: size, description }, index) =>
      size === faster[index]?.bytes &&
      routeOf(description) === routeOf(faster[index].description) &&
      !atMost(faster[index].time, time, 1 + 1e-6),
  );
  return place < 0
    ? ''
    : `message ${place + 1} takes ${faster[place]?.time}, longer than ${messages[place]?.time}`;
}

/** Algorithm, protocol and links, without the bandwidth reached. */
const routeOf = (description: string): string => description.replace(/[\d.]+ [kMGT]?B\/s/g, '');

function fasterNetwork(what: string, bandwidth: number, latency: number): Law {
  return ({ cost, cluster, scenario, again, plan }) => {
    const before = cost.totals.time;
    if (scenario.gpus === 1 || !cost.totals.exact || findCluster(cluster.name) === undefined) return '';
    const changed = withNetwork(cluster, bandwidth, latency);
    const there = again({}, changed);
    const after = there?.totals.time;
    if (there === undefined || after === undefined) return '';
    const fault = atMost(after.step ?? 0, before.step ?? 0, 1 + 1e-6)
      ? ''
      : notByOrder(plan(), plan({}, changed));
    return first(
      longerMessage(cost, there),
      fault === '' ? '' : `${what}: ${after.step}, longer than ${before.step}: ${fault}`,
    );
  };
}

const fasterInput: Law = ({ cost, request, again, plan }) => {
  const { input } = request;
  const before = cost.totals.time;
  if (input === undefined || !before.exact) return '';
  const { sampleBytes, decodeRate } = input;
  const change = {
    input: {
      ...input,
      ...(sampleBytes === undefined ? {} : { sampleBytes: bytes(sampleBytes / 2) }),
      ...(decodeRate === undefined ? {} : { decodeRate: 2 * decodeRate }),
    },
  };
  const after = again(change)?.totals.time;
  if (after === undefined || atMost(after.step ?? 0, before.step ?? 0, 1 + 1e-6)) return '';
  const fault = notByOrder(plan(), plan(change));
  return fault === ''
    ? ''
    : `samples of half the size, decoded twice as fast: ${after.step}, longer than ${before.step}: ${fault}`;
};

/** Of a single GPU: messages that run beside kernels slow others where kernels take less time. */
const biggerMemoryIsFaster: Law = ({ cost, cluster, scenario, again }) => {
  if (!cost.totals.exact || scenario.gpus > 1) return '';
  const { gpu } = cluster;
  const wide: ClusterProfile = {
    ...cluster,
    name: `${cluster.name}-changed`,
    gpu: {
      ...gpu,
      memoryBandwidth: { ...gpu.memoryBandwidth, value: (gpu.memoryBandwidth.value * 1.5) as BytesPerSecond },
    },
  };
  const there = again({}, wide);
  if (there === undefined) return '';
  const [before, after] = [cost.totals.time, there.totals.time];
  return atMost(sumOf([after.forward, after.backward]), sumOf([before.forward, before.backward]), 1 + 1e-6)
    ? ''
    : `more memory bandwidth: forward and backward ${sumOf([after.forward, after.backward])}, longer than ${sumOf([before.forward, before.backward])}`;
};

/** Read off one estimate. */
export const lawsOfOne: Readonly<Record<string, Law>> = {
  'every number is finite and not negative': everyNumber,
  'layers add up to totals': layersToTotals,
  'parts add up to the step': partsOfTheStep,
  'parts of memory add up to the peak': partsOfMemory,
  'ranges hold what they are of': rangesHold,
  'nothing is exact where anything is left out': exactMeansWhole,
  'what passes its threshold has its finding': findingsAreThere,
  'samples are conserved': samplesAddUp,
  'no step is shorter than its input': inputIsSupplied,
  'a JSON report reads back as the same table': reportReadsBack,
};

/** That cost the model again; some of them are tried on each case. */
export const lawsOfChange: Readonly<Record<string, Law>> = {
  'a point of a curve is the report of its GPUs': curveIsReport,
  'inference takes no more than training': inferenceIsLess,
  'passes after the first are alike': accumulationAddsPasses,
  'work is linear in the batch, and memory never less': batchIsMonotone,
  'shards shrink with the GPUs': shardsShrink,
  'more bandwidth is never slower': fasterNetwork('twice the bandwidth', 2, 1),
  'less latency is never slower': fasterNetwork('half the latency', 1, 0.5),
  'faster input is never slower': fasterInput,
  'more memory bandwidth is never slower': biggerMemoryIsFaster,
};
