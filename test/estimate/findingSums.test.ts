/** Findings whose limit is on a sum: the sum decides, however small its parts are. */

import { expect, it, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { formatTime } from '../../server/src/model/format.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import type { Finding, StepCost } from '../../server/src/model/stepCost.ts';

const costOf = (inputs: string, layers: readonly string[], request: ScenarioRequest): StepCost => {
  const text = `inputs: { x: "${inputs}" }\nlayers:\n${layers.map((layer) => `  - ${layer}\n`).join('')}`;
  const { cost, issues } = estimateModel(openLayerSpec(text, 'm.layers.yaml'), [request]);
  if (cost === undefined) throw new Error(JSON.stringify(issues));
  return cost;
};

const found = ({ findings }: StepCost, code: Finding['code']): readonly Finding[] =>
  findings.filter((finding) => finding.code === code);

const many = ['fc: Linear(64, bias=False) * 200'];

it.each(['caffe-mpi', 'bytescheduler', 'horovod,fusion-mb=0,launch-us=1'])(
  'names the layers that wait under %s',
  (named) => {
    const [name = '', ...options] = named.split(',');
    const framework = { name, options: Object.fromEntries(options.map((option) => option.split('='))) };
    const cost = costOf('float32[batch, 64]', many, { cluster: 'k80-10gbe', gpus: 16, batch: 8, framework });
    const { exposedCommunication, step } = cost.totals.time;
    expect((exposedCommunication ?? 0) / (step ?? 1)).toBeGreaterThan(0.9);
    expect(cost.messages?.every(({ exposed }) => exposed < 0.01 * (step ?? 0))).toBe(true);
    const findings = found(cost, 'findings/exposed-communication');
    expect(findings).toHaveLength(1);
    expect(findings[0]?.message).toMatch(
      /^9\d % of the step waits for .*\. No message makes most of it: 1[89]\d of 200 are exposed, 4\d % by fc\[\d+\] \(0\.5 %\), .* and \d\d more layers$/,
    );
    expect(findings[0]?.layer).toMatch(/^fc\[\d+\]$/);
  },
);

it('names single messages where they make most of the wait', () => {
  const cost = costOf('float32[batch, 4096]', ['a: Linear(4096)', 'b: Linear(4096)'], {
    cluster: 'k80-10gbe',
    gpus: 16,
    batch: 8,
  });
  const [finding] = found(cost, 'findings/exposed-communication');
  expect(finding?.message).toMatch(/The last message \(a, .*\) starts after backward has ended/);
});

it.each(['byteps', 'bytescheduler'])('finds a late gradient that %s sends in parts', (name) => {
  const cost = costOf(
    'int64[batch, 64]',
    ['e: Embedding(250000, 512)', 'h: Linear(512) * 4', 'm: mean(dim=1)', 'f: Linear(10)'],
    { cluster: 'dgx-1-v100', nodes: 4, batch: 8, framework: { name, options: {} } },
  );
  const [finding] = found(cost, 'findings/late-gradient');
  expect(finding?.layer).toBe('e');
  expect(finding?.message).toMatch(
    /^The gradient of e is ready only when backward ends\. Sending it takes \S+ ms, (all|\S+ ms) of it exposed, \d\d % of the step\. It is 99 % of all gradient bytes/,
  );
});

test.each(['pytorch-ddp', 'horovod', 'byteps', 'pytorch-fsdp'])(
  'under %s a gradient that comes late has the figures of its line, and each cause one finding',
  (name) => {
    // The message of the table carries gradients of other layers too.
    const cost = costOf(
      'int64[batch, 1024]',
      ['wte: Embedding(50257, 768)', 'h: TransformerEncoderLayer(768, 12, batch_first=True) * 12'],
      { cluster: 'g5-48xlarge', gpus: 64, batch: 8, framework: { name, options: {} } },
    );
    const [late, ...others] = found(cost, 'findings/late-gradient');
    expect(others).toEqual([]);
    const exposed = found(cost, 'findings/exposed-communication');
    expect(exposed.length).toBeLessThanOrEqual(1);
    if (late === undefined) return expect(exposed).toHaveLength(1);
    for (const { message } of exposed) expect(message).toMatch(/^Another /);
    const wte = cost.layers.find((layer) => layer.name === 'wte');
    const [communication, waiting] = [wte?.time.communication, wte?.time.exposedCommunication];
    expect(waiting).toBeGreaterThanOrEqual(0.5 * (cost.totals.time.exposedCommunication ?? Number.NaN));
    // Of sharded parameters the table is gathered in forward, too, which its line has and its gradient has not.
    if (name === 'pytorch-fsdp') return;
    const [sends, waits] = [formatTime(communication ?? null), formatTime(waiting ?? null)];
    expect(late.message).toContain(
      `Sending it takes ${sends}, ${waits === sends ? 'all' : waits} of it exposed`,
    );
  },
);

it('says of the way of a message what takes time', () => {
  const servers = costOf('float32[batch, 512]', ['a: Linear(512)', 'b: Linear(512)'], {
    cluster: 'cpu-10gbe',
    gpus: 4,
    batch: 8,
    framework: { name: 'mxnet', options: {} },
  });
  expect(servers.messages?.map(({ description }) => description.replace(/ over .*/, ''))).toEqual(
    servers.messages?.map(() => 'push and pull'),
  );
});

test('kinds of waiting for other workers count together', () => {
  const cost = (workers: number, batch: number): StepCost =>
    costOf('float32[batch, 64, 256, 256]', ['conv: Conv2d(64, kernel_size=3, padding=1) * 8'], {
      cluster: 'dgx-a100',
      gpus: 8,
      globalBatch: batch,
      workers: { imbalance: workers },
    });
  const messages = (each: StepCost): readonly string[] =>
    found(each, 'findings/load-imbalance').map(({ message }) => message);
  expect(messages(cost(1.04, 200))).toEqual([]);
  expect(messages(cost(1, 193))).toEqual([]);
  expect(messages(cost(1.04, 193))).toHaveLength(1);
});

it.each([
  // A small model is one bucket, which is ready when backward ends: DDP overlaps already.
  ['pytorch-ddp', {}, /^Raise the batch|^No batch/],
  ['horovod', {}, /^Raise the batch|^No batch/],
  ['deepspeed-zero', { stage: '1' }, /^Let communication overlap with backward \(overlap-comm=true\)$/],
  ['naive', {}, /^Use a framework that overlaps communication with backward, such as pytorch-ddp$/],
])('advises %s what it does not do yet', (name, options, fix) => {
  const cost = costOf('float32[batch, 512]', ['a: Linear(512)', 'b: Linear(512)'], {
    cluster: 'dgx-1-v100',
    nodes: 2,
    batch: 1,
    framework: { name, options },
  });
  const findings = found(cost, 'findings/exposed-communication');
  expect(findings.map((finding) => finding.fix)).not.toEqual([]);
  for (const finding of findings) expect(finding.fix).toMatch(fix);
});
