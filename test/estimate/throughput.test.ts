/** Samples per second of workers that wait for each other, and of those that do not. */

import { describe, expect, test } from 'vitest';
import { workerTimeline, workerTimes } from '../../server/src/estimate/plan/plannedTimes.ts';
import type { StepPlan } from '../../server/src/estimate/plan/stepPlan.ts';
import { meanStep, meanWorkerStep, throughputOf } from '../../server/src/estimate/throughput.ts';
import type { Scenario, ScenarioRequest } from '../../server/src/model/scenario.ts';
import { seconds } from '../../server/src/model/units.ts';
import { planOf } from '../support/estimatedStep.ts';

const plan = (request: ScenarioRequest = {}): StepPlan =>
  planOf({ cluster: 'k80-10gbe', gpus: 16, batch: 8, ...request });
/** Without a barrier; servers take so long for the messages of one node. */
const alone = (of: StepPlan, servers = 0, scenario: Partial<Scenario> = {}): StepPlan => ({
  ...of,
  scenario: { ...of.scenario, ...scenario },
  exchange: { ...of.exchange, synchrony: 'asynchronous' },
  traffic: { ...of.traffic, serverTimes: [seconds(servers)] },
});

describe('of workers that wait for each other', () => {
  test.each<[string, ScenarioRequest, number]>([
    ['each has its batch', {}, 8 * 16],
    ['in each pass', { accumulate: 4 }, 8 * 16 * 4],
    ['that share a batch, as many as it has', { globalBatch: 100 }, 100],
  ])('%s', (_, request, samples) => {
    expect(throughputOf(plan(request), seconds(2))).toBeCloseTo(samples / 2, 9);
    expect(meanStep(plan(request), seconds(2))).toBe(2);
  });
});

describe('of workers that do not', () => {
  test('alike, each takes its own time, whatever the slowest took', () => {
    const own = alone(plan());
    const { step } = workerTimeline(own, 'middle');
    expect(meanStep(own, seconds(1000))).toBeCloseTo(step, 12);
    expect(throughputOf(own, seconds(1000))).toBeCloseTo((8 * 16) / step, 6);
  });

  test('one has nobody to wait for', () => {
    expect(meanStep(alone(plan({ gpus: 1 })), seconds(1000))).toBe(1000);
  });

  test('servers keep up with no more', () => {
    // Four nodes of four GPUs, one after another.
    expect(meanStep(alone(plan(), 100), seconds(1))).toBe(400);
  });

  test('a straggler holds up itself alone', () => {
    const own = alone(plan(), 0, { workers: { straggler: 2 } });
    const { step } = workerTimeline(own, 'middle');
    const slow = workerTimes({ ...own, imbalance: 2 }, 'middle').step;
    expect(slow).toBeGreaterThan(step);
    expect(16 / meanWorkerStep(own)).toBeCloseTo(15 / step + 1 / slow, 6);
  });

  test('faster GPUs take more steps', () => {
    const own = alone(plan());
    const faster = { plan: alone(planOf({ cluster: 'dgx-a100', gpus: 16, batch: 8 })), count: 5 };
    const { step } = workerTimeline(own, 'middle');
    const fast = workerTimes(faster.plan, 'middle').step;
    expect(16 / meanWorkerStep({ ...own, faster })).toBeCloseTo(11 / step + 5 / fast, 6);
  });
});
