/** All-reduce level by level over NCCL: inside nodes, then between them; what Horovod calls hierarchical. */

import { type Bytes, bytes, microseconds, type Seconds, seconds } from '../model/units.ts';
import type { Algorithm, Candidate } from './candidate.ts';
import { type Level, twoLevelAllReduce } from './formulas/hierarchical.ts';
import type { Links } from './links.ts';
import { type NcclVersionName, ncclVersions } from './nccl/versions.ts';

/** A two-level ring and BlueConnect, which for two levels are one schedule. The rings between nodes share the node's ports. */
export function hierarchicalCandidates(
  version: NcclVersionName,
  links: Links,
  size: Bytes,
): readonly Candidate[] {
  const [inside, between] = levelsOf(version, links);
  const startup = seconds(twoLevelAllReduce(inside, between, bytes(0)) + levelStarts(links));
  const transfer = seconds(
    twoLevelAllReduce(inside, between, size) - twoLevelAllReduce(inside, between, bytes(0)),
  );
  const slowest =
    (inside.ranks - 1) * inside.link.secondsPerByte * between.ranks >
    (between.ranks - 1) * between.link.secondsPerByte
      ? 'link'
      : 'network';
  return (['two-level ring', 'blueconnect'] as const).map((algorithm: Algorithm) => ({
    algorithm,
    protocol: 'Simple',
    startup,
    transfer,
    slowest,
  }));
}

function levelsOf(name: NcclVersionName, links: Links): readonly [Level, Level] {
  const { hop } = ncclVersions[name === '2.3' || name === '2.4' ? '2.5.7' : name];
  const step = (microsecondsOfHop: number, extra: Seconds): Seconds =>
    seconds(Math.max(0, microseconds(microsecondsOfHop) + extra));
  const { gpusPerNode, nodes } = links;
  return [
    {
      ranks: gpusPerNode,
      link: {
        startup: step(hop[links.kind].ring[2], links.extraLink),
        secondsPerByte: 1 / links.inside,
        reduceSecondsPerByte: 0,
      },
    },
    {
      ranks: nodes,
      link: {
        startup: step(hop.network.ring[2], links.extraNetwork),
        secondsPerByte: gpusPerNode / links.between,
        reduceSecondsPerByte: 0,
      },
    },
  ];
}

/** One launch for each collective of the three: scatter, all-reduce, gather; a trivial level has none. */
const levelStarts = ({ gpusPerNode, nodes }: Links): number =>
  microseconds(8.4) * ((gpusPerNode > 1 ? 2 : 0) + (nodes > 1 ? 1 : 0));
