/** Frozen layers in few bits, and what they do not go with. */

import { expect, test } from 'vitest';
import { type AdaptedScenario, checkAdapters } from '../../../server/src/estimate/scenario/checkAdapters.ts';
import type { Scenario } from '../../../server/src/model/scenario.ts';

const said = (scenario: AdaptedScenario): readonly unknown[] => {
  const messages: unknown[] = [];
  checkAdapters(scenario, (severity, _, message, key) => void messages.push([severity, message, key]));
  return messages;
};
const framework = (name: string): Scenario['framework'] => ({ name, options: {} });
const nf4 = { rank: 8, base: 'nf4' } as const;

test.each([
  ['pytorch-ddp', 'bf16'],
  ['pytorch-fsdp', 'fp16'],
  ['deepspeed-zero', 'fp32'],
  ['horovod', 'tf32'],
  ['torchtitan', 'bf16'],
] as const)('nf4 goes with %s in %s', (name, precision) => {
  expect(said({ lora: nf4, precision, framework: framework(name) })).toEqual([]);
});

test.each([
  ['mxnet', 'fp32', '`base=nf4` is of PyTorch, which mxnet does not run on; leave it out'],
  ['tensorflow', 'fp16', '`base=nf4` is of PyTorch, which tensorflow does not run on; leave it out'],
  [
    'pytorch-ddp',
    'fp8',
    '`base=nf4` is made whole in half precision and multiplied in it, not in fp8; choose bf16',
  ],
  [
    'pytorch-fsdp',
    'nvfp4',
    '`base=nf4` is made whole in half precision and multiplied in it, not in nvfp4; choose bf16',
  ],
] as const)('nf4 does not go with %s in %s', (name, precision, message) => {
  expect(said({ lora: nf4, precision, framework: framework(name) })).toEqual([['error', message, 'lora']]);
});

test('nf4 replaces linear layers of PyTorch, whole', () => {
  expect(said({ lora: nf4, precision: 'bf16', framework: framework('megatron') })).toEqual([
    [
      'error',
      '`base=nf4` replaces linear layers of PyTorch, and megatron has its own; choose pytorch-fsdp',
      'lora',
    ],
  ]);
  const parallel = (tensor: number): AdaptedScenario => ({
    lora: nf4,
    precision: 'bf16',
    framework: framework('pytorch-fsdp'),
    parallel: { tensor },
  });
  expect(said(parallel(1))).toEqual([]);
  expect(said(parallel(2))).toEqual([
    ['error', '`base=nf4` keeps each linear layer whole, which `tp=2` would split; leave out `tp`', 'lora'],
  ]);
});

test.each([undefined, { rank: 8 }])('without it nothing is said: %o', (lora) => {
  const scenario = { precision: 'fp8', framework: framework('mxnet') } as const;
  expect(said(lora === undefined ? scenario : { ...scenario, lora })).toEqual([]);
});
