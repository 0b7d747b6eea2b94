import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { packBuckets } from '../../server/src/frameworks/packBuckets.ts';
import { itemAt } from '../../server/src/model/at.ts';
import { bytes, seconds } from '../../server/src/model/units.ts';
import { messageColumns } from '../../server/src/schedule/messageColumns.ts';
import { stepTimeline } from '../../server/src/schedule/stepTimeline.ts';
import {
  anyWork,
  type Drawn,
  made,
  message,
  share,
  stagesOf,
  time,
  timelineOf,
  type WrittenStep,
} from './anyWork.ts';
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
): WrittenStep {
  return {
    forward: work([forward]),
    backward: work(backward),
    messages: messages.map((time, index) => message(time, 1 + index, 1 + backward.length)),
    channels: ['first come'],
    update: { device: seconds(update), host: seconds(0) },
  };
}

/** Nothing is sent before backward has ended. */
const naive = (of: WrittenStep): WrittenStep => {
  const last = of.forward.device.length + of.backward.device.length - 1;
  return { ...of, messages: of.messages.map((sent) => ({ ...sent, after: last })) };
};

const layers = fc.array(fc.tuple(time, time), { minLength: 1, maxLength: 40 });

describe('closed forms are special cases of the timeline', () => {
  test('one GPU: t_f + t_b + t_u', () => {
    fc.assert(
      fc.property(time, layers, time, (forward, pairs, update) => {
        const backward = pairs.map(([b]) => b);
        const line = timelineOf({ ...step(forward, backward, [], update) });
        const sum = backward.reduce((total, b) => total + b, forward + update);
        expect(line.step).toBeCloseTo(sum, 9);
        expect(line.exposedTime).toBe(0);
      }),
    );
  });

  test('naive: t_f + t_b + t_c + t_u', () => {
    fc.assert(
      fc.property(time, layers, time, (forward, pairs, update) => {
        const all = step(
          forward,
          pairs.map(([b]) => b),
          pairs.map(([, c]) => c),
          update,
        );
        const line = timelineOf(naive(all));
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
        const line = timelineOf(step(forward, backward, messages, update));
        expect(line.step).toBeCloseTo(forward + waitFree(backward, messages) + update, 9);
      }),
    );
  });
});

describe('messages that are kernels slow those beside them', () => {
  // One piece of forward, then two of backward of 10 each; the first message leaves between those two.
  test.each([
    ['a message over within the piece: 4 of it at 4/5 of the pace', [4], 0.25, 10.8],
    ['a message longer than the piece', [100], 0.25, 12.5],
    ['two, one after another', [4, 4], 0.25, 11.6],
    ['no message', [], 0.25, 10],
    ['one that takes nothing from the GPU', [4], 0, 10],
  ])('%s', (_, messages, slowing, expected) => {
    const of = step(10, [10, 10], [], 0);
    const sent = messages.map((time) => message(time, 1, 3));
    const line = timelineOf({ ...of, messages: sent, slowing: [slowing] });
    expect(line.backward[1]).toBeCloseTo(expected, 12);
    expect([line.forwardTime, line.backward[0]]).toEqual([10, 10]);
  });
  test('never by more than the share of what is computed, nor of what is sent', () => {
    fc.assert(
      fc.property(time, layers, time, share, (forward, pairs, update, slowing) => {
        const of = step(
          forward,
          pairs.map(([b]) => b),
          pairs.map(([, c]) => c),
          update,
        );
        const [alone, slowed] = [timelineOf(of), timelineOf({ ...of, slowing: [slowing] })];
        const longer = slowed.backwardTime - alone.backwardTime;
        expect(longer).toBeGreaterThanOrEqual(-1e-9);
        expect(longer).toBeLessThanOrEqual(slowing * alone.backwardTime + 1e-9);
        expect(longer).toBeLessThanOrEqual(slowing * alone.communicationTime + 1e-9);
        expect(longer).toBeCloseTo(slowed.slowedTime, 9);
        expect(slowed.step).toBeGreaterThanOrEqual(alone.step - 1e-9);
      }),
    );
  });
});

describe('GoogLeNet on K80 over 10 GbE, published layer trace (B-Caffe logs)', () => {
  const backward = [...googlenetTrace].reverse().map((row) => row.backward);
  const end = (messages: readonly number[]): string => {
    const line = timelineOf(step(0, backward, messages, 0));
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
    const line = timelineOf({
      ...step(0, backward, [], 0),
      messages: [message((a + b * whole) / 1000, backward.length, backward.length + 1)],
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
    const buckets = packBuckets(gradients, [2 ** 20, 25 * 2 ** 20]);
    expect(buckets).toHaveLength(3);
    const line = timelineOf({
      ...step(0, backward, [], 0),
      messages: buckets.map((bucket) =>
        message((a + b * bucket.bytes) / 1000, 1 + bucket.readyAfter, 1 + backward.length),
      ),
    });
    expect(line.step.toFixed(2)).toBe(expected);
  });
});

describe('input: the cases of arXiv 1711.05979', () => {
  const parts = fc.record({ read: time, copy: time, forward: time, update: time, pairs: layers });
  const cases = [
    [
      'nothing ahead: t_io + t_h2d + t',
      'nothing',
      false,
      (io: number, copy: number, t: number) => io + copy + t,
    ],
    [
      'reading ahead: max(t_io, t_h2d + t)',
      'reading',
      false,
      (io: number, copy: number, t: number) => Math.max(io, copy + t),
    ],
    [
      'one thread ahead: max(t_io + t_h2d, t)',
      'reading and copying',
      false,
      (io: number, copy: number, t: number) => Math.max(io + copy, t),
    ],
    [
      'stages ahead at once: max(t_io, t_h2d, t)',
      'reading and copying',
      true,
      (io: number, copy: number, t: number) => Math.max(io, copy, t),
    ],
  ] as const;
  test.each(cases)('%s, whatever the exchange', (_, ahead, pipelined, closedForm) => {
    fc.assert(
      fc.property(parts, fc.boolean(), ({ read, copy, forward, update, pairs }, isNaive) => {
        const waitFreeStep = step(
          forward,
          pairs.map(([b]) => b),
          pairs.map(([, c]) => c),
          update,
        );
        const computed = isNaive ? naive(waitFreeStep) : waitFreeStep;
        const without = timelineOf(computed).step;
        const input = { read: seconds(read), copy: seconds(copy), ahead, pipelined };
        const line = timelineOf({ ...computed, input });
        expect(line.step).toBeCloseTo(closedForm(read, copy, without), 6);
        expect(line.exposedInputTime).toBeLessThanOrEqual(line.inputTime + 1e-9);
        expect(line.exposedInputTime).toBeCloseTo(line.step - without, 6);
      }),
    );
  });
});

describe('what crosses the end of a step', () => {
  const two = {
    forward: work([1, 1]),
    backward: work([1, 1]),
    channels: ['by priority'] as const,
    update: idle,
  };

  test('parameters gathered before forward are waited for there: the first exposed, the second hidden', () => {
    const line = timelineOf({
      ...two,
      channels: ['first come'],
      messages: [message(0.5, 4, 0), message(0.5, -1, 1)],
    });
    expect(line.step).toBeCloseTo(4.5, 9);
    expect(line.messages.map(({ exposed }) => exposed)).toEqual([0.5, 0]);
    // Sent from 0.5 to 1, while forward of the first layer, which began at 0.5, runs until 1.5.
    expect(line.messages[1]?.slack).toBeCloseTo(0.5, 9);
  });

  test('a wait is that of the messages that held the channel meanwhile, and of the one that ends it', () => {
    // Backward ends at 4, and the update waits for the first message, which has the channel from 5.5 to 6.5, behind the second.
    const line = timelineOf({
      ...two,
      channels: ['first come'],
      messages: [message(1, 3, 4), message(3.5, 1, 4)],
    });
    expect(line.messages.map(({ start, end }) => [start, end])).toEqual([
      [5.5, 6.5],
      [2, 5.5],
    ]);
    expect(line.messages.map(({ exposed }) => exposed)).toEqual([1, 1.5]);
  });

  test('what the next forward needs first goes first, and only it is waited for', () => {
    // The gradients of layers 1 and 0, 2 s each, are ready at 3 and at 4; forward of layer i waits for gradient i.
    const sent = (priority: boolean) => [
      message(2, 2, 1, { priority: priority ? 1 : 0 }),
      message(2, 3, 0, { priority: 0 }),
    ];
    // The first is on its way when the second is ready, and is not interrupted: 3 to 5, then 5 to 7.
    expect(timelineOf({ ...two, messages: sent(true) }).step).toBeCloseTo(7, 9);
    // In halves, the second goes before the rest of the first: 3 to 4, 4 to 6, 6 to 7, which forward of layer 0 hides.
    const halves = [
      message(1, 2, 1, { priority: 1 }),
      message(1, 2, 1, { priority: 1 }),
      message(2, 3, 0, { priority: 0 }),
    ];
    expect(timelineOf({ ...two, messages: halves }).step).toBeCloseTo(6, 9);
  });

  test('parameters one step old hide a whole step of communication', () => {
    const late = message(3, 3, 4, { stepsLater: 1 });
    expect(timelineOf({ ...two, messages: [late] }).step).toBeCloseTo(4, 9);
    expect(
      timelineOf({ ...two, messages: [{ ...late, stages: [{ channel: 0, time: seconds(9) }] }] }).step,
    ).toBeCloseTo(9, 9);
  });

  test('updated as they arrive, all but the last update is hidden', () => {
    const sent = (updateShare: number) => [
      message(2, 2, 4, { updateShare }),
      message(2, 3, 4, { updateShare }),
    ];
    const update = { device: seconds(1), host: seconds(0) };
    expect(timelineOf({ ...two, update, messages: sent(0) }).step).toBeCloseTo(8, 9);
    expect(timelineOf({ ...two, update, messages: sent(0.5) }).step).toBeCloseTo(7.5, 9);
  });

  describe('a piece of the update that forward waits for runs before it', () => {
    // Gradients of both layers leave as backward ends. Each forward waits for its own, 2 s or 3 s into the next step.
    const sent = [
      message(2, 3, 0, { updateShare: 0.25, launchShare: 0.5 }),
      message(1, 3, 1, { updateShare: 0.75, launchShare: 0.5 }),
    ];
    const stepOf = (device: number, host: number) =>
      timelineOf({
        ...two,
        channels: ['first come'],
        messages: sent,
        update: { device: seconds(device), host: seconds(host), launches: 2 },
      });

    test('behind its message, and once', () => {
      // Waits to 2, updates to 3, forward to 4, updates to 7, forward and backward to 10.
      const line = stepOf(4, 0);
      expect(line.updates).toEqual([
        { time: 1, end: 3 },
        { time: 3, end: 7 },
      ]);
      expect([...line.forwardEnds, ...line.backwardEnds]).toEqual([4, 8, 9, 10]);
      expect([line.step, line.exposedTime, line.updateTime, line.hostTime]).toEqual([10, 2, 4, 0]);
    });

    test('behind its launch, which counts to the update', () => {
      // The host launches each of two kernels for 3 s: they run from 3 to 4 and from 6 to 9, forward between them to 5.
      const line = stepOf(4, 6);
      expect(line.updates).toEqual([
        { time: 4, end: 4 },
        { time: 4, end: 9 },
      ]);
      expect([line.step, line.exposedTime, line.hostTime, line.updateHostTime]).toEqual([12, 0, 4, 4]);
    });
  });

  test('three messages that bring a third of the update each leave nothing of it', () => {
    const sent = [1, 2, 3].map(() => message(1, 3, 4, { updateShare: 1 / 3, launchShare: 1 / 3 }));
    const update = { device: seconds(3), host: seconds(3), launches: 3 };
    const line = timelineOf({ ...two, channels: ['first come'], messages: sent, update });
    // They arrive at 5, 6 and 7, when each third has been launched; a third takes 1 s.
    expect(line.updates.map(({ time, end }) => [time, end])).toEqual([
      [expect.closeTo(1, 12), expect.closeTo(6, 12)],
      [expect.closeTo(1, 12), expect.closeTo(7, 12)],
      [expect.closeTo(1, 12), expect.closeTo(8, 12)],
    ]);
  });

  test('what a piece sends is waited for by the same piece of the next step', () => {
    // Sent from 1 to 1.5; the next step begins at 4.
    const line = timelineOf({ ...two, channels: ['first come'], messages: [message(0.5, 0, 0)] });
    expect([line.step, line.exposedTime, line.messages[0]?.slack]).toEqual([4, 0, 2.5]);
  });

  test('the same messages of a step with other work wait where that has its pieces', () => {
    const split = (forward: readonly number[], backward: readonly number[]) => ({
      ...two,
      channels: ['first come' as const],
      forward: work(forward),
      backward: work(backward),
    });
    const messages = messageColumns([message(1, 1, 3), message(1, 2, 0)]);
    // The update waits for the first where work ends behind the third piece, and the fourth piece where there is one.
    const steps = [split([1, 1], [1]), split([1], [1, 1]), split([1, 1], [1, 1]), split([1], [1, 1, 1])];
    const alone = [messages, messages, messages, messages].map(({ ...columns }, index) =>
      stepTimeline({ ...itemAt(steps, index), messages: { ...columns, after: columns.after.slice() } }),
    );
    for (const [index, step] of steps.entries()) {
      const { forwardEnds, backwardEnds, exposed } = stepTimeline({ ...step, messages });
      const fresh = itemAt(alone, index);
      expect([forwardEnds, backwardEnds, exposed]).toEqual([
        fresh.forwardEnds,
        fresh.backwardEnds,
        fresh.exposed,
      ]);
    }
  });

  test('a wait for a message begins when the piece that waits has been launched', () => {
    // Forward is launched at 0.25 and its parameters are there at 0.5; the update has no part in it.
    const line = timelineOf({
      ...two,
      forward: { device: Float64Array.of(1, 1), host: Float64Array.of(0.25, 0) },
      channels: ['first come'],
      messages: [message(0.5, 4, 0)],
      update: { device: seconds(1), host: seconds(8), launches: 2 },
    });
    expect([line.exposedTime, line.hostTime - line.updateHostTime]).toEqual([0.25, 0.25]);
    expect([...line.forward]).toEqual([1.25, 1]);
  });

  test('a message that the host waits for may be late by what its launch leaves before the GPU is free', () => {
    // It is there at 3.25. Each of two kernels takes the host 1/8 s, and the GPU is free at 4: 3.875 would do.
    const line = timelineOf({
      ...two,
      channels: ['first come'],
      hostWaits: true,
      messages: [message(0.25, 2, 4, { updateShare: 0.5, launchShare: 0.5 }), message(0, 3, 4)],
      update: { device: seconds(8), host: seconds(0.5), launches: 4 },
    });
    expect(line.messages[0]?.slack).toBe(4 - 0.125 - 3.25);
  });

  test('of updates as they arrive the host launches by parameters, whatever their elements', () => {
    const sent = (launchShares: readonly [number, number]) => [
      message(2, 2, 4, { updateShare: 0.5, launchShare: launchShares[0] }),
      message(2, 3, 4, { updateShare: 0.5, launchShare: launchShares[1] }),
    ];
    const update = { device: seconds(0), host: seconds(10), launches: 10 };
    const stepOf = (shares: readonly [number, number]) =>
      timelineOf({ ...two, update, hostWaits: true, messages: sent(shares) }).step;
    // They arrive after 5 and 7 s; each kernel takes the host one second.
    expect(stepOf([0.1, 0.9])).toBeCloseTo(7 + 9, 9);
    expect(stepOf([0.9, 0.1])).toBeCloseTo(5 + 9 + 1, 9);
  });

  test('stages of different messages run at once: to the host, around it, and back', () => {
    const staged = (after: number) =>
      message(0, after, 4, { stages: [0, 1, 2].map((channel) => ({ channel, time: seconds(1) })) });
    const channels = ['first come', 'first come', 'first come'] as const;
    const line = timelineOf({ ...two, channels, messages: [staged(3), staged(3)] });
    expect(line.exposedTime).toBeCloseTo(4, 9);
    expect(line.communicationTime).toBeCloseTo(6, 9);
    expect(line.messages.map(({ exposed }) => exposed)).toEqual([3, 1]);
  });
});

describe('what holds on every timeline', () => {
  const first = (drawn: Drawn): Drawn => ({ ...drawn, orders: [true, true, true] });

  test('parts add up to the step, and what messages expose adds up to what is exposed', () => {
    fc.assert(
      fc.property(anyWork, (drawn) => {
        const line = timelineOf(made(drawn));
        const { forwardTime, backwardTime, updateTime, exposedTime, exposedInputTime } = line;
        expect(forwardTime + backwardTime + updateTime + exposedTime + exposedInputTime).toBeCloseTo(
          line.step,
          9,
        );
        expect(line.messages.reduce((sum, m) => sum + m.exposed, 0)).toBeCloseTo(exposedTime, 9);
        expect(line.hostTime).toBeLessThanOrEqual(forwardTime + backwardTime + updateTime + 1e-9);
        for (const { slack, exposed } of line.messages) {
          expect(slack).toBeGreaterThanOrEqual(0);
          expect(exposed).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });

  test('no more is exposed than is sent', () => {
    fc.assert(
      fc.property(anyWork, (drawn) => {
        const line = timelineOf(made(drawn));
        expect(line.exposedTime).toBeLessThanOrEqual(line.communicationTime + 1e-9);
      }),
    );
  });

  test('a channel carries one message at a time, and the GPU runs one piece at a time', () => {
    fc.assert(
      fc.property(anyWork, (drawn) => {
        const all = made(drawn);
        const line = timelineOf(all);
        for (const channel of [0, 1, 2]) {
          const busy = line.messages
            .flatMap((_, index) => stagesOf(all, line, index).filter((stage) => stage.channel === channel))
            .sort((a, b) => a.start - b.start || a.end - b.end);
          for (const [index, stage] of busy.entries()) {
            expect(stage.start).toBeGreaterThanOrEqual(
              (busy[index - 1]?.end ?? Number.NEGATIVE_INFINITY) - 1e-12,
            );
          }
        }
        let before: number = line.exposedInputTime;
        for (const [pieces, ends] of [
          [all.forward, line.forwardEnds],
          [all.backward, line.backwardEnds],
        ] as const) {
          for (const [index, end] of ends.entries()) {
            expect(end - (pieces.device[index] ?? 0)).toBeGreaterThanOrEqual(before - 1e-9);
            before = end;
          }
        }
        expect(line.step).toBeGreaterThanOrEqual(before - 1e-9);
      }),
    );
  });

  test('a message starts when its work has ended, and goes through its stages in order', () => {
    fc.assert(
      fc.property(anyWork, (drawn) => {
        const all = made(drawn);
        const line = timelineOf(all);
        for (const [index, { after: released }] of all.messages.entries()) {
          const after = released - drawn.forward.length;
          let earliest = line.backwardEnds[after] ?? 0;
          for (const stage of stagesOf(all, line, index)) {
            expect(stage.start).toBeGreaterThanOrEqual(earliest - 1e-9);
            earliest = stage.end;
          }
        }
      }),
    );
  });

  // Here a late message is a longer one, which would slow what is computed beside it for longer.
  test('slack is what a message may be late by: with that much more, the step takes no longer', () => {
    fc.assert(
      fc.property(anyWork, fc.nat(9), (drawn, which) => {
        const all = made({
          ...first(drawn),
          slowing: null,
          messages: drawn.messages.map((m) => ({
            ...m,
            crosses: false,
            channel: 0,
            times: m.times.slice(0, 1),
          })),
        });
        const line = timelineOf(all);
        const slack = line.messages[which]?.slack ?? 0;
        const later = all.messages.map((m, index) =>
          index === which
            ? { ...m, stages: m.stages.map((s) => ({ ...s, time: seconds(s.time + slack) })) }
            : m,
        );
        if (all.messages.some(({ updateShare }) => updateShare > 0)) return;
        expect(timelineOf({ ...all, messages: later }).step).toBeLessThanOrEqual(line.step + 1e-9);
      }),
    );
  });

  // Where what goes first depends on when things are ready, less of one thing can be in the way of another: Graham's
  // anomalies. In the order of a stream, with everything waited for at the update, it cannot.
  const streamed = anyWork.map(
    (drawn): Drawn => ({
      ...first(drawn),
      asTheyArrive: false,
      messages: drawn.messages.map((m) => ({ ...m, crosses: false, channel: 0, times: m.times.slice(0, 1) })),
    }),
  );

  test('faster messages never cost time', () => {
    fc.assert(
      fc.property(streamed, (drawn) => {
        expect(timelineOf(made(drawn, 0.5)).step).toBeLessThanOrEqual(timelineOf(made(drawn)).step + 1e-9);
      }),
    );
  });

  test('overlap never costs time', () => {
    fc.assert(
      fc.property(streamed, (drawn) => {
        const all = made(drawn);
        expect(timelineOf(all).step).toBeLessThanOrEqual(timelineOf(naive(all)).step + 1e-9);
      }),
    );
  });

  // Two pieces of backward of 1, a message of 3 after the first; four kernels of 0.5 each that take the host 0.25 each.
  test.each([
    ['the GPU waits, the host has launched long before', false, 0.25, 1 + 3 + 2],
    ['the host waits, and launches one kernel before the first runs', true, 0.25, 1 + 3 + 0.25 + 2],
    ['the host waits, and is slower than the kernels', true, 2, 1 + 3 + 4 * 2 + 0.5],
  ])('update: %s', (_, hostWaits, each, step) => {
    const line = timelineOf({
      forward: work([]),
      backward: work([1, 1]),
      messages: [message(3, 0, 2)],
      channels: ['first come'],
      hostWaits,
      update: { device: seconds(2), host: seconds(4 * each), launches: 4 },
    });
    expect(line.step).toBeCloseTo(step, 12);
    expect(line.exposedTime).toBe(2);
    expect(line.hostTime).toBeCloseTo(step - (1 + 3 + 2), 12);
  });

  // The host has launched backward and a fourth of the update when backward ends.
  test.each([
    ['does not wait', false, 4 + 2],
    ['waits for the GPU', true, 4 + 0.25 + 2],
  ])('update without messages: the host %s', (_, hostWaits, step) => {
    const line = timelineOf({
      forward: work([]),
      backward: work([2, 2]),
      messages: [],
      channels: [],
      update: { device: seconds(2), host: seconds(1), launches: 4, hostWaits },
    });
    expect(line.step).toBeCloseTo(step, 12);
    expect(line.updateHostTime).toBeCloseTo(step - 6, 12);
  });

  // Launched for 2 s, backward runs for 1. The update could be launched 1 s later; its message comes 3 s after backward.
  test('the GPU waits for the host first, and then for the message', () => {
    const line = timelineOf({
      forward: work([]),
      backward: { device: Float64Array.of(1), host: Float64Array.of(2) },
      messages: [message(3, 0, 1)],
      channels: ['first come'],
      hostWaits: true,
      update: { device: seconds(1), host: seconds(2), launches: 1 },
    });
    expect(line.step).toBe(2 + 1 + 3 + 2 + 1);
    expect(line.backwardTime).toBe(2 + 1);
    expect(line.exposedTime).toBe(3 - 1);
    // Before the message 1 s passes in which the update could not have begun.
    expect(line.updateTime).toBe(1 + 2 + 1);
    expect(line.hostTime).toBe(2 + 1 + 2);
  });

  test('the host that waits never makes a step shorter', () => {
    fc.assert(
      fc.property(streamed, (drawn) => {
        const step = (hostWaits: boolean) => timelineOf(made({ ...drawn, hostWaits })).step;
        expect(step(true)).toBeGreaterThanOrEqual(step(false) - 1e-9);
      }),
    );
  });

  test('a slow host bounds fast kernels', () => {
    const line = timelineOf({
      forward: { device: new Float64Array(10).fill(1), host: new Float64Array(10).fill(3) },
      backward: work([]),
      messages: [],
      channels: [],
      update: idle,
    });
    expect(line.step).toBe(31);
    expect(line.hostTime).toBe(21);
  });
});

/**
 * A kernel of 1 that the host takes 1 to launch. Where the batch is copied before forward, the host launches after that; where
 * it is copied ahead, the host has launched while the GPU waits for its batch.
 */
test.each([
  ['nothing', 2, 3, { step: 2 + 3 + 1 + 1, exposedInputTime: 5, hostTime: 1 }],
  ['reading', 2, 3, { step: 3 + 1 + 1, exposedInputTime: 3, hostTime: 1 }],
  ['reading and copying', 5, 1, { step: 5, exposedInputTime: 4, hostTime: 0 }],
] as const)('with %s ahead, read in %i and copied in %i', (ahead, read, copy, expected) => {
  const of: WrittenStep = {
    forward: { device: Float64Array.of(1), host: Float64Array.of(1) },
    backward: work([]),
    messages: [],
    channels: [],
    update: idle,
    input: { read: seconds(read), copy: seconds(copy), ahead, pipelined: true },
  };
  const { step: time, exposedInputTime, hostTime } = timelineOf(of);
  expect({ step: time, exposedInputTime, hostTime }).toEqual(expected);
});
