/** The price of a run: whose it is, of which day, and what is said where it is old or not known. */

import { expect, it } from 'vitest';
import { resolveRun } from '../../server/src/estimate/resolveRun.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import type { RunRequest } from '../../server/src/model/scenario.ts';

const resolve = (price: RunRequest['price'], cluster = 'p5-48xlarge', today = '2026-02-01') => {
  const profile = findCluster(cluster);
  if (profile === undefined) throw new Error(cluster);
  return resolveRun({ samples: 1, epochs: 1, ...(price === undefined ? {} : { price }) }, profile, {
    offers: [],
    today,
  });
};

it('a number is taken as it is, whatever the day', () => {
  expect(resolve(2.5, 'p5-48xlarge', '2030-01-01')).toEqual({
    run: { samples: 1, epochs: 1, price: { perGpuHour: 2.5 } },
  });
});

it.each([
  [undefined, 6.88, 'on-demand'],
  ['spot', 2.11885, 'spot'],
] as const)('%s is looked up', (asked, perGpuHour, kind) => {
  const { run, message } = resolve(asked);
  expect(run.price?.perGpuHour).toBeCloseTo(perGpuHour, 5);
  expect(run.price?.offer).toMatchObject({ provider: 'AWS', region: 'us-east-1', kind, date: '2026-01-22' });
  expect(message).toBeUndefined();
});

it('a price is old from the 91st day on', () => {
  expect(resolve(undefined, 'p5-48xlarge', '2026-04-22').message).toBeUndefined();
  expect(resolve(undefined, 'p5-48xlarge', '2026-04-23').message).toBe(
    'The price is more than 90 days old (AWS p5.48xlarge in us-east-1, on demand, 2026-01-22): check it, or give yours as `price=N` in `run`',
  );
});

it('a kind that is not known is said, with those that are', () => {
  expect(resolve('reserved-1y')).toEqual({
    run: { samples: 1, epochs: 1 },
    message:
      'No `reserved-1y` price of `p5-48xlarge` is known; `on-demand`, `spot` are: give yours as `price=N`, in US dollars per GPU-hour',
  });
  expect(resolve('spot', 'dgx-h100').message).toMatch(
    /^No `spot` price of `dgx-h100` is known, nor any other:/,
  );
});

it('who asks for no kind is told nothing where none is known', () => {
  expect(resolve(undefined, 'dgx-h100')).toEqual({ run: { samples: 1, epochs: 1 } });
});

it('a price that was looked up before stays', () => {
  const { run } = resolve(undefined);
  expect(resolve(run.price, 'dgx-h100').run).toEqual(run);
});
