/** The trace of a real step: well-formed, nothing overlaps on a track, and it ends where the step ends. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { openModel } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { renderTrace } from '../../../server/src/estimate/report/renderTrace.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';

interface Event {
  readonly ph: string;
  readonly tid: number;
  readonly ts: number;
  readonly dur: number;
}

const model = readFileSync(resolve(import.meta.dirname, '../../../samples/alexnet.onnx'));

it('lays the step on its tracks', () => {
  const opened = openModel(byteSourceOfBuffer(model), 'alexnet.onnx');
  const { training, scenario, cluster, cost } = estimateModel(opened, [
    { cluster: 'dgx-1-v100', gpus: 16, batch: 32, precision: 'fp16' },
  ]);
  if (training === undefined || scenario === undefined || cluster === undefined || cost === undefined) {
    throw new Error('the sample is not costed');
  }
  const { traceEvents }: { traceEvents: Event[] } = JSON.parse(renderTrace(training, scenario, cluster));
  const complete = traceEvents.filter((event) => event.ph === 'X');
  for (const track of [1, 2]) {
    const onTrack = complete.filter((event) => event.tid === track).sort((a, b) => a.ts - b.ts);
    expect(onTrack.length).toBeGreaterThan(1);
    for (const [index, event] of onTrack.entries()) {
      const before = onTrack[index - 1];
      // Times are rounded to the nanosecond.
      if (before !== undefined) expect(event.ts).toBeGreaterThanOrEqual(before.ts + before.dur - 0.002);
    }
  }
  const end = Math.max(...complete.map((event) => event.ts + event.dur));
  expect(end).toBeCloseTo((cost.totals.time.step ?? 0) * 1e6, 1);
});
