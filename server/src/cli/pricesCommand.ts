/** `layercost prices`: what an hour of a cluster's machine costs, with day and source; or a newer table of a person's own. */

import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { type Column, layoutColumns } from '../estimate/report/columns.ts';
import { builtInClusters, findCluster, likelyClusters } from '../hardware/clusters.ts';
import { ageInDays, offersOf, oldPrice } from '../hardware/prices/choosePrice.ts';
import { readPriceTable } from '../hardware/prices/priceTable.ts';
import { type Offer, type PriceKind, priceKinds } from '../model/price.ts';
import { ownPricesFile, readMarket, readOwnPrices, writeOwnPrices } from '../node/ownPrices.ts';
import { readTextFile } from '../node/readTextFile.ts';
import { readSkyPilotCatalogue } from './prices/readSkyPilotCatalogue.ts';
import type { PricesArguments } from './pricesArguments.ts';
import { printData, printMessage } from './streams.ts';

export function runPricesCommand(given: PricesArguments): number {
  if (given.update !== undefined) return update(given.update, given.date);
  const { problem } = readOwnPrices();
  if (problem !== undefined) printMessage(`layercost: ${problem}`);
  const { offers: own, today } = readMarket();
  const named = given.name === undefined ? undefined : findCluster(given.name);
  if (given.name !== undefined && named === undefined) {
    printMessage(
      `layercost: there is no cluster ${given.name}${likelyClusters(given.name)}; layercost clusters lists the built-in ones`,
    );
    return 2;
  }
  const clusters = named === undefined ? builtInClusters : [named];
  const rows = clusters.flatMap((cluster) =>
    offersOf(cluster, own).map((offer) => ({
      cluster: cluster.name,
      gpus: cluster.gpusPerNode.value,
      isOwn: own.includes(offer),
      isOld: ageInDays(offer.date, today) > oldPrice,
      ...offer,
    })),
  );
  if (given.format === 'json') printData(`${JSON.stringify(rows, null, 2)}\n`);
  else if (rows.length > 0) printData(table(rows));
  else
    printMessage(
      `layercost: no price of ${given.name} is known; give yours with --run price=N, or a table with layercost prices --update FILE`,
    );
  return 0;
}

type PriceRow = Offer & {
  readonly cluster: string;
  readonly gpus: number;
  readonly isOwn: boolean;
  readonly isOld: boolean;
};

const columns: readonly Column[] = [
  { title: 'cluster', align: 'left' },
  { title: 'provider', align: 'left' },
  { title: 'region', align: 'left' },
  ...priceKinds.map((kind): Column => ({ title: kind, align: 'right' })),
  { title: 'date', align: 'left' },
  { title: '', align: 'left' },
];

function table(rows: readonly PriceRow[]): string {
  const perGpu = ({ dollarsPerHour, gpus }: PriceRow, kind: PriceKind): string => {
    const dollars = dollarsPerHour[kind];
    return dollars === undefined ? '' : `$${(dollars / gpus).toFixed(2)}`;
  };
  const cells = rows.map((row) => [
    row.cluster,
    row.provider,
    row.region,
    ...priceKinds.map((kind) => perGpu(row, kind)),
    row.date,
    [...(row.isOwn ? ['yours'] : []), ...(row.isOld ? [`over ${oldPrice} days old`] : [])].join(', '),
  ]);
  const sources = [...new Set(rows.map(({ source }) => source))];
  return `US dollars per GPU-hour.\n\n${layoutColumns(columns, cells).join('\n')}\n\n${sources.map((source) => `source: ${source}\n`).join('')}A newer table: layercost prices --update FILE, of SkyPilot's catalogue (vms.csv) or of our own JSON.\n`;
}

/** Replaces a person's own table; those of other machines stay. */
function update(file: string, date: string | undefined): number {
  const read = readTextFile(file, 64 * 2 ** 20);
  if (!('text' in read)) {
    printMessage(`layercost: ${read.issue.message}`);
    return 1;
  }
  const day = date ?? statSync(file).mtime.toISOString().slice(0, 10);
  const found = read.text.trimStart().startsWith('[')
    ? readPriceTable(read.text)
    : readSkyPilotCatalogue(read.text, builtInClusters, { date: day, source: basename(file) });
  if ('problem' in found) {
    printMessage(
      `layercost: ${file} is no table of prices: ${found.problem}; give a vms.csv of SkyPilot's catalogue, or JSON as docs/prices.md says`,
    );
    return 1;
  }
  if (found.offers.length === 0) {
    printMessage(
      `layercost: ${file} has no price of a machine that is built in, so nothing was kept; layercost prices lists them`,
    );
    return 1;
  }
  const replaced = new Set(found.offers.map(({ instance }) => instance));
  const kept = readOwnPrices().offers.filter(({ instance }) => !replaced.has(instance));
  try {
    writeOwnPrices([...kept, ...found.offers]);
  } catch (error) {
    printMessage(
      `layercost: the prices could not be kept: ${error instanceof Error ? error.message : String(error)}`,
    );
    return 1;
  }
  printMessage(
    `kept prices of ${[...replaced].join(', ')} in ${ownPricesFile()}; layercost prices shows them`,
  );
  return 0;
}
