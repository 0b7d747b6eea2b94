/** The trace of a real step: well-formed, nothing overlaps on a track, and it ends where the step ends. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openModel } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { renderTrace } from '../../../server/src/estimate/report/renderTrace.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { gpuMemory } from '../../../server/src/model/gpuMemory.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { bytes, bytesPerSecond } from '../../../server/src/model/units.ts';

interface Event {
  readonly name: string;
  readonly ph: string;
  readonly tid: number;
  readonly ts: number;
  readonly dur: number;
  readonly args?: { readonly name?: string };
}

const model = readFileSync(resolve(import.meta.dirname, '../../../samples/alexnet.onnx'));
const opened = openModel(byteSourceOfBuffer(model), 'alexnet.onnx');

function traceOf(request: ScenarioRequest) {
  const { training, scenario, cluster, cost } = estimateModel(opened, [
    { cluster: 'dgx-1-v100', gpus: 16, batch: 32, precision: 'fp16', ...request },
  ]);
  if (training === undefined || scenario === undefined || cluster === undefined || cost === undefined) {
    throw new Error('the sample is not costed');
  }
  const { traceEvents }: { traceEvents: Event[] } = JSON.parse(renderTrace(training, scenario, cluster));
  const tracks = traceEvents.filter(({ name }) => name === 'thread_name');
  return {
    step: (cost.totals.time.step ?? 0) * 1e6,
    complete: traceEvents.filter((event) => event.ph === 'X'),
    tracks: new Map(tracks.map(({ tid, args }) => [args?.name, tid])),
  };
}

const input = { sampleBytes: bytes(1e5), readRate: bytesPerSecond(1e9) };

describe('lays the step on its tracks', () => {
  test.each([
    ['pytorch-ddp', {}, ['host launches', 'GPU stream', 'NCCL stream']],
    [
      'pytorch-ddp',
      { input },
      ['host launches', 'GPU stream', 'reading and decoding', 'copies of input to GPU'],
    ],
    ['pytorch-ddp', { accumulate: 3 }, ['host launches', 'GPU stream', 'NCCL stream']],
    ['mxnet', {}, ['host launches', 'GPU stream']],
    ['cntk', {}, ['host launches', 'GPU stream']],
    ['pytorch-fsdp', {}, ['host launches', 'GPU stream']],
  ] as const)('%s with %j', (name, more, expected) => {
    const { complete, tracks, step } = traceOf({ ...more, framework: { name, options: {} } });
    for (const title of expected) {
      expect(complete.some(({ tid }) => tid === tracks.get(title))).toBe(true);
    }
    for (const track of tracks.values()) {
      const onTrack = complete.filter((event) => event.tid === track).sort((a, b) => a.ts - b.ts);
      for (const [index, event] of onTrack.entries()) {
        const before = onTrack[index - 1];
        expect(event.ts).toBeGreaterThanOrEqual(0);
        // Times are rounded to the nanosecond.
        if (before !== undefined) expect(event.ts).toBeGreaterThanOrEqual(before.ts + before.dur - 0.002);
      }
    }
    const stream = complete.filter(({ tid }) => tid === tracks.get('GPU stream'));
    const busy = stream.reduce((sum, event) => sum + event.dur, 0);
    expect(busy).toBeLessThanOrEqual(step + 0.1);
  });

  test('the update ends the step', () => {
    const { complete, step } = traceOf({});
    expect(Math.max(...complete.map((event) => event.ts + event.dur))).toBeCloseTo(step, 1);
  });
});

test('memory is a counter by kind whose largest sum is what the step needs', () => {
  const { training, scenario, cluster, cost } = estimateModel(opened, [{ gpus: 8, batch: 32 }]);
  if (training === undefined || scenario === undefined || cluster === undefined || cost === undefined) {
    throw new Error('the sample is not costed');
  }
  const { traceEvents }: { traceEvents: { ph: string; ts: number; args: Record<string, number> }[] } =
    JSON.parse(renderTrace(training, scenario, cluster));
  const counters = traceEvents.filter(({ ph }) => ph === 'C');
  const sums = counters.map(({ args }) => Object.values(args).reduce((total, size) => total + size, 0));
  expect(Math.abs(Math.max(...sums) - gpuMemory(cost).needed)).toBeLessThan(10);
  expect(counters.map(({ ts }) => ts)).toEqual(
    counters.map(({ ts }) => ts).sort((one, other) => one - other),
  );
});

test('events tell what they were made of, where something is known of it', () => {
  const { complete } = traceOf({});
  const messages = complete.filter(({ name }) => /^message \d+ of \d+$/.test(name));
  expect(messages.length).toBeGreaterThan(0);
  for (const { args } of messages)
    expect(args).toMatchObject({ bytes: expect.any(Number), how: expect.any(String) });
});
