/** Prices: the built-in table, which offer is taken, and catalogues of SkyPilot. */

import { describe, expect, it } from 'vitest';
import { readSkyPilotCatalogue } from '../../server/src/cli/prices/readSkyPilotCatalogue.ts';
import { builtInClusters, findCluster } from '../../server/src/hardware/clusters.ts';
import { ageInDays, choosePrice } from '../../server/src/hardware/prices/choosePrice.ts';
import { builtInOffers } from '../../server/src/hardware/prices/offers.ts';
import { priceTable, readPriceTable } from '../../server/src/hardware/prices/priceTable.ts';
import type { Offer } from '../../server/src/model/price.ts';

const cluster = (name: string) => {
  const found = findCluster(name);
  if (found === undefined) throw new Error(name);
  return found;
};

const offer = (change: Partial<Offer>): Offer => ({
  provider: 'AWS',
  instance: 'p5.48xlarge',
  region: 'us-east-1',
  dollarsPerHour: { 'on-demand': 80 },
  date: '2026-11-01',
  source: 'test',
  ...change,
});

describe('the built-in table', () => {
  it('keeps to the schema, and each offer is of a machine that a cluster names', () => {
    expect(priceTable.safeParse(builtInOffers).success).toBe(true);
    const machines = builtInClusters.map(({ instance }) => `${instance?.provider} ${instance?.name}`);
    for (const { provider, instance } of builtInOffers) expect(machines).toContain(`${provider} ${instance}`);
  });

  it('no profile has a price of its own, which would have no day', () => {
    expect(builtInClusters.filter(({ pricePerGpuHour }) => pricePerGpuHour !== undefined)).toEqual([]);
  });

  // Source: the offers' own; AWS cut p4d and p5 in June 2025.
  it.each([
    ['p5-48xlarge', 'on-demand', 6.88],
    ['p5-48xlarge', 'spot', 2.11885],
    ['p4d-24xlarge', 'on-demand', 2.744705],
    ['p3-16xlarge', 'on-demand', 3.06],
    ['p6-b200-48xlarge', 'on-demand', 14.2416],
    ['g4dn-12xlarge', 'on-demand', 0.978],
    ['g5-48xlarge', 'on-demand', 2.036],
    ['a2-highgpu-8g', 'on-demand', 3.673385],
    ['a3-highgpu-8g', 'reserved-3y', 4.858],
    ['nd-h100-v5', 'on-demand', 12.29],
  ] as const)('%s %s', (name, kind, perGpuHour) => {
    expect(choosePrice(cluster(name), kind).price?.perGpuHour).toBeCloseTo(perGpuHour, 4);
  });

  it('a machine without an offer, and a cluster that is no machine, have no price', () => {
    expect(choosePrice(cluster('nd-h200-v5'), 'on-demand')).toEqual({ price: undefined, kinds: [] });
    expect(choosePrice(cluster('dgx-h100'), 'on-demand')).toEqual({ price: undefined, kinds: [] });
  });
});

describe('which offer is taken', () => {
  it("a person's own before the built-in one, also where it is dearer", () => {
    const { price } = choosePrice(cluster('p5-48xlarge'), 'on-demand', [offer({})]);
    expect(price).toMatchObject({ perGpuHour: 10, offer: { date: '2026-11-01', kind: 'on-demand' } });
  });

  it('of several regions the cheapest', () => {
    const own = [offer({}), offer({ region: 'us-west-2', dollarsPerHour: { 'on-demand': 40 } })];
    expect(choosePrice(cluster('p5-48xlarge'), 'on-demand', own).price).toMatchObject({
      perGpuHour: 5,
      offer: { region: 'us-west-2' },
    });
  });

  it('the built-in one for a kind that the own ones lack', () => {
    expect(choosePrice(cluster('p5-48xlarge'), 'spot', [offer({})]).price).toMatchObject({
      offer: { kind: 'spot', date: '2026-01-22' },
    });
  });

  it("a profile's own price before all, and no other kind of it", () => {
    const own = { ...cluster('p5-48xlarge'), pricePerGpuHour: { value: 3, source: 'ours' } };
    expect(choosePrice(own, 'on-demand', [offer({})]).price).toEqual({ perGpuHour: 3 });
    // $16.95 of eight GPUs.
    expect(choosePrice(own, 'spot').price).toMatchObject({ perGpuHour: 2.11885, offer: { kind: 'spot' } });
  });

  it('the age of a price is in days', () => {
    expect(ageInDays('2026-08-25', '2026-11-23')).toBe(90);
  });
});

describe("SkyPilot's catalogues", () => {
  const head =
    'InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone\n';
  const read = (rows: string) =>
    readSkyPilotCatalogue(head + rows, builtInClusters, { date: '2026-11-01', source: 'vms.csv' });

  it('takes the lowest of the zones, by region, and leaves machines that no cluster names', () => {
    const rows = [
      `p5.48xlarge,H100,8.0,192.0,2048.0,"{'Gpus': [{'Name': 'H100', 'Count': 8}]}",55.04,18.1,us-east-1,use1-az1`,
      'p5.48xlarge,H100,8.0,192.0,2048.0,,55.04,16.9,us-east-1,use1-az2',
      'p5.48xlarge,H100,8.0,192.0,2048.0,,68.8,,us-west-1,usw1-az1',
      'm8i.large,,,2.0,8.0,,0.1,0.05,us-east-1,use1-az1',
      'p3dn.24xlarge,V100-32GB,8.0,96.0,768.0,,,9.4,us-east-1,use1-az1',
    ];
    expect(read(rows.join('\n'))).toEqual({
      offers: [
        offer({ dollarsPerHour: { 'on-demand': 55.04, spot: 16.9 }, source: 'vms.csv' }),
        offer({ region: 'us-west-1', dollarsPerHour: { 'on-demand': 68.8 }, source: 'vms.csv' }),
      ],
    });
  });

  it('adds the GPUs of Google Cloud, and takes no machine whose GPUs have no price', () => {
    const rows = [
      'a3-highgpu-8g,,,208.0,1872.0,,9.46,5.16,us-central1,us-central1-a',
      'a2-highgpu-8g,,,96.0,680.0,,5.92,3.10,us-central1,us-central1-a',
      ',H100,8.0,,,,79.0,30.0,us-central1,us-central1-a',
      ',A100,4.0,,,,11.7,6.0,us-central1,us-central1-a',
    ];
    const found = read(rows.join('\n'));
    expect('offers' in found ? found.offers.map(({ instance }) => instance) : found).toEqual([
      'a3-highgpu-8g',
    ]);
    const dollars = 'offers' in found ? found.offers[0]?.dollarsPerHour : undefined;
    expect(dollars?.['on-demand']).toBeCloseTo(88.46, 6);
    expect(dollars?.spot).toBeCloseTo(35.16, 6);
  });

  // Source: skypilot-org/skypilot, sky/catalog/gcp_catalog.py. Dollars tell the accelerators apart.
  const dollarsOf = {
    ...{ A100: 10, 'A100-80GB': 20, H100: 30, 'H100-MEGA': 40, H200: 50, B200: 60, L4: 70 },
  } as const;

  it.each([
    ['a2-highgpu-8g', 'A100'],
    ['a2-ultragpu-8g', 'A100-80GB'],
    ['a3-highgpu-8g', 'H100'],
    ['a3-megagpu-8g', 'H100-MEGA'],
    ['a3-ultragpu-8g', 'H200'],
    ['a4-highgpu-8g', 'B200'],
    ['g2-standard-96', 'L4'],
  ] as const)('the GPUs of %s are those called %s', (machine, accelerator) => {
    const gpus = Object.entries(dollarsOf).map(
      ([name, dollars]) => `,${name},8.0,,,,${dollars},1.0,us-central1,us-central1-a`,
    );
    const found = read([`${machine},,,96.0,680.0,,1.0,1.0,us-central1,us-central1-a`, ...gpus].join('\n'));
    expect('offers' in found ? found.offers.map(({ dollarsPerHour }) => dollarsPerHour) : found).toEqual([
      { 'on-demand': 1 + dollarsOf[accelerator], spot: 2 },
    ]);
  });

  it.each([
    ['', "it has no column InstanceType, Price, SpotPrice, Region, as SkyPilot's catalogues have"],
    ['a,b\n1,2\n', "it has no column InstanceType, Price, SpotPrice, Region, as SkyPilot's catalogues have"],
  ])('refuses another file: %j', (text, problem) => {
    expect(readSkyPilotCatalogue(text, builtInClusters, { date: '2026-11-01', source: 'x' })).toEqual({
      problem,
    });
  });
});

it.each([
  ['{', /^it is not valid JSON/],
  ['{}', /takes/],
  ['[{"provider": "AWS"}]', /^`0\.instance` is missing/],
])('a table of prices is refused with the place: %s', (text, problem) => {
  expect(readPriceTable(text)).toMatchObject({ problem: expect.stringMatching(problem) });
});
