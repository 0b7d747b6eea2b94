import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { packBuckets } from '../../server/src/frameworks/packBuckets.ts';
import { bytes, seconds } from '../../server/src/model/units.ts';
import { createResources } from '../../server/src/schedule/resources.ts';
import { type StepWork, stepTimeline } from '../../server/src/schedule/stepTimeline.ts';
import { googlenetTrace } from './googlenetTrace.ts';

const idle = { device: seconds(0), host: seconds(0) };
const work = (times: readonly number[]) => ({
  device: Float64Array.from(times),
  host: new Float64Array(times.length),
});

/** Wait-free backpropagation by its recursion (arXiv 1811.11141): layers from the last to the first. */
function waitFree(backward: readonly number[], messages: readonly number[]): number {
  let computed = 0;
  let sent = 0;
  for (const [index, time] of backward.entries()) {
    computed += time;
    sent = Math.max(sent, computed) + (messages[index] ?? 0);
  }
  return sent;
}

function step(
  forward: number,
  backward: readonly number[],
  messages: readonly number[],
  update: number,
): StepWork {
  return {
    forward: work([forward]),
    backward: work(backward),
    messages: messages.map((time, index) => ({ time: seconds(time), readyAfter: index })),
    update: { device: seconds(update), host: seconds(0) },
    overlap: true,
  };
}

const time = fc.double({ min: 0, max: 1, noNaN: true });
const layers = fc.array(fc.tuple(time, time), { minLength: 1, maxLength: 40 });

describe('closed forms are special cases of the timeline', () => {
  test('one GPU: t_f + t_b + t_u', () => {
    fc.assert(
      fc.property(time, layers, time, (forward, pairs, update) => {
        const backward = pairs.map(([b]) => b);
        const line = stepTimeline({ ...step(forward, backward, [], update) });
        const sum = backward.reduce((total, b) => total + b, forward + update);
        expect(line.step).toBeCloseTo(sum, 9);
        expect(line.exposedTime).toBe(0);
      }),
    );
  });

  test('naive: t_f + t_b + t_c + t_u', () => {
    fc.assert(
      fc.property(time, layers, time, (forward, pairs, update) => {
        const line = stepTimeline({
          ...step(
            forward,
            pairs.map(([b]) => b),
            pairs.map(([, c]) => c),
            update,
          ),
          overlap: false,
        });
        const sum = pairs.reduce((total, [b, c]) => total + b + c, forward + update);
        expect(line.step).toBeCloseTo(sum, 9);
        expect(line.exposedTime).toBeCloseTo(line.communicationTime, 9);
      }),
    );
  });

  test('wait-free backpropagation: the recursion', () => {
    fc.assert(
      fc.property(time, layers, time, (forward, pairs, update) => {
        const backward = pairs.map(([b]) => b);
        const messages = pairs.map(([, c]) => c);
        const line = stepTimeline(step(forward, backward, messages, update));
        expect(line.step).toBeCloseTo(forward + waitFree(backward, messages) + update, 9);
      }),
    );
  });
});

describe('GoogLeNet on K80 over 10 GbE, published layer trace (B-Caffe logs)', () => {
  const backward = [...googlenetTrace].reverse().map((row) => row.backward);
  const end = (messages: readonly number[]): string => {
    const line = stepTimeline(step(0, backward, messages, 0));
    return line.step.toFixed(2);
  };
  const sizes = [...googlenetTrace].reverse().map((row) => row.parameters * 4);
  test.each([
    [1685.961, 3.790164e-3, '311.20'],
    [42.043, 2.0589e-4, '205.39'],
    [97.537, 3.0568e-4, '205.45'],
    [235.837, 4.05948e-4, '205.59'],
    [523.027, 8.57075e-4, '205.90'],
    [908.098, 7.39565e-4, '206.28'],
    [4000, 1.5e-2, '1059.21'],
  ])('a = %f µs, b = %f µs/B: wait-free ends at %s ms', (a, b, expected) => {
    expect(end(sizes.map((size) => (a + b * size) / 1000))).toBe(expected);
  });

  test.each([
    [1685.961, 3.790164e-3, '409.86'],
    [42.043, 2.0589e-4, '216.40'],
    [523.027, 8.57075e-4, '251.73'],
  ])('a = %f µs, b = %f µs/B: one message ends at %s ms', (a, b, expected) => {
    const whole = sizes.reduce((total, size) => total + size, 0);
    const line = stepTimeline({
      ...step(0, backward, [], 0),
      messages: [{ time: seconds((a + b * whole) / 1000), readyAfter: backward.length - 1 }],
    });
    expect(line.step.toFixed(2)).toBe(expected);
  });

  test.each([
    [1685.961, 3.790164e-3, '294.57'],
    [42.043, 2.0589e-4, '210.14'],
    [97.537, 3.0568e-4, '212.50'],
    [235.837, 4.05948e-4, '214.95'],
    [523.027, 8.57075e-4, '225.66'],
    [908.098, 7.39565e-4, '223.33'],
    [4000, 1.5e-2, '815.21'],
  ])('a = %f µs, b = %f µs/B: buckets of 25 MiB, the first of 1 MiB, end at %s ms', (a, b, expected) => {
    const gradients = sizes.map((size, index) => ({
      parameter: String(index),
      index,
      elements: size / 4,
      bytes: bytes(size),
      readyAfter: index,
      usedFrom: 0,
    }));
    const messages = packBuckets(gradients, [2 ** 20, 25 * 2 ** 20]);
    expect(messages).toHaveLength(3);
    const line = stepTimeline({
      ...step(0, backward, [], 0),
      messages: messages.map((message) => ({
        time: seconds((a + b * message.bytes) / 1000),
        readyAfter: message.readyAfter,
      })),
    });
    expect(line.step.toFixed(2)).toBe(expected);
  });
});

describe('what holds on every timeline', () => {
  const anyWork = fc.record({
    forward: fc.array(fc.record({ device: time, host: time }), { maxLength: 20 }),
    backward: fc.array(fc.record({ device: time, host: time }), { minLength: 1, maxLength: 20 }),
    messages: fc.array(fc.record({ time, after: fc.nat(19) }), { maxLength: 10 }),
    update: fc.record({ device: time, host: time }),
    overlap: fc.boolean(),
  });
  const columns = (items: readonly { readonly device: number; readonly host: number }[]) => ({
    device: Float64Array.from(items, (item) => item.device),
    host: Float64Array.from(items, (item) => item.host),
  });
  type Drawn = typeof anyWork extends fc.Arbitrary<infer Value> ? Value : never;
  const made = (drawn: Drawn, faster = 1): StepWork => ({
    forward: columns(drawn.forward),
    backward: columns(drawn.backward),
    messages: drawn.messages
      .map((message) => ({
        time: seconds(message.time * faster),
        readyAfter: Math.min(message.after, drawn.backward.length - 1),
      }))
      .sort((a, b) => a.readyAfter - b.readyAfter),
    update: { device: seconds(drawn.update.device), host: seconds(drawn.update.host) },
    overlap: drawn.overlap,
  });

  test('parts add up, exposed ≤ total communication, exposure of messages adds up', () => {
    fc.assert(
      fc.property(anyWork, (drawn) => {
        const line = stepTimeline(made(drawn));
        expect(line.forwardTime + line.backwardTime + line.exposedTime + line.updateTime).toBeCloseTo(
          line.step,
          9,
        );
        expect(line.forward.reduce((sum, t) => sum + t, 0)).toBeCloseTo(line.forwardTime, 9);
        expect(line.backward.reduce((sum, t) => sum + t, 0)).toBeCloseTo(line.backwardTime, 9);
        expect(line.exposedTime).toBeLessThanOrEqual(line.communicationTime + 1e-9);
        expect(line.messages.reduce((sum, m) => sum + m.exposed, 0)).toBeCloseTo(line.exposedTime, 9);
      }),
    );
  });

  test('faster messages never cost time', () => {
    fc.assert(
      fc.property(anyWork, (drawn) => {
        expect(stepTimeline(made(drawn, 0.5)).step).toBeLessThanOrEqual(
          stepTimeline(made(drawn)).step + 1e-12,
        );
      }),
    );
  });

  test('overlap never costs time', () => {
    fc.assert(
      fc.property(anyWork, (drawn) => {
        const all = made(drawn);
        expect(stepTimeline({ ...all, overlap: true }).step).toBeLessThanOrEqual(
          stepTimeline({ ...all, overlap: false }).step + 1e-12,
        );
      }),
    );
  });

  test('a resource never does two things at once, and nothing starts before what it waits for', () => {
    const piece = fc.record({ resource: fc.nat(3), duration: time, earliest: time });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const resources = createResources(4);
        for (const { resource, duration, earliest } of pieces) {
          const before = resources.freeAt(resource);
          const end = resources.occupy(resource, duration, earliest);
          expect(end).toBe(Math.max(before, earliest) + duration);
          expect(resources.freeAt(resource)).toBe(end);
        }
      }),
    );
  });

  test('messages follow each other, each after the backward work that completes it', () => {
    fc.assert(
      fc.property(anyWork, (drawn) => {
        const all = made(drawn);
        const line = stepTimeline(all);
        let before = 0;
        for (const [index, message] of line.messages.entries()) {
          const ready = all.messages[index]?.readyAfter ?? 0;
          const computed = line.backward.slice(0, ready + 1).reduce((sum, t) => sum + t, line.forwardTime);
          expect(message.start).toBeGreaterThanOrEqual(before);
          expect(message.start).toBeGreaterThanOrEqual(computed - 1e-9);
          before = message.end;
        }
      }),
    );
  });

  test('a slow host bounds fast kernels', () => {
    const line = stepTimeline({
      forward: { device: new Float64Array(10).fill(1), host: new Float64Array(10).fill(3) },
      backward: work([]),
      messages: [],
      update: idle,
      overlap: true,
    });
    expect(line.step).toBe(31);
  });
});
