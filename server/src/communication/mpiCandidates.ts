/** Collectives by MPI, through host memory where the ranks are GPUs. */

import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { type Bytes, bytes, microseconds, type Seconds, seconds } from '../model/units.ts';
import type { Candidate } from './candidate.ts';
import type { CollectiveKind } from './collectiveKind.ts';
import type { LinkCost } from './formulas/linkCost.ts';
import { hostReduction, hostStaging, type MpiLibrary, mpiAllReduce } from './formulas/mpi.ts';
import {
  binomialBroadcast,
  pairwiseAllToAll,
  ringAllGather,
  ringReduceScatter,
  scatterAllGatherBroadcast,
} from './formulas/otherCollectives.ts';
import type { Links } from './links.ts';

/**
 * The GPUs of a node copy to host memory, where their gradients are added, the nodes exchange, and the result is copied
 * back. CPUs have nothing to copy. A ring goes through all ranks one by one, so that each of them is a step.
 */
export function mpiCandidates(
  library: MpiLibrary,
  kind: CollectiveKind,
  cluster: ClusterProfile,
  links: Links,
  size: Bytes,
): readonly Candidate[] {
  const { gpusPerNode, nodes } = links;
  const link: LinkCost = {
    startup: mpiStartup(cluster),
    secondsPerByte: nodes > 1 ? 1 / links.between : 0,
    reduceSecondsPerByte: hostReduceSecondsPerByte,
  };
  const copies =
    cluster.gpu.architecture === 'cpu' || links.hostLink === undefined
      ? 0
      : hostStaging(size, links.hostLink, gpusPerNode);
  const aside = copies + hostReduction(gpusPerNode, size, hostReduceSecondsPerByte);
  const { algorithm, total, empty } = exchange(library, kind, cluster, links, size, link);
  return [
    {
      algorithm,
      protocol: undefined,
      startup: empty,
      transfer: seconds(total - empty + aside),
      slowest: aside > total - empty ? 'host' : 'network',
    },
  ];
}

/**
 * γ of adding fp32 in host memory: Open MPI's OSU all-reduce over 2 nodes of the K80 and 10 GbE cluster (B-Caffe
 * logdata/allreduce2.log) fits 1.643 ns/B, of which a ring's wire takes 0.85 and the sum half of γ.
 */
const hostReduceSecondsPerByte = 1.6e-9;

/**
 * α of a message in MPI: over TCP 27 µs (OSU all-reduce of 4 B over 8 nodes, 82 µs in 3 rounds, B-Caffe
 * logdata/allreduce8.log); with RDMA what the profile's step says, less what NCCL's proxy adds to it.
 */
const mpiStartup = ({ network }: ClusterProfile): Seconds => {
  if (network === undefined) return microseconds(1);
  return network.kind === 'ethernet' ? microseconds(27) : seconds(Math.min(network.latency.value, 3e-6));
};

/**
 * α of a step of Open MPI's ring over TCP: of two nodes the fit from 12 to 128 KiB starts at 117 µs (B-Caffe
 * logdata/allreduce2.log), which two steps share. A message that with its header is more than 64 KiB first asks whether it
 * is expected, a way there and a way back (open-mpi/ompi, opal/mca/btl/tcp/btl_tcp_component.c: btl_eager_limit): where
 * shares reach that size over 8 nodes, an all-reduce is a millisecond longer, in 14 steps.
 */
const ringStepOf =
  ({ network }: ClusterProfile, alpha: Seconds) =>
  (share: number): Seconds =>
    network?.kind === 'ethernet' ? seconds(58e-6 + (share >= eagerLimit ? 2 * alpha : 0)) : alpha;

const eagerLimit = 64 * 1024;

function exchange(
  library: MpiLibrary,
  kind: CollectiveKind,
  cluster: ClusterProfile,
  { nodes, ranks }: Links,
  size: Bytes,
  link: LinkCost,
): { readonly algorithm: Candidate['algorithm']; readonly total: number; readonly empty: Seconds } {
  if (nodes <= 1) return { algorithm: 'ring', total: 0, empty: seconds(0) };
  const withoutBytes: LinkCost = { ...link, secondsPerByte: 0, reduceSecondsPerByte: 0 };
  if (kind === 'all-reduce') {
    const group = { ranks, nodes, link, ringStep: ringStepOf(cluster, link.startup) };
    const { time, algorithm } = mpiAllReduce(library, group, size);
    return {
      algorithm,
      total: time,
      empty: mpiAllReduce(library, { ...group, link: withoutBytes }, size).time,
    };
  }
  const { algorithm, formula } = otherFormula(kind, nodes, size, link);
  return { algorithm, total: formula(nodes, size, link), empty: formula(nodes, bytes(0), link) };
}

type Formula = (ranks: number, size: Bytes, link: LinkCost) => Seconds;

/** Broadcast of a large message is scattered and gathered; the libraries' switch lies where both cost the same. */
function otherFormula(
  kind: Exclude<CollectiveKind, 'all-reduce'>,
  nodes: number,
  size: Bytes,
  link: LinkCost,
): { readonly algorithm: Candidate['algorithm']; readonly formula: Formula } {
  switch (kind) {
    case 'all-gather':
      return { algorithm: 'ring', formula: ringAllGather };
    case 'reduce-scatter':
      return { algorithm: 'ring', formula: ringReduceScatter };
    case 'all-to-all':
      return { algorithm: 'pairwise', formula: pairwiseAllToAll };
    case 'broadcast':
    case 'reduce':
      return binomialBroadcast(nodes, size, link) <= scatterAllGatherBroadcast(nodes, size, link)
        ? { algorithm: 'tree', formula: binomialBroadcast }
        : { algorithm: 'ring', formula: scatterAllGatherBroadcast };
  }
}
