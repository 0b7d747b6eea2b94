/** What is asked for and changes nothing, in the words of the message: what would have to be otherwise was costed. */

import { describe, expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { optionsWithoutEffect } from '../../server/src/estimate/optionEffects.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { bytes, bytesPerSecond, seconds } from '../../server/src/model/units.ts';

/** Three layers that are no blocks, and nothing that tokens come out of. */
const flat = `dims: { width: 64 }
inputs: { x: "float32[batch, width]" }
layers:
  - fc: Linear(64)
  - act: ReLU()
  - out: Linear(32)
`;
const blocks = `dims: { seq: 64, d: 64 }
inputs: { x: "float32[batch, seq, d]" }
layers:
  - h: TransformerEncoderLayer(d, 4, batch_first=True, norm_first=True) * 4
  - c: Conv1d(64, kernel_size=3, padding=1)
`;

function found(spec: string, ...requests: readonly ScenarioRequest[]) {
  const opened = openLayerSpec(spec, 'm.layers.yaml');
  return optionsWithoutEffect(estimateModel(opened, [...requests, opened.scenario]));
}
const said = (spec: string, ...requests: readonly ScenarioRequest[]): readonly string[] =>
  found(spec, ...requests).map(({ message }) => message);

const one: ScenarioRequest = { cluster: 'a100-sxm-80gb', gpus: 1, batch: 8, precision: 'fp32' };
const eight: ScenarioRequest = { cluster: 'dgx-a100', gpus: 8, batch: 8, precision: 'fp32' };
const named = (name: string, options: Readonly<Record<string, string>> = {}): ScenarioRequest => ({
  framework: { name, options },
});

describe('says where it would have an effect', () => {
  test.each<[ScenarioRequest, string]>([
    [
      { ...one, mode: 'inference', optimizer: 'sgd' },
      '`optimizer: sgd` has no effect in inference; it has one in training',
    ],
    [
      { ...one, mode: 'inference', accumulate: 4 },
      '`accumulate: 4` has no effect in inference; it has one in training',
    ],
    [
      { ...one, mode: 'inference', checkpoint: 'block' },
      '`checkpoint: block` has no effect in inference; it has one in training',
    ],
    [
      { ...one, ...named('horovod') },
      '`framework: horovod` has no effect on one GPU; it has one on several GPUs',
    ],
    [
      { ...one, workers: { straggler: 1.5 } },
      '`straggler=1.5` has no effect on one GPU; it has one on several GPUs',
    ],
    [
      { ...one, workers: { others: { gpu: 'k80', count: 1 } } },
      '`other-gpu` has no effect on one GPU; it has one on several GPUs',
    ],
    // Nodes with four GPUs; and with one, on a network.
    [
      { cluster: 'k80-10gbe', gpus: 1, batch: 8, ...named('pytorch-ddp', { 'bucket-mb': '3' }) },
      '`bucket-mb=3` has no effect on one GPU; it has one on 4 GPUs',
    ],
    [
      { cluster: 'blue-waters-xk', gpus: 1, batch: 8, workers: { straggler: 1.5 } },
      '`straggler=1.5` has no effect on one GPU; it has one on 2 nodes',
    ],
    [
      { ...eight, ...named('pytorch-fsdp', { sharding: 'hybrid' }) },
      '`sharding=hybrid` has no effect on one node; it has one on 2 nodes',
    ],
    [
      { ...eight, precision: 'bf16', ...named('pytorch-ddp', { 'conv-tf32': 'false' }) },
      '`conv-tf32=false` has no effect in bf16; it has one in fp32',
    ],
    [
      { ...one, ...named('pytorch-ddp', { reentrant: 'true' }) },
      '`reentrant=true` has no effect without checkpointing; it has one with `checkpoint: block`',
    ],
    [
      { ...one, optimizer: 'none', ...named('pytorch-ddp', { 'optimizer-kernels': 'fused' }) },
      '`optimizer-kernels=fused` has no effect without an optimizer; it has one with `optimizer: adamw`',
    ],
  ])('%j', (request, message) => {
    expect(said(blocks, request)).toEqual([message]);
  });

  test('two circumstances together, and no third', () => {
    expect(said(blocks, { ...eight, mode: 'inference', ...named('byteps', { servers: '3' }) })).toEqual([
      '`framework: byteps` has no effect in inference; it has one in training',
      '`servers=3` has no effect in inference, on one node; it has one in training, on 2 nodes',
    ]);
  });

  test('and what it sets, where no part of the step depends on it', () => {
    expect(said(flat, { ...one, ...named('pytorch-ddp', { reentrant: 'true' }) })).toEqual([
      '`reentrant=true` has no effect: no part of this step depends on it; leave it out. What it sets: with checkpointing: true recomputes a block to its end (use_reentrant=True, and PyTorch before 2.1); false stops when backward has what it needs',
    ]);
  });

  test.each<[ScenarioRequest, string]>([
    [{ loss: 'none' }, 'loss: none'],
    [{ mode: 'inference', checkpoint: 'block' }, 'checkpoint: block'],
    [{ input: { sampleBytes: bytes(10), source: 'local' } }, 'source=local'],
    [{ input: { decodeRate: 10, readRate: bytesPerSecond(2.5e9) } }, 'read-gbs=2.5'],
  ])('%j: no part of the step depends on it', (request, text) => {
    expect(said(flat, { ...eight, ...request })).toEqual([
      `\`${text}\` has no effect: no part of this step depends on it; leave it out`,
    ]);
  });
});

test('names what it is about, so that an editor can mark it; thresholds are no mistake', () => {
  const of = (request: ScenarioRequest) =>
    found(flat, { ...one, ...request }).map(({ code, severity, scenarioKey, scenarioPart }) => [
      code,
      severity,
      scenarioKey,
      scenarioPart,
    ]);
  expect(of({ loss: 'none' })).toEqual([['scenario/no-effect', 'warning', 'loss', undefined]]);
  expect(of(named('naive'))).toEqual([['scenario/no-effect', 'warning', 'framework', 'name']]);
  expect(of({ workers: { spread: 0.1 } })).toEqual([['scenario/no-effect', 'warning', 'workers', 'spread']]);
  expect(of({ thresholds: { 'late-gradient': 0.9 } })).toEqual([
    ['scenario/no-effect', 'information', 'thresholds', 'late-gradient'],
  ]);
  expect(said(flat, { ...one, thresholds: { 'late-gradient': 0.9 } })).toEqual([
    '`late-gradient=0.9` changes no finding of this step',
  ]);
});

describe('says nothing', () => {
  test.each<[string, ScenarioRequest]>([
    ['of what is asked of every step', { ...one }],
    ['of one node and one GPU', { ...one, nodes: 1 }],
    [
      'of what is so where nobody asks',
      { ...one, mode: 'inference', checkpoint: 'none', loss: 'auto', accumulate: 1 },
    ],
    ['of the default framework', { ...one, ...named('pytorch-ddp') }],
    ['of the default of an option', { ...one, ...named('pytorch-ddp', { 'bucket-mb': '25' }) }],
    ['of what is so by default', { ...one, ...named('pytorch-ddp'), optimizer: 'adamw', precision: 'tf32' }],
    [
      'of what changes the time',
      { ...eight, ...named('horovod', { 'fusion-mb': '3' }), workers: { straggler: 1.5 } },
    ],
    ['of what changes memory alone', { ...one, optimizer: 'momentum' }],
    ['of a time that was measured', { ...one, measuredStep: seconds(1) }],
    ['of a price', { ...one, run: { samples: 100, epochs: 1, price: 2, pue: 1.2, start: seconds(3) } }],
    ['of a dimension', { ...one, dimensions: { width: 32 } }],
    ['of samples that are read', { ...one, input: { sampleBytes: bytes(10) } }],
    ['of a threshold that a finding passes', { ...one, thresholds: { 'launch-bound': 1 } }],
  ])('%s', (_, request) => {
    expect(said(flat, request)).toEqual([]);
  });

  test.each<[string, ScenarioRequest]>([
    ['no blocks', { ...one, checkpoint: 'block' }],
    ['no experts that are shared', { ...eight, parallel: { expertImbalance: 2 } }],
    ['no such dimension', { ...one, dimensions: { nope: 3 } }],
  ])('that was said already: %s', (_, request) => {
    const { issues } = estimateModel(openLayerSpec(flat, 'm.layers.yaml'), [request]);
    expect(issues.filter(({ code }) => code.startsWith('scenario/'))).toHaveLength(1);
    expect(said(flat, request)).toEqual([]);
  });

  test('of a step that is not costed', () => {
    expect(said(flat, { ...one, cluster: 'no-such-cluster', loss: 'none' })).toEqual([]);
  });
});

describe('of several requests', () => {
  const inference: ScenarioRequest = { ...one, mode: 'inference' };
  const sgd = '`optimizer: sgd` has no effect in inference; it has one in training';

  test('the first that asks for something is judged', () => {
    expect(said(flat, { ...inference, optimizer: 'sgd' }, { optimizer: 'momentum' })).toEqual([sgd]);
    expect(said(flat, inference, { optimizer: 'sgd' })).toEqual([sgd]);
  });

  test('a spec is judged where nothing was asked before it', () => {
    const spec = `${flat}scenario: { cluster: a100-sxm-80gb, gpus: 1, mode: inference, optimizer: sgd }\n`;
    expect(said(spec)).toEqual([sgd]);
    expect(said(spec, {})).toEqual([sgd]);
    expect(said(spec, { batch: 4 })).toEqual([]);
    // It stands on the line of the spec.
    expect(found(spec)[0]?.span?.start).toBeGreaterThan(spec.indexOf('scenario:'));
  });

  test('dimensions and thresholds are asked for one by one', () => {
    const below: ScenarioRequest = { thresholds: { 'late-gradient': 0.9, 'small-messages': 0.9 } };
    expect(said(flat, { ...one, thresholds: { 'late-gradient': 0.8 } }, below)).toEqual([
      '`late-gradient=0.8` changes no finding of this step',
      '`small-messages=0.9` changes no finding of this step',
    ]);
  });

  test('the default framework is asked for where another request asks for another', () => {
    const below = { ...one, ...named('horovod') };
    expect(said(flat, named('horovod'), below)).toEqual([]);
    expect(said(flat, named('naive'), below)).toEqual([
      '`framework: naive` has no effect on one GPU; it has one on several GPUs',
    ]);
  });
});
