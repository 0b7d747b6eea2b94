import { expect, test } from 'vitest';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';

test.each([
  ['byteps', 'servers', '1e300', 'nodes, or a whole number from 1 to 10000'],
  ['byteps', 'partition-mb', '0.0000001', 'a number from 0.01'],
  ['bytescheduler', 'partition-elements', '1', 'a number from 1000'],
  ['bytescheduler', 'credit-elements', '1', 'a number from 1000'],
])('%s does not take %s=%s, which would make millions of messages', (name, option, text, takes) => {
  const { issues } = resolveFramework({ name, options: { [option]: text } });
  expect(issues.map(({ message }) => message)).toEqual([
    `Option \`${option}\` of \`${name}\` is "${text}"; it takes ${takes}`,
  ]);
});

test.each([
  ['byteps', 'servers', '1'],
  ['byteps', 'servers', '10000'],
  ['byteps', 'servers', 'nodes'],
  ['byteps', 'partition-mb', '0.01'],
  ['bytescheduler', 'partition-elements', '1000'],
  ['deepspeed-zero', 'persistence-threshold', '0'],
  ['horovod', 'fusion-mb', '0'],
  ['megatron', 'bucket-size', 'auto'],
  ['megatron', 'bucket-size', '4e6'],
  ['deepspeed-zero', 'allgather-bucket-size', 'all'],
  ['deepspeed-zero', 'allgather-bucket-size', '1e6'],
])('%s takes %s=%s', (name, option, text) => {
  expect(resolveFramework({ name, options: { [option]: text } }).issues).toEqual([]);
});

test.each([
  ['byteps', 'servers', '10001'],
  ['byteps', 'servers', '0'],
  ['byteps', 'servers', '1.5'],
  ['byteps', 'servers', ''],
  ['byteps', 'partition-mb', ' '],
  ['byteps', 'partition-mb', 'Infinity'],
  ['bytescheduler', 'partition-elements', '999'],
  ['deepspeed-zero', 'persistence-threshold', '-1'],
  ['deepspeed-zero', 'persistence-threshold', ''],
  ['deepspeed-zero', 'persistence-threshold', 'Infinity'],
  ['deepspeed-zero', 'reduce-bucket-size', '0'],
  ['deepspeed-zero', 'reduce-bucket-size', ' '],
  ['deepspeed-zero', 'reduce-bucket-size', 'Infinity'],
  ['cntk', 'block-samples', '0'],
  ['megatron', 'bucket-size', '0'],
  ['megatron', 'bucket-size', 'all'],
  ['deepspeed-zero', 'allgather-bucket-size', 'auto'],
  ['deepspeed-zero', 'allgather-bucket-size', '0'],
  ['cntk', 'block-samples', '2.5'],
])('%s refuses %s=%s, and keeps its default', (name, option, text) => {
  const { issues, behaviour } = resolveFramework({ name, options: { [option]: text } });
  expect(issues).toMatchObject([{ code: 'scenario/invalid', severity: 'error', scenarioPart: option }]);
  expect(behaviour.notes).toEqual(resolveFramework({ name, options: {} }).behaviour.notes);
});
