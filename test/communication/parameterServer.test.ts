import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  placeTensors,
  type ServerExchange,
  serverExchange,
} from '../../server/src/communication/parameterServer.ts';
import { bytes, bytesPerSecond, seconds } from '../../server/src/model/units.ts';

const exchange = (changes: Partial<ServerExchange> = {}): ServerExchange => ({
  workers: 8,
  colocated: false,
  bandwidth: bytesPerSecond(1e9),
  startup: seconds(0),
  way: 'push and pull',
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
  // performance-models §7.3, 8 workers, 100 MB over 1 GB/s; a push and then a pull take twice as long as one.
  test.each([
    ['one server, one way: Wn/B', { way: 'push' }, 100e6, 0.8, 'server'],
    ['one server, push and pull at once: Wn/B', {}, 100e6, 0.8, 'server'],
    ['eight servers, even, one way: Wn/(S·B)', { way: 'pull' }, 12.5e6, 0.1, 'worker'],
    ['co-located, even: 2(W−1)/W·n/B, as a ring', { colocated: true }, 12.5e6, 0.175, 'worker'],
    [
      'co-located, all on one: its port carries 7 pushes',
      { colocated: true, way: 'push' },
      100e6,
      0.7,
      'server',
    ],
  ] as const)('%s', (_, changes, busiest, transfer, bound) => {
    const found = serverExchange(exchange(changes), bytes(100e6), bytes(busiest));
    expect(found.transfer).toBeCloseTo(transfer, 12);
    expect(found.bound).toBe(bound);
  });

  test('start-up is that of each request', () => {
    const startup = seconds(1e-5);
    expect(serverExchange(exchange({ startup }), bytes(1), bytes(1)).startup).toBe(2e-5);
    expect(serverExchange(exchange({ startup, way: 'push' }), bytes(1), bytes(1)).startup).toBe(1e-5);
  });

  test('a co-located exchange takes 2(W−1)/W·n/B, and no placement takes less', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 256 }),
        fc.integer({ min: 1, max: 1e9 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (workers, size, more) => {
          const even = size / workers;
          const timeOf = (busiest: number) =>
            serverExchange(exchange({ workers, colocated: true }), bytes(size), bytes(busiest)).transfer;
          const ring = (((2 * (workers - 1)) / workers) * size) / 1e9;
          expect(timeOf(even)).toBeCloseTo(ring, 9);
          expect(timeOf(even + more * (size - even))).toBeGreaterThanOrEqual(ring * (1 - 1e-9));
        },
      ),
    );
  });
});

test('without a barrier a worker takes its own bytes’ time, and the server that of each', () => {
  const size = bytes(100e6);
  const { alone, atServer } = serverExchange(exchange({ workers: 16, way: 'push' }), size, bytes(50e6));
  expect([alone, atServer]).toEqual([0.1, 0.05]);
  // Both ways at once: a server of its own has a port for each way; beside a worker it shares the port's time with it.
  const both = (colocated: boolean) =>
    serverExchange(exchange({ workers: 16, colocated, way: 'push and pull' }), size, bytes(50e6)).atServer;
  expect([both(false), both(true)]).toEqual([0.05, 0.1]);
});
