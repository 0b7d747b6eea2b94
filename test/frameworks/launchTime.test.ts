import { expect, test } from 'vitest';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';

test.each([
  ['eager PyTorch', 'pytorch-ddp', {}, [8, 4, 29]],
  ['a launch time that is given', 'pytorch-ddp', { 'launch-us': '40' }, [40, 40, 40]],
  // measured/steps-vtrain.csv
  ['Megatron-LM', 'megatron', {}, [60, 20, 80]],
  ['a launch time that is given for it', 'megatron', { 'launch-us': '8' }, [8, 8, 8]],
] as const)('%s: middle, low and high in microseconds', (_, name, options, expected) => {
  const { launch } = resolveFramework({ name, options }).behaviour;
  [launch.middle, launch.low, launch.high].forEach((time, index) => {
    expect(time * 1e6).toBeCloseTo(expected[index] ?? Number.NaN, 9);
  });
});

test.each([
  ['that of a launch where nobody says', {}, undefined],
  ['as given', { 'collective-us': '120' }, 120],
] as const)('the call of a collective takes %s', (_, options, expected) => {
  const { collectiveCall } = resolveFramework({ name: 'pytorch-ddp', options }).behaviour;
  expect(collectiveCall && Math.round(collectiveCall * 1e6)).toBe(expected);
});
