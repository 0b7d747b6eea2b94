/**
 * Prices of the machines that are built in from a catalogue of SkyPilot (`vms.csv` of one provider).
 *
 * Each row is a machine in a zone. Google Cloud's rows of GPU machines leave out the accelerators, whose price stands in
 * rows of their own, without a machine; the price of both is that of the machine.
 * Source: skypilot-org/skypilot, `sky/catalog/common.py` and `sky/catalog/gcp_catalog.py`.
 */

import { parse } from 'csv-parse/sync';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import type { Offer } from '../../model/price.ts';

interface Row {
  readonly instance: string;
  readonly accelerator: string;
  readonly count: number;
  readonly region: string;
  readonly zone: string;
  readonly onDemand: number | undefined;
  readonly spot: number | undefined;
}

/** `date` is the day of the catalogue, `source` where it came from. One offer for each machine and region. */
export function readSkyPilotCatalogue(
  text: string,
  clusters: readonly ClusterProfile[],
  { date, source }: Pick<Offer, 'date' | 'source'>,
): { readonly offers: readonly Offer[] } | { readonly problem: string } {
  const rows = readRows(text);
  if ('problem' in rows) return rows;
  const offers = clusters.flatMap(({ instance, gpusPerNode }): readonly Offer[] => {
    if (instance === undefined) return [];
    const priced = rows.rows
      .filter((row) => row.instance === instance.name)
      .map((row) => (row.accelerator === '' ? withAccelerators(row, gpusPerNode.value, rows.rows) : row))
      .filter((row) => row !== undefined);
    return [...new Set(priced.map(({ region }) => region))].flatMap((region) => {
      const here = priced.filter((row) => row.region === region);
      const onDemand = lowest(here.map((row) => row.onDemand));
      const spot = lowest(here.map((row) => row.spot));
      if (onDemand === undefined && spot === undefined) return [];
      return [
        {
          provider: instance.provider,
          instance: instance.name,
          region,
          dollarsPerHour: {
            ...(onDemand === undefined ? {} : { 'on-demand': onDemand }),
            ...(spot === undefined ? {} : { spot }),
          },
          date,
          source,
        },
      ];
    });
  });
  return { offers };
}

/** Accelerators of Google Cloud's machines, by the beginning of their names. Source: `gcp_catalog.py`. */
const accelerators: readonly (readonly [machine: string, accelerator: string])[] = [
  ['a2-highgpu-', 'A100'],
  ['a2-ultragpu-', 'A100-80GB'],
  ['a3-highgpu-', 'H100'],
  ['a3-megagpu-', 'H100-MEGA'],
  ['a3-ultragpu-', 'H200'],
  ['a4-highgpu-', 'B200'],
  ['g2-standard-', 'L4'],
];

/** Nothing where the price of the GPUs is not in the file: that of the rest would look like a bargain. */
function withAccelerators(row: Row, gpus: number, rows: readonly Row[]): Row | undefined {
  const name = accelerators.find(([machine]) => row.instance.startsWith(machine))?.[1];
  const own = rows.find(
    (each) =>
      each.instance === '' && each.accelerator === name && each.count === gpus && each.zone === row.zone,
  );
  if (own === undefined) return undefined;
  return { ...row, onDemand: sum(row.onDemand, own.onDemand), spot: sum(row.spot, own.spot) };
}

const sum = (first: number | undefined, second: number | undefined): number | undefined =>
  first === undefined || second === undefined ? undefined : first + second;

function lowest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

const needed = ['InstanceType', 'Price', 'SpotPrice', 'Region'];

function readRows(text: string): { readonly rows: readonly Row[] } | { readonly problem: string } {
  let records: readonly Readonly<Record<string, string>>[];
  try {
    records = parse(text, { columns: true, bom: true, skip_empty_lines: true });
  } catch (error) {
    return { problem: `it is not valid CSV: ${error instanceof Error ? error.message : String(error)}` };
  }
  const [first = {}] = records;
  const missing = needed.filter((name) => !(name in first));
  if (missing.length > 0)
    return { problem: `it has no column ${missing.join(', ')}, as SkyPilot's catalogues have` };
  return {
    rows: records.map((record) => ({
      instance: record.InstanceType ?? '',
      accelerator: record.AcceleratorName ?? '',
      count: Number(record.AcceleratorCount),
      region: record.Region ?? '',
      zone: record.AvailabilityZone ?? '',
      onDemand: amount(record.Price),
      spot: amount(record.SpotPrice),
    })),
  };
}

function amount(text: string | undefined): number | undefined {
  const number = Number(text);
  return text !== undefined && text !== '' && number > 0 ? number : undefined;
}
