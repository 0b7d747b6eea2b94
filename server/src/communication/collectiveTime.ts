/**
 * Time of a collective over the GPUs of a job: the fastest of what its library can run, or the algorithm asked for.
 *
 * A library measures or models its algorithms and takes the fastest; so does this, with the library's own constants
 * and the measured bandwidth of the cluster's links.
 */

import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { formatBandwidth } from '../model/format.ts';
import { type Bytes, type BytesPerSecond, bytesPerSecond, type Seconds, seconds } from '../model/units.ts';
import { measuredLink } from './bandwidthDoubt.ts';
import type { Algorithm, Candidate, CollectiveBound } from './candidate.ts';
import { busFactor, type CollectiveKind } from './collectiveKind.ts';
import { slowdown, tcpOccupancy } from './formulas/contention.ts';
import type { MpiLibrary } from './formulas/mpi.ts';
import { hierarchicalCandidates } from './hierarchicalCandidates.ts';
import { type Links, linksOf } from './links.ts';
import { mpiCandidates } from './mpiCandidates.ts';
import { measuredStartup } from './nccl/startup.ts';
import { ncclCandidates } from './nccl/tuning.ts';
import { type NcclVersionName, ncclVersionOf, newestNccl } from './nccl/versions.ts';
import type { Placement } from './placement.ts';

export interface CollectiveRequest {
  readonly kind: CollectiveKind;
  /** The whole buffer, as nccl-tests count (`collectiveKind.ts`). */
  readonly bytes: Bytes;
  /**
   * Who runs it: NCCL of a version, or MPI with the messages staged through host memory. Left out: NCCL of the
   * version that the cluster names, else the newest; Open MPI on a cluster of CPUs.
   */
  readonly library?: NcclVersionName | MpiLibrary;
  /** The algorithm that the library or the framework is configured to use; ignored where it cannot run. */
  readonly algorithm?: Algorithm;
  /** Of an all-to-all of rows that each go to so many ranks by chance: each rank and each node gets a row once. */
  readonly chosen?: number;
  /** Collectives on the same links at a time, this one included. */
  readonly concurrent?: number;
  /** Of MPI: the message lies in host memory already, so that no copy from a GPU and back is part of it. */
  readonly inHostMemory?: boolean;
}

export interface CollectiveTime {
  readonly time: Seconds;
  readonly low: Seconds;
  readonly high: Seconds;
  readonly algorithm: Algorithm | 'none';
  /** NCCL's, where NCCL runs it. */
  readonly protocol: Candidate['protocol'];
  /** nccl-tests' measure: bytes/time times the factor of the collective. */
  readonly busBandwidth: BytesPerSecond;
  /** The part that does not grow with the message. */
  readonly startup: Seconds;
  readonly bound: CollectiveBound;
  /** "ring (LL128) over NVLink 3 and NVSwitch, 8 GPUs, 231 GB/s bus bandwidth". */
  readonly description: string;
}

export function collectiveTime(
  cluster: ClusterProfile,
  placement: Placement,
  request: CollectiveRequest,
): CollectiveTime {
  const links = linksOf(cluster, placement);
  if (links.ranks <= 1) return noCommunication;
  const candidates = candidatesFor(cluster, links, request);
  const asked = candidates.filter(({ algorithm }) => algorithm === request.algorithm);
  const factor = slowdown(request.concurrent ?? 1, links.hasRdma || links.nodes === 1 ? 1 : tcpOccupancy);
  return resultOf(fastest(asked.length > 0 ? asked : candidates), links, request, factor);
}

const noCommunication: CollectiveTime = {
  time: seconds(0),
  low: seconds(0),
  high: seconds(0),
  algorithm: 'none',
  protocol: undefined,
  busBandwidth: bytesPerSecond(0),
  startup: seconds(0),
  bound: 'none',
  description: 'one GPU, no communication',
};

/** NCCL itself knows no two-level rings: they are considered only when asked for (Horovod and others build them on it). */
function candidatesFor(
  cluster: ClusterProfile,
  links: Links,
  {
    kind,
    bytes,
    library = defaultLibrary(cluster),
    algorithm,
    inHostMemory = false,
    chosen,
  }: CollectiveRequest,
): readonly Candidate[] {
  if (library === 'mpich' || library === 'open-mpi')
    return mpiCandidates(
      library,
      kind,
      cluster,
      inHostMemory ? { ...links, hostLink: undefined } : links,
      bytes,
    );
  const candidates = ncclCandidates(library, kind, links, bytes, measuredStartup(links.generation), chosen);
  const isHierarchical = algorithm === 'two-level ring' || algorithm === 'blueconnect';
  return isHierarchical && kind === 'all-reduce'
    ? [...candidates, ...hierarchicalCandidates(library, links, bytes)]
    : candidates;
}

function defaultLibrary(cluster: ClusterProfile): NcclVersionName | MpiLibrary {
  if (cluster.gpu.architecture === 'cpu') return 'open-mpi';
  return cluster.nccl === undefined ? newestNccl : ncclVersionOf(cluster.nccl.release);
}

function fastest(candidates: readonly Candidate[]): Candidate | undefined {
  let best: Candidate | undefined;
  for (const candidate of candidates) {
    if (best === undefined || wholeTime(candidate) < wholeTime(best)) best = candidate;
  }
  return best;
}

const wholeTime = ({ startup, transfer, filling = seconds(0) }: Candidate): number =>
  startup + filling + transfer;

function resultOf(
  candidate: Candidate | undefined,
  links: Links,
  { kind, bytes }: CollectiveRequest,
  factor: number,
): CollectiveTime {
  if (candidate === undefined) return noCommunication;
  const { algorithm, protocol, startup, filling = 0 } = candidate;
  const transfer = (filling + candidate.transfer) * factor;
  const time = seconds(startup + transfer);
  const doubt = candidate.slowest === 'host' ? measuredLink : links.doubt[candidate.slowest];
  // On a busy network start-ups wait, too.
  const startupHigh =
    links.nodes > 1 ? Math.max(measuredLink.high, links.doubt.network.high) : measuredLink.high;
  const bus = bytesPerSecond((bytes / time) * busFactor(kind, links.ranks));
  return {
    time,
    low: seconds(startup * measuredLink.low + transfer * doubt.low),
    high: seconds(startup * startupHigh + transfer * doubt.high),
    algorithm,
    protocol,
    busBandwidth: bus,
    startup,
    bound: startup > transfer ? 'start-up' : candidate.slowest,
    description: `${algorithm} (${protocol ?? 'MPI'}) over ${links.title}, ${links.ranks} ${links.device}, ${formatBandwidth(bus)} bus bandwidth`,
  };
}
