/** What the status bar says, by value. */

import { expect, test } from 'vitest';
import { summaryOf } from '../../server/src/lsp/summary.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { bytes } from '../../server/src/model/units.ts';
import { viewOf } from '../language/fixture.ts';

const text = `name: one
inputs:
  x: float32[batch, 512]
layers:
  - fc: Linear(512, 512)
  - out: Linear(512, 512)
`;

const sixteen = { cluster: 'dgx-a100', gpus: 16, precision: 'bf16' } as const;

test.each<[ScenarioRequest, object]>([
  // A node of DGX A100 has 8 GPUs, however many are used.
  [
    { ...sixteen, batch: 4 },
    { gpus: 16, gpusPerNode: 8, batch: 4, globalBatch: 64, framework: 'pytorch-ddp' },
  ],
  [
    { ...sixteen, gpus: 4, batch: 4 },
    { gpus: 4, gpusPerNode: 8, batch: 4, globalBatch: 16 },
  ],
  [
    { ...sixteen, batch: 4, accumulate: 3 },
    { batch: 4, globalBatch: 192 },
  ],
  [
    { ...sixteen, globalBatch: 80 },
    { batch: 5, globalBatch: 80 },
  ],
  // Two GPUs share a copy: eight copies of the model take a batch each.
  [
    { ...sixteen, batch: 4, parallel: { tensor: 2 } },
    { batch: 4, globalBatch: 32, layout: 'tp2 · dp8' },
  ],
])('of %j', (request, expected) => {
  const { summary, state, detail } = summaryOf(viewOf(text, request));
  expect(summary).toMatchObject({ cluster: 'dgx-a100', precision: 'bf16', ...expected });
  expect([state, detail]).toEqual(['exact', 'every operator is costed']);
});

test.each<[string, ScenarioRequest, string, RegExp]>([
  [`${text}  - odd: onnx.Unheard()\n`, {}, 'at-least', /^totals are lower bounds: 1 unknown, first odd/],
  // All operators are known, and how fast a sample is read is not.
  [text, { input: { sampleBytes: bytes(1e6) } }, 'at-least', /^the step is a lower bound; unknown: /],
])('a bound is said to be one', (source, more, state, detail) => {
  const found = summaryOf(viewOf(source, { cluster: 'a100-sxm-80gb', gpus: 1, batch: 4, ...more }));
  expect(found.state).toBe(state);
  expect(found.detail).toMatch(detail);
});

test('what the model says itself is fixed', () => {
  const own = `${text}scenario: { precision: fp16, gpus: 2 }\n`;
  const { summary } = summaryOf(viewOf(own, { ...sixteen, batch: 4 }));
  expect(summary?.fixedByModel).toEqual(['precision', 'gpus']);
});

test('parts are those of a file of several models', () => {
  expect(summaryOf(viewOf(text, sixteen))).not.toHaveProperty('models');
});

/** What is wrong is the first error, whatever else is told before it. */
test.each<[string, string, ScenarioRequest, RegExp]>([
  ['a cluster that is not known', `dims: { unread: 3 }\n${text}`, { cluster: 'nowhere' }, /`nowhere`/],
])('nothing is costed: %s', (_, source, request, detail) => {
  const found = summaryOf(viewOf(source, { ...sixteen, batch: 4, ...request }));
  expect(found).toEqual({ summary: undefined, state: 'no-cost', detail: expect.stringMatching(detail) });
});
