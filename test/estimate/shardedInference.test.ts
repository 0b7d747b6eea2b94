/** Inference with parameters in shards: they are gathered for forward alone, and nothing else is sent or kept. */

import { describe, expect, test } from 'vitest';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { FrameworkChoice } from '../../server/src/model/scenario.ts';
import { openGraph } from '../support/savedActivations.ts';

const opened = openGraph('samples/gpt2.onnx');

/** Bytes of its parameters in fp32. */
const whole = 4 * 124_439_808;

function costOf(name: string, options: FrameworkChoice['options'] = {}, gpus = 16) {
  const framework = { name, options };
  const { cost } = estimateModel(opened, [
    { cluster: 'dgx-a100', gpus, mode: 'inference', batch: 4, precision: 'bf16', framework },
  ]);
  if (cost === undefined) throw new Error('no cost');
  return cost;
}

test('no gradient is late where there are none', () => {
  const vgg = openGraph('samples/vgg16.onnx');
  const request = { cluster: 'dgx-1-v100', nodes: 4, mode: 'inference', batch: 1 } as const;
  const { cost } = estimateModel(vgg, [{ ...request, framework: { name: 'pytorch-fsdp', options: {} } }]);
  const codes = cost?.findings.map(({ code }) => code);
  expect(codes).toContain('findings/exposed-communication');
  expect(codes).not.toContain('findings/late-gradient');
});

/** Bytes that each keeps of a parameter: bf16 weights are loaded as such, and fp32 ones only where that is asked for. */
describe.each([
  ['pytorch-fsdp', {}, 2],
  ['pytorch-fsdp', { weights: 'fp32' }, 4],
  ['deepspeed-zero', { stage: '3' }, 2],
] as const)('%s', (name, options, bytesPerElement) => {
  const cost = costOf(name, options);
  const { memory, time } = cost.totals;

  test('each GPU keeps its shard, and what it has gathered', () => {
    expect(memory.parameters * 16).toBeCloseTo((whole * bytesPerElement) / 4, 0);
    expect(memory.communicationBuffers).toBeGreaterThan(0);
    expect([memory.gradients, memory.optimizerState]).toEqual([0, 0]);
  });

  test('every sharded parameter is gathered once', () => {
    const sent = cost.messages?.reduce((total, { bytes }) => total + bytes, 0) ?? 0;
    const all = whole / 2;
    expect(sent).toBeLessThanOrEqual(all);
    expect(sent).toBeGreaterThan(0.9 * all);
    expect(cost.messages?.every(({ description }) => description.startsWith('all-gather'))).toBe(true);
  });

  test('forward waits for what is not there yet', () => {
    expect(time.communication).toBeGreaterThan(0);
    expect(time.exposedCommunication).toBeGreaterThan(0);
    expect((time.step ?? 0) - (time.forward ?? 0)).toBeGreaterThan(0);
    expect(costOf(name, options, 1).messages).toBeUndefined();
  });
});

test.each([
  ['pytorch-ddp', {}, 2],
  ['deepspeed-zero', { stage: '2' }, 2],
] as const)('%s %o keeps parameters whole and sends nothing', (name, options, bytesPerElement) => {
  const cost = costOf(name, options);
  expect(cost.messages).toBeUndefined();
  expect(cost.totals.memory.parameters).toBe((whole * bytesPerElement) / 4);
});

test('what FSDP keeps whole from forward to backward was gathered before, and lies beside its shard', () => {
  const cost = costOf('pytorch-fsdp', { sharding: 'shard-grad-op' });
  expect(cost.messages).toBeUndefined();
  expect(cost.totals.memory.parameters).toBe((whole * 2) / 4 / 16);
  expect(cost.totals.memory.communicationBuffers).toBe((whole * 2) / 4);
});

/** At the head, whose own copy is the last: two linear layers of attention and two of the network in each of 12 blocks. */
test('autocast holds a copy of the weights of products to the end, as in training', () => {
  const copied = 2 * (12 * 12 * 768 ** 2 + 768 * 50_257);
  const { peakAt, parameters } = costOf('pytorch-ddp', { weights: 'fp32' }).totals.memory;
  expect([parameters, peakAt.parameters]).toEqual([whole, whole + copied]);
});
