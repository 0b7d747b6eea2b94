/** What is said of messages that are waited for, word for word: which are named, and where each stands. Times are given. */

import { describe, expect, test } from 'vitest';
import type { EstimatedStep } from '../../../server/src/estimate/findings/estimatedStep.ts';
import {
  exposedCommunication,
  narrowGradients,
} from '../../../server/src/estimate/findings/exposedCommunication.ts';
import { findCluster } from '../../../server/src/hardware/clusters.ts';
import type { MessageCost } from '../../../server/src/model/stepCost.ts';
import { bytes, seconds } from '../../../server/src/model/units.ts';
import { lasting, planOf, stepOf } from '../../support/estimatedStep.ts';

/** Five layers, one message of each, in the order of backward. */
const spec = 'inputs: { x: "float32[batch, 1024]" }\nlayers:\n  - fc: Linear(1024) * 5\n';
const eager = stepOf(
  { cluster: 'k80-10gbe', gpus: 16, batch: 1, framework: { name: 'horovod', options: { 'fusion-mb': '0' } } },
  spec,
);

interface Sent {
  readonly time: number;
  readonly exposed: number;
  readonly layers: readonly (readonly [index: number, size: number])[];
}

const message = ({ time, exposed, layers }: Sent): MessageCost => ({
  bytes: bytes(layers.reduce((total, [, size]) => total + size, 0)),
  time: seconds(time),
  exposed: seconds(exposed),
  slack: seconds(0),
  layers: layers.map(([index, size]) => ({ index, bytes: bytes(size) })),
  readyAfter: 0,
  isAllReduce: true,
  description: 'ring over 10 GbE',
});

const mib = 2 ** 20;
/** A step of one second of which messages are waited for as long as they say. */
function sending(sent: readonly Sent[]): EstimatedStep {
  const exposedTime = sent.reduce((total, { exposed }) => total + exposed, 0);
  const step = lasting(eager, { step: 1, exposedTime });
  return { ...step, messages: sent.map(message) };
}
const said = (sent: readonly Sent[], late?: ReadonlySet<number>) =>
  exposedCommunication(sending(sent), late).map(({ layer, message: text }) => [layer, text]);

const one = (exposed: number, index = 0): Sent => ({ time: 0.5, exposed, layers: [[index, mib]] });

describe('messages that make most of it', () => {
  test('are named with their layers, the longest first', () => {
    expect(
      said([
        one(0.01, 0),
        {
          time: 0.25,
          exposed: 0.25,
          layers: [
            [1, mib],
            [2, 3 * mib],
          ],
        },
        one(0.02, 3),
        {
          time: 0.5,
          exposed: 0.1,
          layers: [
            [0, 2 * mib],
            [1, mib],
            [4, mib],
          ],
        },
      ]),
    ).toEqual([
      [
        'fc[2]',
        '38 % of the step waits for gradients. Message 2 of 4 (fc[2] and 1 more layer, 4.00 MiB) is still in flight when backward ends: all of its 250 ms exposed, by ring over 10 GbE; fc[0] and 2 more layers, 4.00 MiB: 100 ms exposed; fc[3], 1.00 MiB: 20.0 ms exposed',
      ],
    ]);
  });

  test('are at most three, and others are waited for a hundredth of the step', () => {
    expect(said([one(0.2, 0), one(0.0099, 1), one(0.01, 2)])).toEqual([
      [
        'fc[0]',
        '22 % of the step waits for gradients. Message 1 of 3 (fc[0], 1.00 MiB) is still in flight when backward ends: 200 ms of its 500 ms exposed, by ring over 10 GbE; fc[2], 1.00 MiB: 10.0 ms exposed',
      ],
    ]);
  });

  test('the last is called so, and one that carries no layer has its size alone', () => {
    expect(said([{ time: 0.5, exposed: 0.4, layers: [] }])).toEqual([
      [
        '',
        '40 % of the step waits for gradients. The last message (0 B) is still in flight when backward ends: 400 ms of its 500 ms exposed, by ring over 10 GbE',
      ],
    ]);
  });

  test('make half of it at least', () => {
    // Three of six make half; of seven they do not.
    const alike = (count: number) => Array.from({ length: count }, (_, index) => one(0.05, index % 5));
    expect(said(alike(6))[0]?.[1]).toMatch(/^30 % of the step waits for gradients\. Message 1 of 6 /);
    expect(said(alike(7))[0]?.[1]).toMatch(/^35 % .*\. No message makes most of it: 7 of 7 are exposed, /);
  });
});

describe('layers, where no three messages do', () => {
  /** Twelve messages of the same time: of layers 0 and 1 four each, of the others fewer. */
  const owners = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 4];

  test('those that make half of it are named with their shares', () => {
    expect(said(owners.map((index) => one(0.02, index)))).toEqual([
      [
        'fc[0]',
        '24 % of the step waits for gradients. No message makes most of it: 12 of 12 are exposed, 16 % by fc[0] (8.0 %), fc[1] (8.0 %)',
      ],
    ]);
  });

  test('three are named, and the others that are needed for half are counted', () => {
    const even = Array.from({ length: 10 }, (_, index) => one(0.02, index % 5));
    // Three of five make three fifths.
    expect(said(even)[0]?.[1]).toBe(
      '20 % of the step waits for gradients. No message makes most of it: 10 of 10 are exposed, 12 % by fc[0] (4.0 %), fc[1] (4.0 %), fc[2] (4.0 %)',
    );
  });

  test('messages that are hidden are not counted', () => {
    const some = [...owners.map((index) => one(0.02, index)), one(0, 4), one(0, 4)];
    expect(said(some)[0]?.[1]).toContain('12 of 14 are exposed');
  });

  test('one layer alone may make most of it', () => {
    const lone = [...Array.from({ length: 8 }, () => one(0.02, 3)), one(0.02, 0)];
    expect(said(lone)).toEqual([
      [
        'fc[3]',
        '18 % of the step waits for gradients. No message makes most of it: 9 of 9 are exposed, 16 % by fc[3] (16 %)',
      ],
    ]);
  });

  test('messages of no layer name none', () => {
    const nobody = Array.from({ length: 8 }, (): Sent => ({ time: 0.5, exposed: 0.03, layers: [] }));
    expect(said(nobody)).toEqual([
      ['', '24 % of the step waits for gradients. No message makes most of it: 8 of 8 are exposed'],
    ]);
  });
});

test('more than three layers that make half are counted', () => {
  const many = stepOf(
    {
      cluster: 'k80-10gbe',
      gpus: 16,
      batch: 1,
      framework: { name: 'horovod', options: { 'fusion-mb': '0' } },
    },
    spec.replace('* 5', '* 10'),
  );
  const of = (count: number) => {
    const sent = Array.from({ length: count }, (_, index) => message(one(0.2 / count, index)));
    const step = lasting(many, { step: 1, exposedTime: 0.2 });
    return exposedCommunication({ ...step, messages: sent })[0]?.message;
  };
  // Four of eight, and five of ten.
  expect(of(8)).toMatch(
    /, 10 % by fc\[0\] \(2\.5 %\), fc\[1\] \(2\.5 %\), fc\[2\] \(2\.5 %\) and 1 more layer$/,
  );
  expect(of(10)).toMatch(
    /, 10 % by fc\[0\] \(2\.0 %\), fc\[1\] \(2\.0 %\), fc\[2\] \(2\.0 %\) and 2 more layers$/,
  );
});

describe('messages that a finding of their own explains', () => {
  test('are left out of the sum, and the rest is called another', () => {
    expect(said([one(0.5, 0), one(0.2, 1), one(0.1, 2)], new Set([0]))).toEqual([
      [
        'fc[1]',
        'Another 30 % of the step waits for gradients. Message 2 of 3 (fc[1], 1.00 MiB) is still in flight when backward ends: 200 ms of its 500 ms exposed, by ring over 10 GbE; fc[2], 1.00 MiB: 100 ms exposed',
      ],
    ]);
    expect(said([one(0.5, 0), one(0.02, 1)], new Set([0]))).toEqual([]);
    expect(said([one(0.5, 0)], new Set([0]))).toEqual([]);
  });
});

test.each([
  [0.05, 0.06, 0],
  [0.05, 0.05, 1],
  [0, 0, 0],
])('%f of the step is exposed, %f is too much: %i findings', (exposed, threshold, count) => {
  const step = sending([one(exposed)]);
  const scenario = { ...step.plan.scenario, thresholds: { 'exposed-communication': threshold } };
  expect(exposedCommunication({ ...step, plan: { ...step.plan, scenario } })).toHaveLength(count);
});

/** The option's words for half precision, by what the step computes in and what the GPU has. */
test.each([
  ['pytorch-ddp', 'fp16', 'dgx-a100', 'fp16'],
  ['pytorch-ddp', 'bf16', 'dgx-a100', 'bf16'],
  ['pytorch-ddp', 'fp32', 'dgx-a100', 'bf16'],
  // A GPU without bf16 has no use for its range.
  ['pytorch-ddp', 'fp32', 't4', 'fp16'],
  ['pytorch-ddp', 'fp32', 'k80-10gbe', 'fp16'],
  ['caffe-mpi', 'fp32', 'dgx-a100', undefined],
] as const)('%s in %s on %s: %s', (name, precision, on, expected) => {
  const cluster = findCluster(on);
  if (cluster === undefined) throw new Error(on);
  const { scenario } = planOf({ cluster: 'dgx-a100', gpus: 1, batch: 1 }, spec);
  expect(
    narrowGradients({ scenario: { ...scenario, precision, framework: { name, options: {} } }, cluster }),
  ).toBe(expected);
});
