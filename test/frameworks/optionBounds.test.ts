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
