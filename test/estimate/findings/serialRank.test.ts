/** What every worker waits for at rank 0: the times of its gathers alone, by how often they are in a step. */

import { expect, test } from 'vitest';
import type { Operation } from '../../../server/src/communication/operation.ts';
import { serialRank } from '../../../server/src/estimate/findings/serialRank.ts';
import { bytes, seconds } from '../../../server/src/model/units.ts';
import { lasting, stepOf } from '../../support/estimatedStep.ts';

const gather: Operation = { kind: 'gather at rank 0', bytes: bytes(64) };
const wait: Operation = { kind: 'fixed', time: seconds(1), what: 'a wait' };

/** Of eight workers and a step of 1 s, by routes of operations with their times, each so often in a step. */
function said(
  routes: readonly (readonly [
    perStep: number,
    stages: readonly (readonly [operation: Operation, time: number])[],
  ])[],
  threshold?: number,
) {
  const request = { cluster: 'dgx-a100', gpus: 8, batch: 8 } as const;
  const { plan, ...step } = lasting(
    stepOf(threshold === undefined ? request : { ...request, thresholds: { 'serial-rank': threshold } }),
    { step: 1 },
  );
  const [route] = plan.traffic.routes;
  const [stage, time] = [route?.stages[0], route?.times[0]];
  if (route === undefined || stage === undefined || time === undefined) throw new Error('nothing is sent');
  const given = routes.map(([perStep, stages]) => ({
    ...route,
    perStep,
    stages: stages.map(([operation]) => ({ ...stage, operation })),
    times: stages.map(([, of]) => ({ ...time, time: seconds(of) })),
  }));
  return serialRank({ ...step, plan: { ...plan, traffic: { ...plan.traffic, routes: given } } });
}

test('says how long headers are exchanged, whatever else is sent', () => {
  const found = said([
    [
      2,
      [
        [wait, 0.5],
        [gather, 0.03],
      ],
    ],
    // In every fourth step.
    [0.25, [[gather, 0.08]]],
  ]);
  expect(found.map(({ message, severity, layer }) => [message, severity, layer])).toEqual([
    [
      'Rank 0 exchanges a header with each of 7 other workers, one by one: 80.0 ms, 8.0 % of the step, growing linearly with the number of workers',
      'warning',
      '',
    ],
  ]);
});

test.each<[string, number, number | undefined, number]>([
  ['5 %', 0.05, undefined, 1],
  ['less', 0.049, undefined, 0],
  ['a limit that a person sets', 0.049, 0.04, 1],
  ['nothing, where everything is reported', 0, 0, 0],
])('%s of the step', (_, time, threshold, count) => {
  expect(said([[1, [[gather, time]]]], threshold)).toHaveLength(count);
});

test('nothing of what is not gathered', () => {
  expect(said([[1, [[wait, 0.5]]]])).toEqual([]);
  expect(said([])).toEqual([]);
});
