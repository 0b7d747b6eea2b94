/** What a step waits for when its samples come late, by the slowest part of their way, with times that are given. */

import { describe, expect, test } from 'vitest';
import type { EstimatedStep } from '../../../server/src/estimate/findings/estimatedStep.ts';
import { waitingForInput } from '../../../server/src/estimate/findings/waitingForInput.ts';
import type { InputWork } from '../../../server/src/estimate/plan/inputWork.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { bytes, seconds } from '../../../server/src/model/units.ts';
import { lasting, stepOf } from '../../support/estimatedStep.ts';

function given(
  slowest: InputWork['slowest'],
  exposedInputTime: number,
  request: ScenarioRequest = {},
  sharing = 1,
): EstimatedStep {
  const step = stepOf({
    cluster: 'dgx-a100',
    gpus: 8,
    batch: 8,
    input: { sampleBytes: bytes(1e5) },
    ...request,
  });
  const { input, cluster } = step.plan;
  if (input === undefined || cluster.host === undefined) throw new Error('no input');
  const gpusPerHostLink = { value: sharing, source: 'assumption: of this test' };
  const plan = {
    ...step.plan,
    cluster: { ...cluster, host: { ...cluster.host, gpusPerHostLink } },
    input: { ...input, slowest, storage: seconds(0.2), decoding: seconds(0.3), copying: seconds(0.4) },
  };
  return lasting({ ...step, plan }, { step: 1, exposedInputTime });
}
const said = (step: EstimatedStep): readonly string[] =>
  waitingForInput(step).map(({ code, message, fix }) => `${code}: ${message} → ${fix}`);

describe('of a step of 1 s', () => {
  test.each<[InputWork['slowest'], number, string]>([
    [
      'storage',
      1,
      'findings/input-bound: 10 % of the step waits for input (100 ms): reading a batch takes 200 ms → Move the data to faster storage or to local disks, store smaller samples, or use fewer GPUs',
    ],
    [
      'decoding',
      1,
      "findings/input-bound: 10 % of the step waits for input (100 ms): decoding a batch takes 300 ms on the host's cores → Decode on the GPU, store decoded or smaller samples, or use nodes with more cores per GPU",
    ],
    [
      'copying',
      1,
      'findings/copy-bound: 10 % of the step waits for input (100 ms): copying a batch to the GPU takes 400 ms → Copy fewer bytes (images as 8-bit integers, converted on the GPU), prefetch copies, or use nodes with one host link per GPU',
    ],
    [
      'copying',
      2,
      'findings/copy-bound: 10 % of the step waits for input (100 ms): copying a batch to the GPU takes 400 ms, because 2 GPUs share one link to the host → Copy fewer bytes (images as 8-bit integers, converted on the GPU), prefetch copies, or use nodes with one host link per GPU',
    ],
  ])('%s is the slowest, %i GPUs at a link', (slowest, sharing, text) => {
    expect(said(given(slowest, 0.1, {}, sharing))).toEqual([text]);
  });

  test.each([
    ['storage', 0.05, {}, 1],
    ['storage', 0.049, {}, 0],
    ['copying', 0.05, {}, 1],
    ['copying', 0.049, {}, 0],
    ['storage', 0.1, { thresholds: { 'input-bound': 0.2 } }, 0],
    ['storage', 0.1, { thresholds: { 'copy-bound': 0.2 } }, 1],
    ['copying', 0.1, { thresholds: { 'copy-bound': 0.2 } }, 0],
    ['copying', 0.1, { thresholds: { 'input-bound': 0.2 } }, 1],
  ] as const)('%s for %f s with %j: %i findings', (slowest, time, request, count) => {
    expect(said(given(slowest, time, request))).toHaveLength(count);
  });
});

test('nothing of a step whose input is not described, nor of one of no time', () => {
  const step = given('storage', 0.5);
  expect(said({ ...step, plan: { ...step.plan, input: undefined } })).toEqual([]);
  expect(said(lasting(step, { step: 0 }))).toEqual([]);
});
