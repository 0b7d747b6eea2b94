/** The cluster of a scenario, and how many of its nodes and GPUs are used. */

import { nodesFor } from '../../communication/placement.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { builtInClusters, findCluster, likelyClusters } from '../../hardware/clusters.ts';
import { builtInGpus, findGpu } from '../../hardware/gpus.ts';
import { didYouMeanOneOf } from '../../model/likelyNames.ts';
import type { ScenarioRequest, WorkersScenario } from '../../model/scenario.ts';
import type { Report } from './scenarioReport.ts';

const defaultClusterName = 'dgx-h100';

export function resolveCluster(
  name: string | undefined,
  lookup: (name: string) => ClusterProfile | undefined,
  report: Report,
): ClusterProfile {
  const found = lookup(name ?? defaultClusterName);
  if (found !== undefined) return found;
  report(
    'error',
    'scenario/unknown-cluster',
    `No cluster or GPU is called \`${name ?? defaultClusterName}\`${likelyClusters(name ?? '')}; choose a built-in one, or describe your own`,
    'cluster',
  );
  const fallback = findCluster(defaultClusterName) ?? builtInClusters[0];
  if (fallback === undefined) throw new Error('no built-in cluster');
  return fallback;
}

/**
 * Nodes and GPUs come from one request, so that one's GPUs are not spread over another's nodes. A size asked for
 * below the request that chose the cluster was meant for another one: it is kept where it fits, else one node is.
 */
export function resolveRequestedSize(
  cluster: ClusterProfile,
  requests: readonly ScenarioRequest[],
  report: Report,
): { readonly nodes: number; readonly gpus: number } {
  const chosenAt = requests.findIndex((request) => request.cluster !== undefined);
  const sizedAt = requests.findIndex(({ nodes, gpus }) => nodes !== undefined || gpus !== undefined);
  const sized = requests[sizedAt] ?? {};
  if (chosenAt < 0 || sizedAt <= chosenAt) return resolveSize(cluster, sized.nodes, sized.gpus, report);
  let fits = true;
  const size = resolveSize(cluster, sized.nodes, sized.gpus, (severity) => {
    if (severity === 'error') fits = false;
  });
  if (!fits) {
    const asked = sized.gpus === undefined ? `${sized.nodes} nodes` : `${sized.gpus} GPUs`;
    const message = `\`${cluster.name}\` cannot provide ${asked} (requested for another cluster); using one node`;
    report('information', 'scenario/invalid', message, sized.gpus === undefined ? 'nodes' : 'gpus');
  }
  return size;
}

function resolveSize(
  cluster: ClusterProfile,
  askedNodes: number | undefined,
  askedGpus: number | undefined,
  report: Report,
): { readonly nodes: number; readonly gpus: number } {
  const perNode = cluster.gpusPerNode.value;
  const oneNode = { nodes: 1, gpus: perNode };
  for (const [option, value] of [
    ['nodes', askedNodes],
    ['gpus', askedGpus],
  ] as const) {
    if (value !== undefined && !(Number.isInteger(value) && value > 0)) {
      report(
        'error',
        'scenario/invalid',
        `\`${option}\` is ${value}; it takes a whole number from 1`,
        option,
      );
      return oneNode;
    }
  }
  const nodes = askedNodes ?? (askedGpus === undefined ? 1 : nodesFor(cluster, askedGpus));
  const gpus = askedGpus ?? nodes * perNode;
  const sizeKey = askedGpus === undefined ? 'nodes' : 'gpus';
  if (nodes > 1 && cluster.network === undefined) {
    const reason = `\`${cluster.name}\` is one node of ${perNode} ${plural(perNode, 'GPU')} without a network`;
    report('error', 'scenario/invalid', `${reason}; use at most ${perNode}, or choose a cluster`, sizeKey);
    return oneNode;
  }
  if (gpus < nodes || Math.ceil(gpus / nodes) > perNode) {
    report(
      'error',
      'scenario/invalid',
      `${gpus} ${plural(gpus, 'GPU')} do not fit on ${nodes} ${plural(nodes, 'node')} of ${perNode}: set only one of \`gpus\` and \`nodes\`, or use ${nodes}–${nodes * perNode} GPUs`,
      sizeKey,
    );
    return oneNode;
  }
  if (gpus % nodes !== 0) {
    report(
      'warning',
      'scenario/invalid',
      `${gpus} GPUs do not divide evenly over ${nodes} nodes; communication assumes ${Math.ceil(gpus / nodes)} on each`,
      sizeKey,
    );
  }
  return { nodes, gpus };
}

/** The cluster's GPUs stand for others that are not known, and one of its own is always among them. */
export function reportOtherGpus(workers: WorkersScenario | undefined, gpus: number, report: Report): void {
  const { others } = workers ?? {};
  if (others === undefined) return;
  if (findGpu(others.gpu) === undefined) {
    const hint = didYouMeanOneOf(
      others.gpu,
      builtInGpus.map(({ name }) => name),
    );
    report(
      'error',
      'scenario/invalid',
      `\`other-gpu\` is \`${others.gpu}\`, which is not a built-in GPU${hint}; \`layercost clusters\` lists them`,
      'workers',
    );
  } else if (others.count > Math.max(1, gpus - 1)) {
    report(
      'warning',
      'scenario/invalid',
      `\`other-count\` is ${others.count} of ${gpus} ${plural(gpus, 'GPU')}; costs assume ${gpus - 1}`,
      'workers',
    );
  }
}

const plural = (count: number, word: string): string => (count === 1 ? word : `${word}s`);
