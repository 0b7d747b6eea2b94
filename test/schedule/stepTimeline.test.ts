import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { packMessages } from '../../server/src/frameworks/packMessages.ts';
import { bytes, seconds } from '../../server/src/model/units.ts';
import { scheduleTasks } from '../../server/src/schedule/scheduleTasks.ts';
import { type StepWork, stepTimeline } from '../../server/src/schedule/stepTimeline.ts';
import { googlenetTrace } from './googlenetTrace.ts';

const idle = { device: seconds(0), host: seconds(0) };
const work = (time: number) => ({ device: seconds(time), host: seconds(0) });

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
    forward: [work(forward)],
    backward: backward.map(work),
    messages: messages.map((time, index) => ({ time: seconds(time), readyAfter: index })),
    update: work(update),
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
    }));
    const messages = packMessages(gradients, [2 ** 20, 25 * 2 ** 20]);
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
  type Drawn = typeof anyWork extends fc.Arbitrary<infer Value> ? Value : never;
  const made = (drawn: Drawn, faster = 1): StepWork => ({
    forward: drawn.forward.map((item) => ({ device: seconds(item.device), host: seconds(item.host) })),
    backward: drawn.backward.map((item) => ({ device: seconds(item.device), host: seconds(item.host) })),
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
    const task = fc.record({
      resource: fc.nat(3),
      duration: time,
      back: fc.array(fc.integer({ min: 1, max: 10 }), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(fc.array(task, { maxLength: 60 }), (drawn) => {
        const tasks = drawn.map((item, index) => ({
          resource: item.resource,
          duration: seconds(item.duration),
          after: item.back.map((distance) => index - distance).filter((before) => before >= 0),
        }));
        const { starts, ends } = scheduleTasks(tasks);
        const free = new Map<number, number>();
        for (const [index, item] of tasks.entries()) {
          const start = starts[index] ?? Number.NaN;
          expect(start).toBeGreaterThanOrEqual(free.get(item.resource) ?? 0);
          for (const before of item.after) expect(start).toBeGreaterThanOrEqual(ends[before] ?? Number.NaN);
          free.set(item.resource, ends[index] ?? Number.NaN);
        }
      }),
    );
  });

  test('a slow host bounds fast kernels', () => {
    const line = stepTimeline({
      forward: Array.from({ length: 10 }, () => ({ device: seconds(1), host: seconds(3) })),
      backward: [],
      messages: [],
      update: idle,
      overlap: true,
    });
    expect(line.step).toBe(31);
  });
});
