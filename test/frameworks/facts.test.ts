/** What frameworks and their options say of a step beside kernels and messages. */

import { describe, expect, test } from 'vitest';
import type { FrameworkBehaviour } from '../../server/src/frameworks/behaviour.ts';
import { frameworks, resolveFramework } from '../../server/src/frameworks/registry.ts';

const behaviourOf = (name: string, options: Readonly<Record<string, string>> = {}): FrameworkBehaviour => {
  const { behaviour, issues } = resolveFramework({ name, options });
  expect(issues).toEqual([]);
  return behaviour;
};

test.each(frameworks.map(({ name }) => name))('%s says in notes how it sends gradients', (name) => {
  const { notes } = behaviourOf(name);
  expect(notes.length).toBeGreaterThan(0);
  for (const note of notes) expect(note).toMatch(/\w{3}/);
});

/** A note says what an option made of the step, and what is not modelled. */
test.each<[string, Readonly<Record<string, string>>, readonly RegExp[]]>([
  ['cntk', {}, [/data-parallel/, /without TF32/]],
  ['cntk', { learner: 'one-bit' }, [/one-bit/, /quantize gradients are not modelled/, /without TF32/]],
  ['cntk', { learner: 'block-momentum' }, [/block-momentum/, /without TF32/]],
  ['deepspeed-zero', { stage: '3' }, [/stage 3/]],
  ['deepspeed-zero', { stage: '1', 'grad-accum-dtype': 'fp32' }, [/stage 1, gradients added up in fp32/]],
  ['torchtitan', { sharding: 'hybrid' }, [/hybrid/]],
  ['horovod', { 'fusion-mb': '16', 'cycle-ms': '2' }, [/16 MiB, cycle of 2 ms/]],
  ['megatron', {}, [/a whole update on each GPU, gradients after backward/]],
  [
    'megatron',
    { 'distributed-optimizer': 'true', 'overlap-grad-reduce': 'true' },
    [/distributed optimizer, gradients in buckets during backward/],
  ],
])('%s %j', (name, options, expected) => {
  const { notes } = behaviourOf(name, options);
  expect(notes).toHaveLength(expected.length);
  for (const [index, pattern] of expected.entries()) expect(notes[index]).toMatch(pattern);
});

/** microsoft/CNTK issues 1085 and 1219; its documentation, "distributedMBReading": false by default. */
test.each([
  [{}, 'everything', undefined],
  [{ 'distributed-reading': 'true' }, 'own share', undefined],
  [{ reader: 'text' }, 'everything', true],
] as const)('readers of CNTK with %j read %s', (options, reads, readsAllFirst) => {
  expect(behaviourOf('cntk', options).input).toMatchObject({
    ahead: 'reading and copying',
    pipelined: true,
    reads,
  });
  expect(behaviourOf('cntk', options).input.readsAllFirst).toBe(readsAllFirst);
});

describe('frameworks of 2015 to 2019', () => {
  test.each(['caffe-mpi', 'chainer', 'cntk', 'mxnet', 'tensorflow'])('%s is one', (name) => {
    expect(behaviourOf(name).isOld).toBe(true);
  });
  test.each(['pytorch-ddp', 'pytorch-fsdp', 'deepspeed-zero', 'megatron', 'torchtitan'])(
    '%s is none',
    (name) => {
      expect(behaviourOf(name).isOld).toBeUndefined();
    },
  );
});

/** What options of PyTorch say of its host. */
test.each<[Readonly<Record<string, string>>, Partial<FrameworkBehaviour>]>([
  [{}, {}],
  [{ 'launch-blocking': 'true' }, { launchBlocking: true }],
  [{ 'collective-us': '30' }, { collectiveCall: expect.closeTo(30e-6, 12) }],
])('pytorch-ddp %j', (options, said) => {
  const { launchBlocking, collectiveCall } = behaviourOf('pytorch-ddp', options);
  const given = { launchBlocking, collectiveCall };
  expect(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))).toEqual(said);
});

/** Defaults of the programs themselves, where an option stands for one of theirs. */
test.each([
  // torch/nn/parallel/distributed.py, `bucket_cap_mb`; reducer.hpp, `kDefaultFirstBucketBytes`.
  ['pytorch-ddp', { 'bucket-mb': '25', 'first-bucket-mb': '1', 'gradient-as-bucket-view': 'false' }],
  // horovod/common/operations.cc: 128 MiB from 0.21 on, 1 ms.
  ['horovod', { 'fusion-mb': '128', 'cycle-ms': '1' }],
  // deepspeed/runtime/zero/config.py.
  [
    'deepspeed-zero',
    { 'reduce-bucket-size': '5e8', 'prefetch-bucket-size': '5e7', 'persistence-threshold': '1e5' },
  ],
  // Source/SGDLib/SimpleDistGradAggregator.h; BlockMomentumSGD.h.
  ['cntk', { learner: 'data-parallel', 'block-samples': '120000' }],
])('%s has the defaults of the program', (name, defaults) => {
  const { options } = frameworks.find((each) => each.name === name) ?? { options: [] };
  const own = Object.fromEntries(options.map((option) => [option.name, option.default]));
  expect(own).toMatchObject(defaults);
  // An option that is given its default changes nothing.
  expect(behaviourOf(name, defaults).notes).toEqual(behaviourOf(name).notes);
});
