import { expect, test } from 'vitest';
import { builtInClusters } from '../../server/src/hardware/clusters.ts';
import { didYouMeanOneOf, likelyNames } from '../../server/src/model/likelyNames.ts';
import { meantPrecision } from '../../server/src/model/precisionNames.ts';

const frameworks = ['pytorch-ddp', 'pytorch-fsdp', 'deepspeed-zero', 'pytorch-dp', 'horovod', 'mxnet'];

test.each([
  ['pytorch', ['pytorch-ddp', 'pytorch-fsdp', 'pytorch-dp']],
  ['FSDP', ['pytorch-fsdp']],
  ['zero', ['deepspeed-zero']],
  ['PyTorch DDP', ['pytorch-ddp']],
  ['horovd', ['horovod']],
  ['p', []],
  ['', []],
  ['jax', []],
])('%j is likely one of %j', (written, meant) => {
  expect(likelyNames(written, frameworks)).toEqual(meant);
});

test.each([
  ['fsdp', ' (did you mean `pytorch-fsdp`?)'],
  ['pytorch', ' (did you mean `pytorch-ddp`, `pytorch-fsdp` or `pytorch-dp`?)'],
  ['jax', ''],
])('%j asks%s', (written, question) => {
  expect(didYouMeanOneOf(written, frameworks)).toBe(question);
});

test('of many a few are named', () => {
  const names = Array.from({ length: 11 }, (_, index) => `gpu-${index}`);
  expect(didYouMeanOneOf('gpu', names)).toMatch(/^ \(did you mean `gpu-0`, `gpu-1`, `gpu-2` or another\?\)$/);
});

test.each([
  ['amp', 'fp16'],
  ['Half', 'fp16'],
  ['FP16', 'fp16'],
  ['bfloat16', 'bf16'],
  ['int8', undefined],
])('as a precision %j means %s', (written, meant) => {
  expect(meantPrecision(written)).toBe(meant);
});

const clusters = builtInClusters.map(({ name }) => name);

test.each([
  ['p3dn', ['p3-16xlarge']],
  ['dgx-v100', ['dgx-1-v100']],
  ['h1OO', expect.arrayContaining(['dgx-h100', 'h100-sxm'])],
  ['v100x', expect.arrayContaining(['v100-infiniband', 'dgx-1-v100'])],
  ['xyz', []],
])('the cluster %j is likely one of %j', (written, meant) => {
  expect(likelyNames(written, clusters)).toEqual(meant);
});
