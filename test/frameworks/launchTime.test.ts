import { expect, test } from 'vitest';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';

const launchOf = (options: Readonly<Record<string, string>>) =>
  resolveFramework({ name: 'pytorch-ddp', options }).behaviour.launch.map((time) => time * 1e6);

test('the host of eager PyTorch takes 8 µs for a launch, from 4 to 29', () => {
  for (const [index, expected] of [8, 4, 29].entries()) {
    expect(launchOf({})[index]).toBeCloseTo(expected, 9);
  }
});

test('a launch time that is given has no range', () => {
  for (const time of launchOf({ 'launch-us': '40' })) expect(time).toBeCloseTo(40, 9);
});
