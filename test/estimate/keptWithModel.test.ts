/** What is kept with a model between two costings never changes a cost. */

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel, type ModelEstimate } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { frameworks } from '../../server/src/frameworks/registry.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

const file = 'samples/gpt2.layers.yaml';
const bytes = readFileSync(file);
const open = () => openModel(byteSourceOfBuffer(bytes), file);

const request: fc.Arbitrary<ScenarioRequest> = fc.record(
  {
    cluster: fc.constantFrom('dgx-h100', 'k80-10gbe', 'rtx-3090'),
    gpus: fc.constantFrom(1, 4, 16),
    batch: fc.constantFrom(1, 8, 512),
    precision: fc.constantFrom('fp32', 'bf16'),
    optimizer: fc.constantFrom('sgd', 'adamw'),
    mode: fc.constantFrom('training', 'inference'),
    checkpoint: fc.constantFrom('block', 'none'),
    accumulate: fc.constantFrom(1, 2),
    framework: fc.constantFrom(
      ...frameworks.map(({ name }) => ({ name, options: {} })),
      { name: 'pytorch-ddp', options: { compile: 'true' } },
      { name: 'pytorch-ddp', options: { 'memory-format': 'channels-last' } },
    ),
  },
  { requiredKeys: ['cluster', 'gpus'] },
);

/** All of a cost but what the allocator reserves, which is placed anew wherever it is asked for, and takes long. */
const told = ({ cost }: ModelEstimate): string =>
  JSON.stringify(cost, (key, value) => (key === 'reserved' ? undefined : value));

test('a model that has been costed for other scenarios costs what it does freshly opened', () => {
  const kept = open();
  fc.assert(
    fc.property(request, (asked) => {
      expect(told(estimateModel(kept, [asked]))).toBe(told(estimateModel(open(), [asked])));
    }),
    { numRuns: 20 },
  );
});

test.each([
  { name: 'horovod', options: {} },
  { name: 'mg-wfbp', options: {} },
  { name: 'cntk', options: { learner: 'block-momentum' } },
])('$name, which asks what its steps are like, is asked again for another batch', (framework) => {
  const kept = open();
  const exchanges = [1, 512].map((batch) => {
    const asked = { cluster: 'k80-10gbe', gpus: 16, batch, framework };
    const cost = told(estimateModel(kept, [asked]));
    expect(cost).toBe(told(estimateModel(open(), [asked])));
    return cost;
  });
  expect(exchanges[0]).not.toBe(exchanges[1]);
});
