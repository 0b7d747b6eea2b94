/** Why a layout is slower: the part of the step that differs most, and what of the layouts makes it so. */

import { describe, expect, it } from 'vitest';
import { type ComparedLayout, whySlower } from '../../../server/src/estimate/planner/compareLayouts.ts';
import { seconds } from '../../../server/src/model/units.ts';

type Time = ComparedLayout['cost']['totals']['time'];
type Shared = NonNullable<ComparedLayout['cost']['parallel']>;

const time: Time = {
  forward: seconds(1),
  backward: seconds(2),
  update: seconds(0.1),
  exposedCommunication: seconds(0.2),
};
const shared: Shared = {
  tensorCommunication: seconds(0),
  contextCommunication: seconds(0),
  expertCommunication: seconds(0),
  bubble: seconds(0),
  whole: [],
};

const fast: ComparedLayout = {
  microBatch: 8,
  tensor: 1,
  context: 1,
  checkpoint: 'none',
  framework: { name: 'megatron', options: {} },
  cost: { totals: { time } },
};

const withTime = (own: Partial<Time>): Pick<ComparedLayout, 'cost'> => ({
  cost: { totals: { time: { ...time, ...own } } },
});
/** Seconds of a pass are those of the others and these. */
const withShared = (own: Partial<Shared>, more: number): Pick<ComparedLayout, 'cost'> => ({
  cost: {
    totals: { time: { ...time, backward: seconds(2 + more) } },
    parallel: { ...shared, ...own },
  },
});

describe('a layout that computes 500 ms longer', () => {
  const longer = withTime({ backward: seconds(2.5) });

  it.each<readonly [Partial<ComparedLayout>, string]>([
    [{}, 'computation'],
    [{ microBatch: 4 }, 'smaller kernels'],
    [{ tensor: 2 }, 'smaller kernels'],
    [{ context: 4 }, 'smaller kernels'],
    // A layer that two GPUs share has as many rows and columns with twice the samples.
    [{ microBatch: 16, tensor: 2 }, 'computation'],
    [{ checkpoint: 'block' }, 'recomputation'],
    [{ framework: { name: 'pytorch-fsdp', options: {} } }, 'kernels of pytorch-fsdp'],
    [{ microBatch: 4, checkpoint: 'selective' }, 'smaller kernels and recomputation'],
  ])('%o', (own, cause) => {
    expect(whySlower({ ...fast, ...own, ...longer }, fast)).toBe(`+500 ms of ${cause}`);
  });
});

it.each<readonly [number, string]>([
  [0.3, 'layers that stay whole'],
  // As little as a router is.
  [0.005, 'computation'],
])('a layout that computes %d of its FLOPs on each GPU of a group', (share, cause) => {
  const whole = [{ layer: 'conv', share, reason: 'no pair' }];
  const slower = { ...fast, microBatch: 16, tensor: 2, ...withShared({ whole }, 0.5) };
  expect(whySlower(slower, fast)).toBe(`+500 ms of ${cause}`);
  expect(whySlower({ ...slower, microBatch: 8, checkpoint: 'block' }, fast)).toBe(
    `+500 ms of smaller kernels${share < 0.01 ? '' : ', layers that stay whole'} and recomputation`,
  );
});

it.each<readonly [string, Pick<ComparedLayout, 'cost'>, string]>([
  [
    'collectives',
    withShared({ tensorCommunication: seconds(0.3) }, 0.3),
    'collectives of tensor parallelism',
  ],
  [
    'keys and values',
    withShared({ contextCommunication: seconds(0.3) }, 0.3),
    'exchanges of context parallelism',
  ],
  ['rows', withShared({ expertCommunication: seconds(0.3) }, 0.3), 'all-to-alls of expert parallelism'],
  ['stages', withShared({ bubble: seconds(0.3) }, 0), 'pipeline bubble'],
  [
    'gradients',
    withTime({ exposedCommunication: seconds(0.5) }),
    'gradients and weights exchanged between copies',
  ],
  ['states', withTime({ update: seconds(0.4) }), 'the update'],
])('300 ms of %s', (_, own, part) => {
  expect(whySlower({ ...fast, ...own }, fast)).toBe(`+300 ms of ${part}`);
});

it('no reason where no part is longer, or one is not known', () => {
  expect(whySlower(fast, fast)).toBe('');
  expect(whySlower({ ...fast, ...withTime({ forward: null, update: seconds(9) }) }, fast)).toBe('');
  expect(whySlower(fast, { ...fast, ...withTime({ update: null }) })).toBe('');
});
