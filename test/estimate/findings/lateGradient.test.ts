/** A large gradient that is ready as backward ends, with times that are given: what is said of it, and where each limit lies. */

import { describe, expect, test } from 'vitest';
import type { EstimatedStep } from '../../../server/src/estimate/findings/estimatedStep.ts';
import { findLateGradient, lateGradient } from '../../../server/src/estimate/findings/lateGradient.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import type { MessageCost } from '../../../server/src/model/stepCost.ts';
import { bytes, seconds } from '../../../server/src/model/units.ts';
import { lasting, stepOf } from '../../support/estimatedStep.ts';

/** Backward has four positions: last, mid, big, and nothing that is trained. A message of each matrix. */
const spec = `inputs: { x: "float32[batch, 1024]" }
layers:
  - act: ReLU()
  - big: Linear(8192, bias=False)
  - mid: Linear(64, bias=False)
  - last: Linear(64, bias=False)
`;

interface Given {
  /** When each position of backward ends. */
  readonly ends?: readonly number[];
  readonly exposedTime?: number;
  /** Of the message of the big one: its time, and for how long it is waited for. */
  readonly sent?: readonly [time: number, exposed: number];
  readonly request?: ScenarioRequest;
}

/** A step of 1 s with a backward of half a second. */
function given({
  ends = [0.5, 0.6, 0.8, 0.8],
  exposedTime = 0.4,
  sent = [0.3, 0.2],
  request = {},
}: Given = {}) {
  const framework = { name: 'horovod', options: { 'fusion-mb': '0' } };
  const step = stepOf({ cluster: 'k80-10gbe', gpus: 16, batch: 1, framework, ...request }, spec);
  const timed = lasting(step, { step: 1, backwardTime: 0.5, exposedTime });
  const message = (layer: number, [time, exposed]: readonly [number, number]): MessageCost => ({
    bytes: bytes(100),
    time: seconds(time),
    exposed: seconds(exposed),
    slack: seconds(0),
    layers: [{ index: layer, bytes: bytes(100) }],
    readyAfter: 0,
    isAllReduce: true,
    description: 'ring',
  });
  return {
    ...timed,
    timeline: { ...timed.timeline, backwardEnds: Float64Array.from(ends) },
    messages: [message(3, [0.1, 0]), message(2, [0.1, 0.05]), message(1, sent)],
  };
}
const said = (step: EstimatedStep): string | undefined => {
  const late = findLateGradient(step);
  return late && lateGradient(step, late)[0]?.message;
};

describe('a gradient of 8,192 × 1,024 beside two small ones', () => {
  // 8,388,608 of 8,388,608 + 524,288 + 4,096 elements.
  const rest = 'It is 94 % of all gradient bytes: other bucket sizes do not help';

  test('is named with what it takes and what waits for it', () => {
    const step = given();
    expect(said(step)).toBe(
      `The gradient of big is ready only when backward ends. Sending it takes 300 ms, 200 ms of it exposed, 20 % of the step. ${rest}`,
    );
    const late = findLateGradient(step) ?? expect.fail('none is late');
    expect([...late.messages]).toEqual([2]);
    expect(late.share).toBeCloseTo(8388608 / 8916992, 12);
    expect(lateGradient(step, late)).toMatchObject([
      {
        code: 'findings/late-gradient',
        layer: 'big',
        severity: 'warning',
        fix: "Make the layer's 32.0 MiB smaller, split it over the GPUs, or send its gradient in half precision",
      },
    ]);
  });

  test('all of which is exposed', () => {
    expect(said(given({ sent: [0.3, 0.3] }))).toContain('Sending it takes 300 ms, all of it exposed, 30 %');
  });

  test('may be ready in the last twentieth of backward', () => {
    expect(said(given({ ends: [0.5, 0.6, 0.78, 0.8] }))).toContain(
      'is ready only 20.0 ms before backward ends',
    );
    expect(said(given({ ends: [0.5, 0.6, 0.774, 0.8] }))).toBeUndefined();
  });

  test.each<[string, Given]>([
    ['waits for little', { exposedTime: 0.029 }],
    ['waits for other messages', { sent: [0.3, 0.009] }],
    ['may wait for a gradient of so many bytes', { request: { thresholds: { 'late-gradient': 0.95 } } }],
    ['may wait for so long', { request: { thresholds: { 'exposed-communication': 0.5 } } }],
    ['is of inference', { request: { mode: 'inference' } }],
  ])('is not named where a step %s', (_, change) => {
    expect(findLateGradient(given(change))).toBeUndefined();
  });

  test.each<[string, Given]>([
    ['waits for 3 %', { exposedTime: 0.03 }],
    ['waits for it for 1 %', { sent: [0.3, 0.01] }],
    ['may not wait for a gradient of so many bytes', { request: { thresholds: { 'late-gradient': 0.94 } } }],
  ])('is named where a step %s', (_, change) => {
    expect(findLateGradient(given(change))?.layer).toBe('big');
  });
});

test('a model whose gradients are alike has none', () => {
  const even = 'inputs: { x: "float32[batch, 64]" }\nlayers:\n  - a: Linear(64) * 8\n';
  const step = stepOf({ cluster: 'k80-10gbe', gpus: 16, batch: 1 }, even);
  expect(findLateGradient(lasting(step, { step: 1, exposedTime: 0.5 }))).toBeUndefined();
});
