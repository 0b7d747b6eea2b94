/** Defaults of releases of PyTorch, by their release notes and sources (`pytorch/releases.ts`). */

import { expect, test } from 'vitest';
import { optionValues, resolveFramework } from '../../server/src/frameworks/registry.ts';
import { chain } from '../support/trainingGraph.ts';

test.each([
  [
    'pytorch-ddp',
    '1.12',
    { 'optimizer-kernels': 'loop', gradients: 'added', attention: 'eager', reentrant: 'true' },
  ],
  [
    'pytorch-ddp',
    '2.0',
    { 'optimizer-kernels': 'foreach', gradients: 'new', attention: 'as-exported', reentrant: 'true' },
  ],
  ['pytorch-ddp', '2.1', { 'attention-kernel': 'flash-attention-1', reentrant: 'false' }],
  ['pytorch-ddp', '2.2', { 'attention-kernel': 'flash-attention-2' }],
  ['pytorch-ddp', '2.9', { 'attention-kernel': 'flash-attention-2' }],
  ['pytorch-ddp', '2.10', { 'attention-kernel': 'newest' }],
  ['pytorch-ddp', '2.14', { 'optimizer-kernels': 'foreach', 'attention-kernel': 'newest' }],
  ['pytorch-fsdp', '1.13', { 'backward-prefetch': 'none' }],
  ['pytorch-fsdp', '2.0', { 'backward-prefetch': 'pre' }],
  ['deepspeed-zero', '1.12', { 'allgather-bucket-size': '5e8', weights: 'half-with-copy' }],
  ['deepspeed-zero', '1.13', { 'allgather-bucket-size': 'all' }],
  ['megatron', '1.13', { 'optimizer-kernels': 'fused', attention: 'fused' }],
  // Its loss was not compiled in December 2024 (pytorch/torchtitan, pull request 755).
  ['torchtitan', '2.6', { 'compile-loss': 'false', 'optimizer-kernels': 'fused' }],
  ['torchtitan', '2.7', { 'compile-loss': 'true' }],
  ['pytorch-fsdp', '2.6', { 'compile-loss': 'true' }],
  ['megatron', '2.0', { 'batch-us': '4000' }],
  ['megatron', '2.1', { 'batch-us': '0' }],
])('%s of PyTorch %s', (name, torch, expected) => {
  const values = optionValues({ name, options: { torch } });
  for (const [option, value] of Object.entries(expected)) expect(values.get(option), option).toBe(value);
});

test('what is given wins over what its release did, in either order', () => {
  for (const options of [
    { torch: '1.13', 'optimizer-kernels': 'fused' },
    { 'optimizer-kernels': 'fused', torch: '1.13' },
  ]) {
    const values = optionValues({ name: 'pytorch-ddp', options });
    expect([values.get('optimizer-kernels'), values.get('gradients')]).toEqual(['fused', 'added']);
  }
});

test.each([
  [
    { torch: '1.13', compile: 'true' },
    [
      '`compile=true` of `pytorch-ddp` does nothing: torch.compile came with PyTorch 2.0, and `torch` is 1.13; leave it out, or set a later `torch`',
    ],
  ],
  [{ torch: '2.0', compile: 'true' }, []],
  [{ torch: '1.13', compile: 'false' }, []],
  [
    { torch: '1.9' },
    [
      'Option `torch` of `pytorch-ddp` is "1.9"; it takes 1.12 or 1.13 or 2.0 or 2.1 or 2.2 or 2.3 or 2.4 or 2.5 or 2.6 or 2.7 or 2.8 or 2.9 or 2.10 or 2.11 or 2.12 or 2.13 or 2.14',
    ],
  ],
])('%j says %j', (options, messages) => {
  const { issues } = resolveFramework({ name: 'pytorch-ddp', options });
  expect(issues.map(({ message }) => message)).toEqual(messages);
});

// torch/_inductor/config.py of each release: `shape_padding` is "0" by default in 2.0 and "1" from 2.1 on; eager mode pads nothing.
test.each<[Readonly<Record<string, string>>, true | undefined]>([
  [{ torch: '2.0', compile: 'true' }, undefined],
  [{ torch: '2.1', compile: 'true' }, true],
  [{ compile: 'reduce-overhead' }, true],
  [{}, undefined],
])('matmuls of %j are padded: %s', (options, expected) => {
  const training = chain([{ class: 'matmul', flops: 1e9, parameters: 60, output: 10 }]);
  const { lower } = resolveFramework({ name: 'pytorch-ddp', options }).behaviour;
  const { operators } = lower(training, 'bf16', 'training');
  const kernels = operators.flatMap((each) => [...(each?.forward ?? []), ...(each?.backwardWeight ?? [])]);
  const matmuls = kernels.filter((kernel) => kernel.class === 'matmul');
  expect(matmuls).toHaveLength(2);
  for (const { environment } of matmuls) expect(environment?.padsMatmuls).toBe(expected);
});
