/**
 * Findings of steps whose times are given: where each limit lies, and the numbers that a message states. The plan is a real
 * one; what a row gives takes the place of what was computed.
 */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import type { OperationTime } from '../../server/src/communication/operationTime.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { EstimatedStep } from '../../server/src/estimate/findings/estimatedStep.ts';
import { exposedCommunication } from '../../server/src/estimate/findings/exposedCommunication.ts';
import { launchBound } from '../../server/src/estimate/findings/launchBound.ts';
import { littleMemoryLeft } from '../../server/src/estimate/findings/littleMemoryLeft.ts';
import { loadImbalance } from '../../server/src/estimate/findings/loadImbalance.ts';
import { oversubscribedNetwork } from '../../server/src/estimate/findings/oversubscribedNetwork.ts';
import { serverSaturated } from '../../server/src/estimate/findings/serverSaturated.ts';
import { slowNetwork } from '../../server/src/estimate/findings/slowNetwork.ts';
import { slowStart } from '../../server/src/estimate/findings/slowStart.ts';
import { smallMessages } from '../../server/src/estimate/findings/smallMessages.ts';
import { unsupportedPrecision } from '../../server/src/estimate/findings/unsupportedPrecision.ts';
import { transferTime } from '../../server/src/estimate/parallel/transferTime.ts';
import { stepLimit } from '../../server/src/estimate/stepLimit.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { bytes, bytesPerSecond, seconds } from '../../server/src/model/units.ts';
import { lasting, stepOf } from '../support/estimatedStep.ts';

/** The step with one route for all messages, of one stage that takes these times. */
function sending(
  step: EstimatedStep,
  messages: number,
  { time, startup, bound }: { time: number; startup: number; bound: OperationTime['bound'] },
  perStep = messages,
): EstimatedStep {
  const [route] = step.plan.traffic.routes;
  const [stage] = route?.times ?? [];
  if (route === undefined || stage === undefined) throw new Error('nothing is sent');
  const times = [{ ...stage, time: seconds(time), startup: seconds(startup), bound }];
  const routes = [{ ...route, messages, withGradients: messages, perStep, times }];
  return { ...step, plan: { ...step.plan, traffic: { ...step.plan.traffic, routes } } };
}

/** The first message leaves then. */
function sentFrom(step: EstimatedStep, start: number): EstimatedStep {
  const [first, ...others] = step.timeline.messages;
  if (first === undefined) throw new Error('nothing is sent');
  return {
    ...step,
    timeline: { ...step.timeline, messages: [{ ...first, start: seconds(start) }, ...others] },
  };
}

test('a network is slow where it carries most of the time of messages, and less than fits beside backward', () => {
  const plan = stepOf({ cluster: 'k80-10gbe', nodes: 4, batch: 8 });
  const times = { step: 10, forwardTime: 2, backwardTime: 4, exposedTime: 3 };
  const step = sentFrom(lasting(plan, times), 3);
  const said = (messages: number, time: number, startup: number): string =>
    slowNetwork(sending(step, messages, { time, startup, bound: 'network' }))
      .map(({ message }) => message)
      .join();
  // From 3 s to the end of backward at 6 s, and 3 % of 10 s more; 0.2 s of start-ups are lost. 1.2 GB/s · 5.8 / 3.1.
  expect(said(2, 3, 0.1)).toBe(
    'The network between nodes is too slow to hide the gradients. In 3.10 s of backward they need 2.25 GB/s per node, and 10 GbE carries 1.20 GB/s',
  );
  // 2 s of 3.5 s are start-ups: less than half is bytes.
  expect(said(2, 1.75, 1)).toBe('');
  // 3 s of bytes fit into 3.1 s.
  expect(said(2, 1.6, 0.1)).toBe('');
  expect(slowNetwork(sending(step, 2, { time: 3, startup: 0.1, bound: 'link' }))).toEqual([]);
});

test('a message that is sent once in four steps needs a quarter of the network in each', () => {
  const plan = stepOf({ cluster: 'k80-10gbe', nodes: 4, batch: 8 });
  const step = sentFrom(lasting(plan, { step: 10, forwardTime: 2, backwardTime: 4, exposedTime: 3 }), 3);
  const said = (messages: number, perStep: number): string | undefined =>
    slowNetwork(sending(step, messages, { time: 3, startup: 0.1, bound: 'network' }, perStep))[0]?.message;
  expect(said(8, 2)).toBe(said(2, 2));
  expect(said(2, 2)).toContain('need 2.25 GB/s');
  // 1.5 s of bytes fit into 3.2 s.
  expect(said(2, 0.5)).toBeUndefined();
});

test.each([
  [8, 0],
  [9, 1],
])('%i nodes beside switches of 8, twice oversubscribed: %i findings', (nodes, count) => {
  const step = stepOf({ cluster: 'dgx-a100', nodes, batch: 8 });
  const { cluster } = step.plan;
  const { network } = cluster;
  if (network === undefined) throw new Error('no network');
  const oversubscription = {
    ratio: { value: 2, source: 'assumption: of this test' },
    nodesPerSwitch: { value: 8, source: 'assumption: of this test' },
  };
  const nodeBandwidth = { ...network.nodeBandwidth, value: bytesPerSecond(100e9) };
  const tapered = {
    ...step,
    plan: { ...step.plan, cluster: { ...cluster, network: { ...network, nodeBandwidth, oversubscription } } },
  };
  const found = oversubscribedNetwork(lasting(tapered, { step: 1, exposedTime: 0.5 }));
  expect(found).toHaveLength(count);
  for (const { message } of found)
    expect(message).toMatch(/carry 1\/2 .*: 50\.0 GB\/s of 100 GB\/s remain .* 50 %/);
});

test('one message has nobody to be joined with', () => {
  const step = lasting(stepOf({ cluster: 'dgx-a100', nodes: 2, batch: 8 }), { step: 1, exposedTime: 0.5 });
  const startups = { time: 0.2, startup: 0.15, bound: 'start-up' } as const;
  expect(smallMessages(sending(step, 1, startups))).toEqual([]);
  const [found] = smallMessages(sending(step, 2, startups));
  expect(found?.message).toMatch(/in 2 messages .*\. 75 % of their time \(300 ms\) is start-up cost/);
  const [rare] = smallMessages(sending(step, 2, startups, 0.5));
  expect(rare?.message).toMatch(/in 2 messages .*\. 75 % of their time \(75.0 ms\) is start-up cost/);
});

test('workers wait for the slowest while it computes, not while their host holds them up', () => {
  const step = stepOf({ cluster: 'dgx-a100', gpus: 8, batch: 8, workers: { imbalance: 1.25 } });
  const times = { step: 1, forwardTime: 0.3, backwardTime: 0.5, updateTime: 0.2 };
  const message = (hostTime: number): string | undefined =>
    loadImbalance(lasting(step, { ...times, hostTime }))[0]?.message;
  // A fifth of what is computed: 1 − 1/1.25.
  expect(message(0)).toBe(
    'Workers wait 200 ms, 20 % of the step, for the slowest of 8, which takes 1.25 times the mean',
  );
  expect(message(0.5)).toMatch(/^Workers wait 100 ms, 10 % of the step/);
  expect(message(0.8)).toBeUndefined();
});

// Over all GPUs 8 samples more than divide: the busiest takes one more, and of the next lower multiple all are as busy.
test.each([
  [
    68,
    9,
    /68 does not divide by 8 GPUs: the busiest GPU takes 9 samples, and 5\.6 % of GPU time is lost$/,
    'Use a batch of 72 or 64, multiples of 8',
  ],
  [
    12,
    2,
    /12 does not divide by 8 GPUs: the busiest GPU takes 2 samples, and 25 % of GPU time is lost$/,
    'Use a batch of 16 or 8, multiples of 8',
  ],
  // There is no batch below one sample each.
  [
    6,
    1,
    /6 does not divide by 8 GPUs: the busiest GPU takes 1 sample, and 25 % of GPU time is lost$/,
    'Use a batch of 8',
  ],
])('a batch of %i over 8 GPUs', (globalBatch, batchPerGpu, message, fix) => {
  const step = stepOf({ cluster: 'dgx-a100', gpus: 8, globalBatch });
  expect(step.plan.scenario.batchPerGpu).toBe(batchPerGpu);
  const found = loadImbalance(lasting(step, { step: 1 }));
  expect(found.map((each) => each.fix)).toEqual([fix]);
  expect(found[0]?.message).toMatch(message);
});

test('faster GPUs wait for the others, as many as there are', () => {
  const workers = { others: { gpu: 'a100-sxm-80gb', count: 3 } };
  const step = stepOf({ cluster: 'dgx-1-v100', gpus: 8, batch: 64, workers });
  const [found] = loadImbalance(step);
  expect(found?.message).toMatch(/^3 × A100 SXM 80 GB wait .* of the step, for 5 × V100/);
});

test.each([
  // Of bytes the busiest server holds more than 1.5 times an even share, or just as much.
  [2, 0.76, true],
  [2, 0.75, false],
])('%i servers, of which one holds %f of the bytes', (servers, busiestShare, isCrowded) => {
  const framework = { name: 'mxnet', options: { servers: '2', colocated: 'false' } };
  const step = stepOf({ cluster: 'k80-10gbe', nodes: 4, batch: 8, framework });
  const { traffic, exchange } = step.plan;
  const held = ({ operation, ...stage }: (typeof exchange.messages)[number]['stages'][number]) => ({
    ...stage,
    operation: operation.kind === 'server' ? { ...operation, servers, busiestShare } : operation,
  });
  const routes = traffic.routes.map((route) => ({ ...route, stages: route.stages.map(held) }));
  const messages = exchange.messages.map((message, index) => {
    const route = traffic.routes.findIndex(({ stages }) => stages === message.stages);
    return { ...message, stages: routes[route]?.stages ?? exchange.messages[index]?.stages ?? [] };
  });
  const plan = { ...step.plan, traffic: { ...traffic, routes }, exchange: { ...exchange, messages } };
  const [found] = serverSaturated(lasting({ ...step, plan }, { step: 1e-3, forwardTime: 0.5 }));
  expect(found?.message.includes('because large tensors lie whole on one server')).toBe(isCrowded);
  expect(found?.fix.startsWith('Split large tensors')).toBe(isCrowded);
});

test.each([
  // CNTK reads all of a text file before the first step, in each worker; alone there is nobody to read it again.
  [4, ': each of 4 workers reads all of it', /^Use fewer workers, stripe the file/],
  [1, 'to read the data set', /^Use fewer workers, faster storage/],
])('a slow start of %i GPUs', (gpus, end, fix) => {
  const framework = { name: 'cntk', options: { reader: 'text' } };
  const input = { sampleBytes: bytes(1e6), readRate: bytesPerSecond(1e9) };
  const run = { samples: 100_000, epochs: 1, start: seconds(1) };
  const [found] = slowStart(stepOf({ cluster: 'k80-10gbe', gpus, batch: 64, framework, input, run }));
  expect(found?.message.endsWith(end)).toBe(true);
  expect(found?.fix).toMatch(fix);
});

test.each([
  ['false', 'compile the model (compile=reduce-overhead) to launch fewer kernels'],
  ['default', 'launch the kernels by CUDA graphs (compile=reduce-overhead)'],
  ['reduce-overhead', undefined],
  ['max-autotune', undefined],
])('compile=%s: %s', (compile, advice) => {
  const framework = { name: 'pytorch-ddp', options: { compile } };
  const step = lasting(stepOf({ cluster: 'dgx-a100', gpus: 8, batch: 8, framework }), {
    step: 1,
    hostTime: 0.5,
  });
  const fix = launchBound(step)[0]?.fix;
  expect(fix).toBeDefined();
  if (advice === undefined) expect(fix).not.toContain('compile');
  else expect(fix?.toLowerCase()).toContain(advice.toLowerCase());
});

// Peaks without sparsity of the profiles: A100 bf16 312 TFLOP/s, T4 fp16 65, P100 fp32 10.6.
test.each([
  ['a100-sxm-80gb', 'fp8', /fall back to bf16 \(peak 312 TFLOP/, 'Use bf16 (peak 312 TFLOP/s on this GPU)'],
  ['t4', 'bf16', /fall back to fp32/, /^Use fp16 \(peak \d/],
  ['p100-sxm2', 'bf16', /fall back to fp32/, 'Use fp32, or a GPU with bf16'],
] as const)('%s asked for %s', (cluster, precision, message, fix) => {
  const [found] = unsupportedPrecision(stepOf({ cluster, gpus: 1, batch: 8, precision }));
  expect(found?.message).toMatch(message);
  if (typeof fix === 'string') expect(found?.fix).toBe(fix);
  else expect(found?.fix).toMatch(fix);
});

test.each([1, 8, 100])('a batch of %i fits where its peak does, and not in a byte less', (batch) => {
  const { memory } = stepOf({ cluster: 'a100-sxm-80gb', gpus: 1, batch });
  expect(memory.largestBatch(memory.peak + 1)).toBe(batch);
  expect(memory.largestBatch(memory.peak - 1)).toBe(batch - 1);
});

test.each([
  ['the step alone', 74, 72, 74],
  ['variables that hold tensors', 71, 73, 73],
])('the most that the allocator reserves, for %s', (_, high, held, most) => {
  const gibibytes = (count: number) => bytes(count * 2 ** 30);
  const step = stepOf({ cluster: 'a100-sxm-80gb', gpus: 1, batch: 8 });
  const [found] = littleMemoryLeft({
    ...step,
    memory: { ...step.memory, peak: gibibytes(70), capacity: gibibytes(75) },
    reserved: () => ({
      bounds: { low: gibibytes(70), high: gibibytes(high) },
      fitsIn: () => true,
      surelyFitsIn: () => false,
      held: () => ({ peak: gibibytes(71), reserved: gibibytes(held) }),
    }),
  });
  expect(found?.message).toContain(`the caching allocator reserves up to ${most}.0 GiB`);
  expect(found?.message).toContain(`The step needs ${high}.5 GiB or more; `);
  expect(found?.message).toContain('70.0 GiB at once, 71.0 GiB while Python variables keep tensors alive');
});

test.each([
  ['parts that are little by themselves are a limit together', 0.03, 0.04, { kind: 'input', share: 0.04 }],
  ['less than 5 % leaves computation the limit', 0.01, 0.03, { kind: 'compute', share: 0.96 }],
  ['the host, for more', 0.2, 0.1, { kind: 'host', share: 0.2 }],
])('%s', (_, hostTime, exposedInputTime, limit) => {
  const step = lasting(stepOf({ cluster: 'a100-sxm-80gb', gpus: 1, batch: 8 }), {
    step: 1,
    hostTime,
    exposedInputTime,
  });
  const found = stepLimit(step.plan, step.timeline);
  expect([found.kind, found.share]).toEqual([limit.kind, expect.closeTo(limit.share, 12)]);
});

test('a GPU sends to one of another node through its share of the ports, and to one beside it by the link', () => {
  const { cluster } = stepOf({ cluster: 'dgx-a100', nodes: 2, batch: 8 }).plan;
  const { network, link } = cluster;
  if (network === undefined || link === undefined) throw new Error('no links');
  const grown = (crosses: boolean): number =>
    transferTime(cluster, crosses, 2e9) - transferTime(cluster, crosses, 1e9);
  expect(1e9 / grown(true)).toBeCloseTo(network.nodeBandwidth.value / 8, -3);
  expect(1e9 / grown(false)).toBeCloseTo(link.busBandwidth.value, -3);
  expect(transferTime(cluster, true, 0)).toBe(0);
});

test('servers limit the step from the first number of nodes whose work exceeds what GPUs compute', () => {
  const framework = { name: 'mxnet', options: { servers: '1', colocated: 'false' } };
  const step = stepOf({ cluster: 'k80-10gbe', nodes: 4, batch: 8, framework });
  const times = { step: 1e-3, forwardTime: 0.5, backwardTime: 0.4, updateTime: 0.1 };
  const message = serverSaturated(lasting(step, times))[0]?.message ?? '';
  const [, unit] = /busy for ([\d.]+ \w+),/.exec(message) ?? [];
  expect(unit).toMatch(/ms$/);
  // One node takes a quarter of it; 1 s of computing lasts for so many whole ones.
  const busy = Number.parseFloat(unit ?? '') * 1e-3;
  const [, from] = /From (\d+) nodes on/.exec(message) ?? [];
  expect((Number(from) * busy) / 4).toBeGreaterThan(1);
  expect(((Number(from) - 1) * busy) / 4).toBeLessThanOrEqual(1);
});

test('steps on more nodes than GPUs need are not taken for those of fewer GPUs of the same job', () => {
  const wide = 'inputs: { x: "float32[batch, 2048]" }\nlayers:\n  - fc: Linear(2048) * 8\n';
  const found = (...sizes: readonly ScenarioRequest[]): readonly string[] => {
    const opened = openLayerSpec(wide, 'm.layers.yaml');
    return sizes.map((size) => {
      const { cost } = estimateModel(opened, [{ cluster: 'dgx-1-v100', batch: 64, ...size }]);
      return (cost?.findings ?? []).map(({ message }) => message).join('\n');
    });
  };
  const [alone] = found({ gpus: 32 });
  expect(alone).toMatch(/weak scaling efficiency is 53 %. 8 still have 78 %/);
  // Eight on four nodes have 24 %.
  expect(found({ gpus: 8, nodes: 4 }, { gpus: 32 })[1]).toBe(alone);
});

/** Of a step whose gradients take longer than its backward, over 10 Gbit/s Ethernet: whether backward could hide some, and how. */
test.each([
  ['naive', {}, /^Use a framework that overlaps communication with backward, such as pytorch-ddp$/],
  ['deepspeed-zero', {}, /^Let communication overlap with backward \(overlap-comm=true\)$/],
  [
    'deepspeed-zero',
    { 'overlap-comm': 'false' },
    /^Let communication overlap with backward \(overlap-comm=true\)$/,
  ],
  ['byteps', { overlap: 'false' }, /^Let communication overlap with backward \(overlap=true\)$/],
  // It does already, as far as the model has gradients before the last.
  ['deepspeed-zero', { 'overlap-comm': 'true' }, /^(?!Let|Use)/],
  ['byteps', { overlap: 'true' }, /^(?!Let|Use)/],
  ['pytorch-ddp', {}, /^(?!Let|Use)/],
] as const)('%s with %j: what would hide gradients', (name, options, fix) => {
  const step = stepOf({ cluster: 'k80-10gbe', gpus: 16, batch: 1, framework: { name, options } });
  const found = exposedCommunication(step);
  expect(found.length).toBeGreaterThan(0);
  for (const each of found) expect(each.fix).toMatch(fix);
});

test.each([
  ['naive', 0, 'starts after backward has ended'],
  ['pytorch-ddp', 0.5, 'is still in flight when backward ends'],
])('a message of %s that begins at %f of backward', (name, share, lateness) => {
  const step = stepOf({ cluster: 'k80-10gbe', gpus: 16, batch: 1, framework: { name, options: {} } });
  const end = step.timeline.backwardEnds.at(-1) ?? Number.NaN;
  const start = seconds(share === 0 ? end : end * share);
  const messages = step.timeline.messages.map((message) => ({ ...message, start }));
  const moved = { ...step, timeline: { ...step.timeline, messages } };
  expect(exposedCommunication(moved)[0]?.message).toContain(`) ${lateness}: `);
});
