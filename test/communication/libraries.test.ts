/**
 * Collectives as their library runs them, on clusters of known links: by MPI through host memory, and level by level.
 *
 * 10 GbE: α 27 µs of a message, 58 µs of a step of Open MPI's ring, twice 27 µs more where its share reaches 64 KiB;
 * 1.2 GB/s. Sums in host memory take γ = 1.6 ns a byte, and copies go over the host link of the GPU, one after another.
 */

import { expect, test } from 'vitest';
import { type CollectiveRequest, collectiveTime } from '../../server/src/communication/collectiveTime.ts';
import { placeGpus } from '../../server/src/communication/placement.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import { bytes } from '../../server/src/model/units.ts';

const us = 1e-6;
const β = 1 / 1.2e9;
const γ = 1.6e-9;
const hostLink = findCluster('k80-10gbe')?.gpu.hostLink?.value ?? Number.NaN;
const copied = (size: number, gpus = 1): number => (2 * size * gpus) / hostLink;

type Row = readonly [
  cluster: string,
  gpus: number,
  nodes: number,
  request: Omit<CollectiveRequest, 'bytes'>,
  size: number,
  algorithm: string,
  bound: string,
  time: number,
];

const openMpi = { kind: 'all-reduce', library: 'open-mpi' } as const;
const mpich = { kind: 'all-reduce', library: 'mpich' } as const;
const twoLevel = { kind: 'all-reduce', algorithm: 'two-level ring' } as const;
const share = 64 * 1024;
const mb = 1_000_000;

const rows: readonly Row[] = [
  // Three rounds below 10,000 B; a ring of 14 steps from there on, longer where a share reaches 64 KiB.
  [
    'k80-10gbe',
    8,
    8,
    openMpi,
    9_999,
    'recursive doubling',
    'start-up',
    3 * (27 * us + 9_999 * (β + γ)) + copied(9_999),
  ],
  [
    'k80-10gbe',
    8,
    8,
    openMpi,
    10_000,
    'ring',
    'start-up',
    14 * 58 * us + (7 / 8) * 10_000 * (2 * β + γ) + copied(10_000),
  ],
  [
    'k80-10gbe',
    8,
    8,
    openMpi,
    8 * (share - 1),
    'ring',
    'network',
    14 * 58 * us + 7 * (share - 1) * (2 * β + γ) + copied(8 * (share - 1)),
  ],
  [
    'k80-10gbe',
    8,
    8,
    openMpi,
    8 * share,
    'ring',
    'start-up',
    14 * 112 * us + 7 * share * (2 * β + γ) + copied(8 * share),
  ],
  [
    'k80-10gbe',
    8,
    8,
    { ...openMpi, inHostMemory: true },
    8 * share,
    'ring',
    'start-up',
    14 * 112 * us + 7 * share * (2 * β + γ),
  ],
  // 32 ranks pass the ring; the GPUs of a node copy one after another and add three quarters each.
  [
    'k80-10gbe',
    32,
    8,
    openMpi,
    mb,
    'ring',
    'network',
    62 * 58 * us + (7 / 8) * mb * (2 * β + γ) + copied(mb, 4) + (3 / 4) * mb * γ,
  ],
  // Shares of 2 MB in two segments: two starts of the sum and one of the gather; of β and γ the smaller hides by half.
  [
    'k80-10gbe',
    2,
    2,
    openMpi,
    4 * mb,
    'segmented ring',
    'network',
    3 * 112 * us + 2 * mb * γ + mb * β + 2 * mb * β + copied(4 * mb),
  ],
  ['k80-10gbe', 2, 2, openMpi, 2 * mb, 'ring', 'network', 2 * 112 * us + mb * (2 * β + γ) + copied(2 * mb)],
  [
    'k80-10gbe',
    8,
    8,
    mpich,
    2048,
    'recursive doubling',
    'start-up',
    3 * (27 * us + 2048 * (β + γ)) + copied(2048),
  ],
  [
    'k80-10gbe',
    8,
    8,
    mpich,
    2049,
    'halving-doubling',
    'start-up',
    6 * 27 * us + (7 / 8) * 2049 * (2 * β + γ) + copied(2049),
  ],
  // One node: nothing crosses a network, the host adds.
  ['k80-10gbe', 4, 1, mpich, mb, 'ring', 'host', copied(mb, 4) + (3 / 4) * mb * γ],
  [
    'k80-10gbe',
    8,
    8,
    { ...mpich, kind: 'all-gather' },
    mb,
    'ring',
    'network',
    7 * 27 * us + (7 / 8) * mb * β + copied(mb),
  ],
  [
    'k80-10gbe',
    8,
    8,
    { ...mpich, kind: 'reduce-scatter' },
    mb,
    'ring',
    'network',
    7 * 27 * us + (7 / 8) * mb * (β + γ) + copied(mb),
  ],
  [
    'k80-10gbe',
    8,
    8,
    { ...mpich, kind: 'all-to-all' },
    mb,
    'pairwise',
    'network',
    7 * 27 * us + (7 / 8) * mb * β + copied(mb),
  ],
  [
    'k80-10gbe',
    8,
    8,
    { ...mpich, kind: 'broadcast' },
    1000,
    'tree',
    'start-up',
    3 * (27 * us + 1000 * β) + copied(1000),
  ],
  [
    'k80-10gbe',
    8,
    8,
    { ...mpich, kind: 'reduce' },
    mb,
    'ring',
    'network',
    10 * 27 * us + (7 / 4) * mb * β + copied(mb),
  ],
  // CPUs have no copies, and Open MPI; 1.179 GB/s.
  [
    'cpu-10gbe',
    8,
    8,
    { kind: 'all-reduce' },
    4,
    'recursive doubling',
    'start-up',
    3 * (27 * us + 4 * (1 / 1.179e9 + γ)),
  ],
  // RDMA: at most 3 µs a message; one GPU reaches one of eight ports of 24 GB/s.
  [
    'dgx-a100',
    8,
    8,
    { ...mpich, inHostMemory: true },
    1024,
    'recursive doubling',
    'start-up',
    3 * (3 * us + 1024 * (1 / 24e9 + γ)),
  ],
  // 3.4 µs and 235 GB/s inside, 14 µs and 192 GB/s of a node between; a launch of 8.4 µs for each of three collectives.
  [
    'dgx-a100',
    16,
    2,
    twoLevel,
    64 * mb,
    'two-level ring',
    'link',
    (14 * 3.4 + 2 * 14 + 3 * 8.4) * us + (7 / 4) * ((64 * mb) / 235e9) + (64 * mb) / 192e9,
  ],
  [
    'dgx-a100',
    64,
    8,
    { ...twoLevel, algorithm: 'blueconnect' },
    64 * mb,
    'blueconnect',
    'network',
    (14 * 3.4 + 14 * 14 + 3 * 8.4) * us + (7 / 4) * ((64 * mb) / 235e9) + (7 / 4) * ((64 * mb) / 192e9),
  ],
  [
    'dgx-a100',
    4,
    4,
    twoLevel,
    64 * mb,
    'two-level ring',
    'network',
    (6 * 14 + 8.4) * us + 1.5 * ((64 * mb) / 24e9),
  ],
  [
    'dgx-a100',
    8,
    1,
    twoLevel,
    64 * mb,
    'two-level ring',
    'link',
    (14 * 3.4 + 2 * 8.4) * us + (7 / 4) * ((64 * mb) / 235e9),
  ],
  // NCCL: 8.4 µs; inside 1.4 times the latency of a step for each of 7 others, at least 3 µs where a network is; eight of the
  // other nodes' GPUs at a time, over the ports that the node shares.
  [
    'dgx-h100',
    8,
    1,
    { kind: 'all-to-all' },
    64 * mb,
    'pairwise',
    'link',
    (8.4 + 7 * 1.4 * 3.4) * us + ((7 / 8) * 64 * mb) / 367e9,
  ],
  [
    'dgx-h100',
    32,
    4,
    { kind: 'all-to-all' },
    64 * mb,
    'pairwise',
    'network',
    (8.4 + 7 * 1.4 * 3.4 + (24 / 8) * 14) * us + (64 * mb * 8 * (24 / 32)) / 387e9,
  ],
  // Of 8 copies by chance 8·(1 − (7/8)⁸) = 5.25 go to different ranks; each passes NVLink but for what stays.
  [
    'dgx-h100',
    8,
    1,
    { kind: 'all-to-all', chosen: 8 },
    64 * mb,
    'pairwise',
    'link',
    (8.4 + 7 * 1.4 * 3.4) * us + (((1 - (7 / 8) ** 8) * 7) / 8 / 367e9) * 64 * mb,
  ],
  // 4·(1 − (3/4)⁸) = 3.6 of 4 nodes for 8 copies: 0.45 of what they would send.
  [
    'dgx-h100',
    32,
    4,
    { kind: 'all-to-all', chosen: 8 },
    64 * mb,
    'pairwise',
    'network',
    (8.4 + 7 * 1.4 * 3.4 + (24 / 8) * 14) * us +
      (((4 * (1 - (3 / 4) ** 8)) / 8) * 64 * mb * 8 * (24 / 32)) / 387e9,
  ],
  // Parallel aggregated trees: 8 µs, lg 8 steps at 1/3.5, 2.8 µs a rank; three quarters of one port of eight.
  [
    'dgx-h100',
    8,
    8,
    { kind: 'all-gather', algorithm: 'pat' },
    64 * mb,
    'pat',
    'network',
    (8 + (3 * 14) / 3.5 + 2.8 * 8) * us + ((7 / 8) * 64 * mb) / (0.75 * (387e9 / 8)),
  ],
  [
    'dgx-h100',
    8,
    8,
    { kind: 'reduce-scatter', algorithm: 'pat' },
    1000,
    'pat',
    'start-up',
    (8 + (3 * 14) / 3.5 + 2.8 * 8) * us + ((7 / 8) * 1000) / (0.75 * (387e9 / 8)),
  ],
];

test.each(rows)(
  '%s, %d GPUs of %d nodes, %o, %d B: %s, %s',
  (name, gpus, nodes, request, size, algorithm, bound, time) => {
    const cluster = findCluster(name);
    if (cluster === undefined) throw new Error(name);
    const taken = collectiveTime(cluster, placeGpus(gpus, nodes), { ...request, bytes: bytes(size) });
    expect([taken.algorithm, taken.bound]).toEqual([algorithm, bound]);
    expect(taken.time / time).toBeCloseTo(1, 6);
  },
);
