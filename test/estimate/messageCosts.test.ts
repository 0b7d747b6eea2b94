/** What of each message falls to the layers whose gradients it carries: by their share of its bytes. */

import { expect, test } from 'vitest';
import { communicationByLayer } from '../../server/src/estimate/messageCosts.ts';
import type { Layer } from '../../server/src/model/graph.ts';
import type { MessageCost } from '../../server/src/model/stepCost.ts';
import { bytes, seconds } from '../../server/src/model/units.ts';

const layers = ['a', 'b', 'c'].map((name): Layer => ({ name, type: 'Linear', ancestors: [], operators: [] }));

const message = (
  [time, exposed, slack]: readonly [number, number, number],
  shares: readonly (readonly [layer: number, size: number])[],
): MessageCost => ({
  bytes: bytes(100),
  time: seconds(time),
  exposed: seconds(exposed),
  slack: seconds(slack),
  layers: shares.map(([index, size]) => ({ index, bytes: bytes(size) })),
  readyAfter: 0,
  isAllReduce: true,
  description: 'ring',
});

test('a message of two layers is three parts of one and one of the other', () => {
  const messages = [
    message(
      [8, 4, 0.5],
      [
        [0, 75],
        [1, 25],
      ],
    ),
    message([3, 0, 0], [[1, 10]]),
    // One that carries nothing is nobody's, and so is a layer that is none of the model.
    message([100, 100, 0], [[2, 0]]),
    message([100, 100, 0], [[7, 10]]),
  ];
  expect(communicationByLayer(layers, messages)).toEqual([
    { time: 6, exposed: 3, slack: 0.5, note: 'message 1 of 4, ring, 500 ms to spare' },
    { time: 5, exposed: 1, slack: 0, note: 'message 1 of 4, ring, 500 ms to spare; message 2 of 4, ring' },
    { time: 0, exposed: 0, slack: Number.POSITIVE_INFINITY, note: undefined },
  ]);
  expect(communicationByLayer(layers, [])).toEqual(
    layers.map(() => ({ time: 0, exposed: 0, slack: Number.POSITIVE_INFINITY, note: undefined })),
  );
});
