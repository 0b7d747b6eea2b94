/** Times of a step without its timeline are those of the timeline, for each bound. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { timelineOf, timesOf } from '../../server/src/estimate/plan/plannedTimes.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { timeAtServers } from '../../server/src/estimate/plan/stepPlan.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { seconds } from '../../server/src/model/units.ts';

const opened = openLayerSpec(
  'inputs: { x: "float32[batch, 1024]" }\nlayers:\n  - fc: Linear(1024, 1024) * 8\n',
  'fc.layers.yaml',
);

function planned(request: ScenarioRequest) {
  const { training, scenario, cluster } = estimateModel(opened, [
    { cluster: 'k80-10gbe', batch: 1, ...request },
  ]);
  if (training === undefined || scenario === undefined || cluster === undefined)
    throw new Error('not costed');
  return planStep(training, scenario, cluster);
}

const asynchronous = { name: 'mxnet', options: { kvstore: 'dist_async' } };

/** Whether workers queue at servers: without a barrier, and where those of all take longer than one takes for its step. */
test.each<[string, ScenarioRequest, boolean]>([
  ['synchronous workers', { gpus: 16 }, false],
  ['several passes', { gpus: 16, accumulate: 3 }, false],
  ['workers that compute for long', { gpus: 16, batch: 65_536, framework: asynchronous }, false],
  ['workers that compute shortly', { gpus: 16, framework: asynchronous }, true],
])('%s', (_, request, queues) => {
  const plan = planned(request);
  for (const bound of ['middle', 'low', 'high'] as const) {
    const [times, timeline] = [timesOf(plan, bound), timelineOf(plan, bound)];
    expect(times.step).toBeCloseTo(timeline.step, 12);
    expect(times.exposedTime).toBeCloseTo(timeline.exposedTime, 12);
    expect(times.communicationTime).toBeCloseTo(timeline.communicationTime, 12);
    // Servers that are always busy give each worker a step in turn.
    if (queues) expect(times.step).toBeCloseTo(timeAtServers(plan), 12);
    else expect(times.step).not.toBeCloseTo(timeAtServers(plan), 6);
  }
});

test('a queue at servers is time of messages that nothing hides', () => {
  const plan = planned({ gpus: 16, framework: asynchronous });
  const slower = (factor: number) => {
    const serverTimes = plan.traffic.serverTimes.map((time) => seconds(factor * time));
    return timesOf({ ...plan, traffic: { ...plan.traffic, serverTimes } }, 'middle');
  };
  const [usual, doubled] = [slower(1), slower(2)];
  const longer = timeAtServers(plan);
  for (const part of ['step', 'exposedTime', 'communicationTime'] as const)
    expect(doubled[part] - usual[part]).toBeCloseTo(longer, 12);
  expect(doubled.forwardTime).toBe(usual.forwardTime);
});
