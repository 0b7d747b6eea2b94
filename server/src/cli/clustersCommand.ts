/** `layercost clusters`: the built-in profiles, or every number of one with its source. */

import { type Column, layoutColumns } from '../estimate/report/columns.ts';
import { type ClusterProfile, isUnconfirmed, sourcedNumbers } from '../hardware/clusterProfile.ts';
import { builtInClusters, findCluster, likelyClusters } from '../hardware/clusters.ts';
import { timesTitle } from '../model/deviceNoun.ts';
import { formatBandwidth, formatBytes, formatFlopRate, significant } from '../model/format.ts';
import type { ClustersArguments } from './arguments.ts';
import { printData, printMessage } from './streams.ts';

export function runClustersCommand(given: ClustersArguments): number {
  if (given.name === undefined) {
    printData(given.format === 'json' ? json(builtInClusters.map(describe)) : listing());
    return 0;
  }
  const cluster = findCluster(given.name);
  if (cluster === undefined) {
    printMessage(
      `layercost: there is no cluster ${given.name}${likelyClusters(given.name)}; layercost clusters lists the built-in ones`,
    );
    return 2;
  }
  printData(given.format === 'json' ? json(describe(cluster)) : sheet(cluster));
  return 0;
}

const columns: readonly Column[] = [
  { title: 'name', align: 'left' },
  { title: 'per node', align: 'left' },
  { title: 'memory', align: 'right' },
  { title: 'bandwidth', align: 'right' },
  { title: 'fp32', align: 'right' },
  { title: 'bf16/fp16', align: 'right' },
  { title: 'link', align: 'left' },
  { title: 'network', align: 'left' },
];

export function listing(): string {
  const rows = builtInClusters.map(({ name, gpu, gpusPerNode, link, network }) => [
    name,
    timesTitle(gpusPerNode.value, gpu.title),
    formatBytes(gpu.memory.value),
    formatBandwidth(gpu.memoryBandwidth.value),
    formatFlopRate(gpu.peak.get('fp32')?.value ?? null),
    formatFlopRate((gpu.peak.get('bf16') ?? gpu.peak.get('fp16'))?.value ?? null),
    link?.title ?? '',
    network?.title ?? '',
  ]);
  return `${layoutColumns(columns, rows).join('\n')}\n\nlayercost clusters NAME prints the source of every number.\n`;
}

export function sheet(cluster: ClusterProfile): string {
  const numbers = sourcedNumbers(cluster);
  const unconfirmed = numbers.filter(({ number }) => isUnconfirmed(number)).length;
  const rows = numbers.map(({ name, number }) => [name, significantOrWhole(number.value), number.source]);
  const lines = layoutColumns(
    [
      { title: 'number', align: 'left' },
      { title: 'value', align: 'right' },
      { title: 'source', align: 'left' },
    ],
    rows,
  );
  return `${cluster.name}: ${cluster.title}, ${timesTitle(cluster.gpusPerNode.value, cluster.gpu.title)} per node\nValues in bytes, bytes/s, FLOP/s and seconds. ${unconfirmed} of ${numbers.length} ${unconfirmed === 1 ? 'is' : 'are'} assumed or unconfirmed, as ${unconfirmed === 1 ? 'its source says' : 'their sources say'}.\n\n${lines.join('\n')}\n`;
}

const significantOrWhole = (value: number): string =>
  Math.abs(value) >= 1e4 || (value !== 0 && Math.abs(value) < 1e-3)
    ? value.toExponential(3)
    : significant(value);

const describe = (cluster: ClusterProfile) => ({
  name: cluster.name,
  title: cluster.title,
  gpu: cluster.gpu.title,
  gpusPerNode: cluster.gpusPerNode.value,
  numbers: Object.fromEntries(
    sourcedNumbers(cluster).map(({ name, number }) => [
      name,
      { ...number, confirmed: !isUnconfirmed(number) },
    ]),
  ),
});

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
