/** `layercost/listClusters` and `listFrameworks`: the built-in ones, described for a picker. */

import type { CancellationToken } from 'vscode-languageserver';
import { frameworks as builtInFrameworks } from '../../frameworks/registry.ts';
import { builtInClusters } from '../../hardware/clusters.ts';
import {
  type ClusterChoice,
  type FrameworkChoiceItem,
  listClusters,
  listFrameworks,
} from '../../protocol.ts';
import type { Request } from './request.ts';

export const choices: Request = {
  serve: ({ connection, handler }) => {
    const clusters = handler('clusters', [], clusterChoices);
    const frameworks = handler('frameworks', [], frameworkChoices);
    // A request without parameters is handed its token alone.
    connection.onRequest(listClusters, (token: CancellationToken) => clusters(undefined, token));
    connection.onRequest(listFrameworks, (token: CancellationToken) => frameworks(undefined, token));
  },
};

const clusterChoices = (): readonly ClusterChoice[] =>
  builtInClusters.map((cluster) => ({
    name: cluster.name,
    title: cluster.title,
    gpu: cluster.gpu.title,
    gpusPerNode: cluster.gpusPerNode.value,
    links: [cluster.link?.title, cluster.network?.title].filter((part) => part !== undefined).join(', '),
    isNetworked: cluster.network !== undefined,
    kind: cluster.name === cluster.gpu.name ? 'gpu' : 'cluster',
  }));

const frameworkChoices = (): readonly FrameworkChoiceItem[] =>
  builtInFrameworks.map(({ name, documentation, overlaps }) => ({ name, documentation, overlaps }));
