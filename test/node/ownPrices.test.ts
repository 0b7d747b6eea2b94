/** A person's own prices as a file: kept whole, read again, and said to be broken where they are. */

import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Offer } from '../../server/src/model/price.ts';
import { readOwnPrices, watchedMarket, writeOwnPrices } from '../../server/src/node/ownPrices.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'layercost-prices-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const offer: Offer = {
  provider: 'AWS',
  instance: 'p5.48xlarge',
  region: 'us-east-1',
  dollarsPerHour: { 'on-demand': 50, 'reserved-1y': 30 },
  date: '2026-11-01',
  source: 'our contract',
};

it('what is written is read again', () => {
  const file = join(folder, 'config/layercost/prices.json');
  writeOwnPrices([offer], file);
  expect(readOwnPrices(file)).toEqual({ offers: [offer] });
});

it('nothing is known where there is no file', () => {
  expect(readOwnPrices(join(folder, 'none.json'))).toEqual({ offers: [] });
});

it('a broken file gives no price, and says where it is', () => {
  const file = join(folder, 'prices.json');
  writeFileSync(file, '[{"provider": "AWS"}]');
  expect(readOwnPrices(file)).toMatchObject({ offers: [], problem: expect.stringContaining(file) });
});

it('a server sees a new table, and has the same object while nothing changes', () => {
  const file = join(folder, 'prices.json');
  const market = watchedMarket(file);
  expect(market().offers).toEqual([]);
  writeOwnPrices([offer], file);
  const first = market();
  expect(first.offers).toEqual([offer]);
  expect(market()).toBe(first);
  writeOwnPrices([{ ...offer, region: 'us-west-2' }], file);
  utimesSync(file, 1, 1);
  expect(market().offers).toEqual([{ ...offer, region: 'us-west-2' }]);
});
