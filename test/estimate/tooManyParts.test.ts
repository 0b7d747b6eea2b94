import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readFrameworkDescription } from '../../server/src/formats/framework/readFrameworkDescription.ts';
import type { FrameworkChoice, ScenarioRequest } from '../../server/src/model/scenario.ts';

/** 1.6 billion parameters. */
const opened = openModel(
  byteSourceOfBuffer(
    Buffer.from('inputs: { x: "float32[2, 20000]" }\nlayers:\n  - l: Linear(20000, bias=False) * 4\n'),
  ),
  'wide.layers.yaml',
);
const framework = (name: string, options: Readonly<Record<string, string>> = {}): FrameworkChoice => ({
  name,
  options,
});
const described = (partMiB: number): FrameworkChoice => {
  const { description } = readFrameworkDescription(`name: own\ngradients: { partMiB: ${partMiB} }\n`);
  if (description === undefined) throw new Error('the description was not read');
  return { name: './own.yaml', options: {}, description };
};

test.each<[string, FrameworkChoice, Partial<ScenarioRequest>, string | undefined]>([
  ['BytePS, 1,563 parts', framework('byteps'), {}, undefined],
  [
    'BytePS, small parts',
    framework('byteps', { 'partition-mb': '0.01' }),
    {},
    '640,000 parts of at most 10,000',
  ],
  ['BytePS on one GPU', framework('byteps', { 'partition-mb': '0.01' }), { gpus: 1 }, undefined],
  ['BytePS in inference', framework('byteps', { 'partition-mb': '0.01' }), { mode: 'inference' }, undefined],
  [
    'ByteScheduler, small parts',
    framework('bytescheduler', { 'partition-elements': '1000' }),
    {},
    '1,600,000 parts of at most 4,000',
  ],
  ['a user-defined framework', described(64), {}, undefined],
  ['a user-defined framework, small parts', described(1 / 64), {}, '390,628 parts of at most 16,384'],
])('%s', (_, choice, more, refusal) => {
  const { cost, issues } = estimateModel(opened, [
    { cluster: 'dgx-a100', gpus: 16, precision: 'fp32', framework: choice, ...more },
  ]);
  const errors = issues.filter(({ severity }) => severity === 'error').map(({ message }) => message);
  expect(errors).toEqual(refusal === undefined ? [] : [expect.stringContaining(refusal)]);
  expect(cost === undefined).toBe(refusal !== undefined);
});
