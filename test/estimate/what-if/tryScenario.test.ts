/** What a change would come to: the same as if it were written. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openModel } from '../../../server/src/analysis/openModel.ts';
import { estimateModel, type ModelEstimate } from '../../../server/src/estimate/estimateModel.ts';
import { whatIfHtml } from '../../../server/src/estimate/report/whatIfHtml.ts';
import { tryScenario } from '../../../server/src/estimate/what-if/tryScenario.ts';
import { whatIfChoices } from '../../../server/src/estimate/what-if/whatIfChoices.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import type { ScenarioChange } from '../../../server/src/model/scenarioChange.ts';
import { seconds } from '../../../server/src/model/units.ts';

const opened = openModel(byteSourceOfBuffer(readFileSync('samples/gpt2.onnx')), 'gpt2.onnx');
const base: ScenarioRequest = {
  cluster: 'dgx-a100',
  gpus: 16,
  batch: 4,
  precision: 'bf16',
  optimizer: 'adamw',
  framework: { name: 'pytorch-ddp', options: { 'bucket-mb': '50' } },
};
const written = estimateModel(opened, [base]);

const stepOf = (estimate: ModelEstimate | undefined): number | null | undefined =>
  estimate?.cost?.totals.time.step;

describe('a change that is tried costs what it does when it is written', () => {
  it.each<[ScenarioChange, ScenarioRequest]>([
    [{ batch: 8 }, { batch: 8 }],
    [{ gpus: 64 }, { gpus: 64 }],
    [{ gpus: 4 }, { gpus: 4 }],
    [{ cluster: 'dgx-h100' }, { cluster: 'dgx-h100' }],
    [{ precision: 'fp32' }, { precision: 'fp32' }],
    [{ checkpoint: 'block' }, { checkpoint: 'block' }],
    [{ lora: { rank: 16 } }, { lora: { rank: 16 } }],
    [
      { lora: { rank: 8, layers: 'fc+proj', dropout: 0.05 } },
      { lora: { rank: 8, layers: ['fc', 'proj'], dropout: 0.05 } },
    ],
    [{ framework: 'pytorch-fsdp' }, { framework: { name: 'pytorch-fsdp', options: {} } }],
    [
      { framework: 'pytorch-ddp,bucket-mb=10', gpus: 32, batch: 2, cluster: 'dgx-1-v100', precision: 'fp16' },
      {
        framework: { name: 'pytorch-ddp', options: { 'bucket-mb': '10' } },
        gpus: 32,
        batch: 2,
        cluster: 'dgx-1-v100',
        precision: 'fp16',
      },
    ],
  ])('%j', (change, request) => {
    const tried = tryScenario(written, change);
    expect(stepOf(tried)).toBe(stepOf(estimateModel(opened, [{ ...base, ...request }])));
    expect(stepOf(tried)).not.toBe(stepOf(written));
    expect(tried?.cost?.totals.memory.peak).toBe(
      estimateModel(opened, [{ ...base, ...request }]).cost?.totals.memory.peak,
    );
  });
});

it('is the estimate itself without a change', () => {
  expect(tryScenario(written, {})).toBe(written);
});

it('takes a batch per GPU in the place of one over all, and leaves a measured step out', () => {
  const { batch: _, ...others } = base;
  const whole = estimateModel(opened, [{ ...others, globalBatch: 64, measuredStep: seconds(1) }]);
  const tried = tryScenario(whole, { batch: 8 });
  expect(tried?.scenario).toMatchObject({ batchPerGpu: 8, gpus: 16 });
  expect(tried?.scenario).not.toHaveProperty('globalBatch');
  expect(tried?.scenario).not.toHaveProperty('measuredStep');
});

it('says what is wrong with a scenario that there is none of', () => {
  const tried = tryScenario(written, { cluster: 'nowhere' });
  expect(tried?.cost).toBeUndefined();
  expect(tried?.issues.map(({ code }) => code)).toContain('scenario/unknown-cluster');
});

it('takes adapters away, and says what is wrong with a text of them', () => {
  const adapted = estimateModel(opened, [{ ...base, lora: { rank: 16 } }]);
  expect(stepOf(tryScenario(adapted, { batch: 8 }))).toBe(
    stepOf(estimateModel(opened, [{ ...base, batch: 8, lora: { rank: 16 } }])),
  );
  expect(stepOf(tryScenario(adapted, { lora: null }))).toBe(stepOf(written));
  const wrong = tryScenario(written, { lora: { rank: 'half' } });
  expect(wrong?.costed).toBe(false);
  expect(wrong?.issues.map(({ message }) => message)).toEqual([expect.stringMatching(/rank/)]);
});

it.each([
  [{ rank: 16 }, '16'],
  [{ rank: 8, layers: ['q_proj', 'v_proj'], dropout: 0.05 }, 'rank=8,layers=q_proj+v_proj,dropout=0.05'],
] as const)('writes adapters as they are read: %j', (lora, text) => {
  const choices = whatIfChoices(estimateModel(opened, [{ ...base, lora }]));
  expect(choices.find(({ key }) => key === 'lora')?.value).toBe(text);
});

it('offers the values of now among those to choose from', () => {
  const choices = whatIfChoices(written);
  expect(choices.map(({ key, value }) => [key, value])).toEqual([
    ['cluster', 'dgx-a100'],
    ['gpus', '16'],
    ['batch', '4'],
    ['precision', 'bf16'],
    ['framework', 'pytorch-ddp,bucket-mb=50'],
    ['checkpoint', 'none'],
    ['lora', ''],
  ]);
  for (const { kind, options, value } of choices)
    if (kind !== 'text') expect(options.map((option) => option.value)).toContain(value);
  const batches = choices.find(({ key }) => key === 'batch')?.options.map(({ value }) => Number(value)) ?? [];
  expect(batches).toContain(written.cost?.totals.memory.largestBatch);
  // What the GPU does not compute in is not offered.
  const v100 = whatIfChoices(estimateModel(opened, [{ ...base, cluster: 'dgx-1-v100', precision: 'fp16' }]));
  expect(v100.find(({ key }) => key === 'precision')?.options.map(({ value }) => value)).not.toContain('fp8');
});

it('has no framework and no checkpointing in inference, and no batch where the model fixes its own', () => {
  const inference = whatIfChoices(estimateModel(opened, [{ ...base, mode: 'inference' }]));
  expect(inference.map(({ key }) => key)).toEqual(['cluster', 'gpus', 'batch', 'precision']);
  const fixed = openModel(
    byteSourceOfBuffer(Buffer.from('inputs:\n  x: float32[4, 64]\nlayers:\n  - fc: Linear(64, 32)\n')),
    'fixed.layers.yaml',
  );
  const choices = whatIfChoices(estimateModel(fixed, [{ cluster: 'dgx-a100', gpus: 8 }]));
  expect(choices.map(({ key }) => key)).not.toContain('batch');
  expect(choices.map(({ key }) => key)).toContain('gpus');
});

it('is a row of controls that know what is written', () => {
  const tried = tryScenario(written, { batch: 8 });
  const values = Object.fromEntries(whatIfChoices(written).map(({ key, value }) => [key, value]));
  const html = whatIfHtml({ choices: tried ? whatIfChoices(tried) : [], written: values });
  expect(html).toMatch(/name="batch" data-written="4"[^>]* aria-valuetext="8"/);
  expect(html).toMatch(/<option value="dgx-a100" selected>/);
  expect(html).toMatch(/id="keep">/);
  const same = whatIfHtml({ choices: whatIfChoices(written), written: values });
  expect(same).toMatch(/id="keep" disabled>/);
  const evil = whatIfHtml({
    choices: [
      {
        key: 'framework',
        title: 'x',
        value: '"><script>',
        options: [{ value: '<b>', label: '<b>' }],
        kind: 'text',
      },
    ],
    written: {},
  });
  expect(evil).not.toMatch(/<script>|<b>/);
});

it('counts nodes where a cluster has processors alone, and gives long names a whole row', () => {
  const titles = (cluster: string) =>
    whatIfChoices(estimateModel(opened, [{ cluster, gpus: 4, batch: 1 }])).map(({ title }) => title);
  expect(titles('cpu-10gbe').slice(0, 3)).toEqual(['Cluster', 'CPU nodes', 'Batch per CPU node']);
  expect(titles('dgx-h100').slice(0, 3)).toEqual(['Cluster', 'GPUs', 'Batch per GPU']);
  const page = whatIfHtml({ choices: whatIfChoices(written), written: {} });
  expect([...page.matchAll(/<label class="long"><span>([^<]*)/g)].map(([, title]) => title)).toEqual([
    'Cluster',
    'Framework and options',
    'LoRA: rank and options',
  ]);
  expect([...page.matchAll(/<label[^>]*><span>([^<]*)/g)].at(-1)?.[1]).toBe('LoRA: rank and options');
});
