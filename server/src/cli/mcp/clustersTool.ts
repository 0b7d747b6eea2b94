/** `clusters`: the built-in clusters and GPUs. */

import { z } from 'zod';
import { findCluster, likelyClusters } from '../../hardware/clusters.ts';
import { listing, sheet } from '../clustersCommand.ts';
import { toolOf, wrong } from './tool.ts';

export const clustersTool = toolOf({
  name: 'clusters',
  title: 'List clusters and GPUs',
  description:
    'Lists the built-in clusters and GPUs: names for the scenario, memory, bandwidth, peak rates, links. With a name: every number of that cluster with its source.',
  input: z.strictObject({ name: z.string().optional() }),
  run: async ({ name }) => {
    if (name === undefined) return { text: listing() };
    const cluster = findCluster(name);
    return cluster === undefined
      ? wrong(`there is no cluster ${name}${likelyClusters(name)}; without a name this tool lists them`)
      : { text: sheet(cluster) };
  },
});
