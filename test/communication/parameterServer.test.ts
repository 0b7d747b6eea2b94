import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  asynchronousRate,
  placeTensors,
  type ServerExchange,
  synchronousExchange,
} from '../../server/src/communication/parameterServer.ts';
import { bytes, bytesPerSecond, seconds } from '../../server/src/model/units.ts';

const exchange = (changes: Partial<ServerExchange> = {}): ServerExchange => ({
  workers: 8,
  servers: 1,
  colocated: false,
  workerBandwidth: bytesPerSecond(1e9),
  serverBandwidth: bytesPerSecond(1e9),
  startup: seconds(0),
  overlapsPushAndPull: false,
  ...changes,
});

describe('placement', () => {
  test('each tensor goes to the server that holds least; large ones are split', () => {
    expect(placeTensors([5, 3, 3, 1].map(bytes), 2)).toEqual({
      loads: [6, 6],
      serverOf: [0, 1, 1, 0],
      busiest: 6,
    });
    expect(placeTensors([8, 3].map(bytes), 2, bytes(8))).toEqual({
      loads: [7, 4],
      serverOf: [undefined, 0],
      busiest: 7,
    });
  });

  // VGG-16: fc6 is 411 MB of 553 MB, so that no number of servers helps unless it is split.
  test('one huge tensor keeps the busiest server busy', () => {
    const vgg = [411, 67, 16, 59].map((size) => bytes(size * 1e6));
    expect(placeTensors(vgg, 16).busiest).toBe(411e6);
    expect(placeTensors(vgg, 16, bytes(4e6)).busiest).toBeCloseTo(553e6 / 16, 3);
  });

  test('no byte is lost', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 1e9 })),
        fc.integer({ min: 1, max: 64 }),
        (sizes, servers) => {
          const { loads } = placeTensors(sizes.map(bytes), servers, bytes(4e6));
          const total = loads.reduce((sum, load) => sum + load, 0);
          expect(total).toBeCloseTo(
            sizes.reduce((sum, size) => sum + size, 0),
            2,
          );
        },
      ),
    );
  });
});

describe('synchronous', () => {
  // performance-models §7.3, 100 MB over 1 GB/s.
  test.each([
    ['one server: 2Wn/B', {}, 100e6, 1.6, 'server'],
    ['one server, push and pull at once: Wn/B', { overlapsPushAndPull: true }, 100e6, 0.8, 'server'],
    ['eight servers, even: 2Wn/(S·B)', { servers: 8 }, 12.5e6, 0.2, 'worker'],
    ['co-located, even: 2(W−1)/W·n/B, as a ring', { servers: 8, colocated: true }, 12.5e6, 0.175, 'server'],
  ] as const)('%s', (_, changes, busiest, time, bound) => {
    const found = synchronousExchange(exchange(changes), bytes(100e6), bytes(busiest));
    expect(found.time).toBeCloseTo(time, 12);
    expect(found.bound).toBe(bound);
  });

  test('a co-located exchange is never faster than 2(W−1)/W·n/B', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 256 }), fc.integer({ min: 1, max: 1e9 }), (workers, size) => {
        const even = size / workers;
        const { time } = synchronousExchange(
          exchange({ workers, servers: workers, colocated: true }),
          bytes(size),
          bytes(even),
        );
        expect(time).toBeCloseTo((((2 * (workers - 1)) / workers) * size) / 1e9, 9);
      }),
    );
  });
});

describe('asynchronous', () => {
  test('the server saturates at B/(2n) updates a second', () => {
    const size = bytes(100e6);
    const few = asynchronousRate(exchange({ workers: 2 }), size, size, seconds(0.8));
    expect(few.stepsPerSecond).toBeCloseTo(2 / (0.8 + 0.2), 12);
    expect(few.bound).toBe('worker');
    expect(few.saturatesAt).toBeCloseTo(5, 12);
    const many = asynchronousRate(exchange({ workers: 16 }), size, size, seconds(0.8));
    expect(many.stepsPerSecond).toBeCloseTo(5, 12);
    expect(many.bound).toBe('server');
    expect(many.staleness).toBe(15);
  });
});
