/**
 * Constants of NCCL's tuning model by version, as data.
 *
 * Source: NVIDIA/nccl, src/graph/tuning.cc of each version (2.20: commit b6475625, 2.21: ab2b89c4, 2.30: June 2026).
 * Latencies in µs in the order LL, LL128, Simple; bandwidths in GB/s. A version between two of these behaves as the one
 * before it.
 */

import type { CollectiveKind } from '../collectiveKind.ts';

export const ncclVersionNames = [
  '2.3',
  '2.4',
  '2.5.7',
  '2.8.4',
  '2.12',
  '2.18',
  '2.20',
  '2.21',
  '2.30',
] as const;
export type NcclVersionName = (typeof ncclVersionNames)[number];
export const newestNccl: NcclVersionName = '2.30';

export const protocols = ['LL', 'LL128', 'Simple'] as const;
export type Protocol = (typeof protocols)[number];
type ByProtocol = readonly [number, number, number];
/** At 1, 2, and 3 or more nodes. */
type ByNodes = readonly [number, number, number];
export type Generation = 'volta' | 'ampere' | 'hopper' | 'blackwell';

/** Everything NCCL runs on rings. */
export type RingCollective = Exclude<CollectiveKind, 'all-to-all'>;

interface HopLatency {
  readonly tree: ByProtocol;
  readonly ring: ByProtocol;
}

export interface NcclVersion {
  readonly base: HopLatency;
  readonly hop: { readonly nvlink: HopLatency; readonly pcie: HopLatency; readonly network: HopLatency };
  /**
   * Share of the ring's bandwidth that LL and LL128 move. Before 2.21 LL moves a quarter: half of its bytes are flags, and
   * the model halves it again (a third where one node broadcasts, gathers or scatters, which is not kept apart here).
   */
  readonly ringShare: readonly [number, number];
  /** Share of the links' bandwidth that a tree gets, and what LL divides or LL128 multiplies it by (1 node, more). */
  readonly tree: {
    readonly share: number;
    readonly llDivisor: number;
    readonly ll128: readonly [number, number];
  };
  /** Per channel unless it says otherwise. */
  readonly caps: {
    readonly llTotal: Readonly<Record<Generation, ByNodes>> | undefined;
    readonly ringLl128: Readonly<Record<Generation, ByNodes>> | undefined;
    /** Where it depended on the collective: per channel (2.8.4), or all channels together (2.5.7). */
    readonly ringLl128Of: Readonly<Record<RingCollective, number>> | undefined;
    readonly treeLl128: Readonly<Record<Generation, ByNodes>> | undefined;
    readonly treeSimple: Readonly<Record<Generation, ByNodes>> | undefined;
    /** Of a tree, all channels together (2.5.7). */
    readonly treeTotal: ByNodes | undefined;
    readonly ringLl128TotalOf: Readonly<Record<RingCollective, number>> | undefined;
  };
  /** Latency of NVLink SHARP: base, inside a node, and per level of the tree between nodes. */
  readonly nvls: { readonly base: number; readonly inside: number; readonly tree: number } | undefined;
  /** PAT, for all-gather and reduce-scatter with one GPU per node. */
  readonly hasPat: boolean;
  /** LL128 exists from 2.5; a bandwidth correction of trees by size from 2.8. */
  readonly correctsTreeBySize: boolean;
  /** Factor on the latency of a ring of large Simple messages over several nodes: Ampere and newer, older. */
  readonly largeRingLatency: readonly [number, number];
}

const llTotalOf = (hopper: ByNodes) => ({
  volta: [39, 39, 20.4] as const,
  ampere: [87.7, 22.5, 19] as const,
  hopper,
  blackwell: hopper,
});

const everyGeneration = (value: number): Readonly<Record<Generation, ByNodes>> => {
  const caps: ByNodes = [value, value, value];
  return { volta: caps, ampere: caps, hopper: caps, blackwell: caps };
};

const ampereTree = (ampere: ByNodes): Readonly<Record<Generation, ByNodes>> => ({
  volta: [26.5, 18.5, 10],
  ampere,
  hopper: ampere,
  blackwell: ampere,
});

const v257: NcclVersion = {
  base: { tree: [4.4, 4.4, 0], ring: [3.6, 3.6, 8.4] },
  hop: {
    nvlink: { tree: [0.5, 1.9, 28], ring: [0.4, 2.5, 5.7] },
    pcie: { tree: [1, 1.9, 28], ring: [1, 2.5, 5.7] },
    network: { tree: [5, 7.5, 50], ring: [0.9, 2.5, 6.6] },
  },
  ringShare: [0.25, 120 / 128],
  tree: { share: 0.9, llDivisor: 3, ll128: [7 / 9, 7 / 9] },
  caps: {
    llTotal: undefined,
    ringLl128: undefined,
    treeLl128: undefined,
    treeSimple: undefined,
    treeTotal: [90, 70, 70],
    ringLl128Of: undefined,
    ringLl128TotalOf: {
      broadcast: 113,
      reduce: 72,
      'all-gather': 110,
      'reduce-scatter': 91,
      'all-reduce': 100,
    },
  },
  nvls: undefined,
  hasPat: false,
  correctsTreeBySize: false,
  largeRingLatency: [1, 1],
};

const v284: NcclVersion = {
  base: { tree: [4.4, 4.4, 0], ring: [3.6, 10, 8.4] },
  hop: {
    nvlink: { tree: [0.52, 1.25, 28], ring: [0.47, 1.9, 3.4] },
    pcie: { tree: [1, 1.9, 28], ring: [1, 2.5, 5.7] },
    network: { tree: [5, 8.5, 28], ring: [2.7, 4, 9.6] },
  },
  ringShare: [0.25, 0.92],
  tree: { share: 0.92, llDivisor: 3.8, ll128: [7 / 9, 120 / 128] },
  caps: {
    llTotal: llTotalOf([87.7, 22.5, 19]),
    ringLl128: undefined,
    ringLl128Of: {
      broadcast: 18.8,
      reduce: 12,
      'all-gather': 18.3,
      'reduce-scatter': 15.2,
      'all-reduce': 16.9,
    },
    treeLl128: everyGeneration(16.9),
    treeSimple: ampereTree([24, 22.5, 16]),
    treeTotal: undefined,
    ringLl128TotalOf: undefined,
  },
  nvls: undefined,
  hasPat: false,
  correctsTreeBySize: true,
  largeRingLatency: [1.4, 1.9],
};

const v212: NcclVersion = {
  ...v284,
  hop: { ...v284.hop, network: { tree: [5, 8.5, 28], ring: [2.7, 4, 28] } },
  caps: {
    ...v284.caps,
    ringLl128: everyGeneration(20),
    ringLl128Of: undefined,
    treeLl128: everyGeneration(20),
    treeSimple: ampereTree([24, 23.6, 17.8]),
  },
};

const v218: NcclVersion = {
  ...v212,
  base: { tree: [6.8, 14, 0], ring: [6.6, 14, 8.4] },
  hop: {
    nvlink: { tree: [0.6, 1.25, 4], ring: [0.6, 1.9, 3.4] },
    pcie: { tree: [1, 1.9, 6], ring: [1, 2.5, 5.7] },
    network: { tree: [5, 8.5, 14], ring: [2.7, 4, 14] },
  },
  nvls: { base: 23, inside: 0, tree: 19 },
};

const hopperLl128: Pick<NcclVersion['caps'], 'ringLl128' | 'treeLl128' | 'treeSimple'> = {
  ringLl128: {
    volta: [20, 20, 20],
    ampere: [20, 20, 20],
    hopper: [36.7, 36.7, 36.7],
    blackwell: [36.7, 36.7, 36.7],
  },
  treeLl128: {
    volta: [20, 20, 20],
    ampere: [20, 20, 20],
    hopper: [36.7, 36.7, 29],
    blackwell: [36.7, 36.7, 29],
  },
  treeSimple: {
    volta: [26.5, 18.5, 10],
    ampere: [24, 23.6, 17.8],
    hopper: [38.7, 41.4, 36],
    blackwell: [38.7, 41.4, 36],
  },
};

const v220: NcclVersion = {
  ...v218,
  hop: {
    nvlink: { tree: [0.6, 1.25, 28], ring: [0.6, 1.9, 3.4] },
    pcie: { tree: [1, 1.9, 28], ring: [1, 2.5, 5.7] },
    network: { tree: [5, 8.5, 28], ring: [2.7, 4, 14] },
  },
  caps: { ...v218.caps, ...hopperLl128 },
  nvls: { base: 0, inside: 23, tree: 14 },
};

const v221: NcclVersion = {
  ...v220,
  ringShare: [0.5, 0.92],
  caps: { ...v220.caps, llTotal: llTotalOf([141, 45, 35]) },
  nvls: { base: 0, inside: 25, tree: 14 },
};

const v230: NcclVersion = {
  ...v221,
  base: { tree: [6.8, 14, 8.4], ring: [6.6, 14, 8.4] },
  hop: {
    nvlink: { tree: [0.6, 1.25, 4], ring: [0.6, 1.9, 3.4] },
    pcie: { tree: [1, 1.9, 4], ring: [1, 2.5, 5.7] },
    network: { tree: [5, 8.5, 14], ring: [2.7, 4, 14] },
  },
  caps: {
    llTotal: { ...llTotalOf([141, 45, 35]), blackwell: [282, 90, 70] },
    ringLl128: {
      volta: [20, 20, 20],
      ampere: [20, 20, 20],
      hopper: [36.7, 36.7, 36.7],
      blackwell: [40, 40, 40],
    },
    treeLl128: {
      volta: [20, 20, 20],
      ampere: [20, 20, 20],
      hopper: [36.7, 36.7, 29],
      blackwell: [55.6, 31.67, 20],
    },
    treeSimple: {
      volta: [26.5, 18.5, 10],
      ampere: [24, 23.6, 17.8],
      hopper: [38.7, 41.4, 36],
      blackwell: [70, 42.8, 24],
    },
    treeTotal: undefined,
    ringLl128Of: undefined,
    ringLl128TotalOf: undefined,
  },
  nvls: { base: 0, inside: 25, tree: 20.9 },
  hasPat: true,
};

/** Versions that choose by a model: 2.4 goes by a threshold (`version24.ts`), those before have rings only (`version23.ts`). */
export type TunedVersionName = Exclude<NcclVersionName, '2.3' | '2.4'>;

export const ncclVersions: Readonly<Record<TunedVersionName, NcclVersion>> = {
  '2.5.7': v257,
  '2.8.4': v284,
  '2.12': v212,
  '2.18': v218,
  '2.20': v220,
  '2.21': v221,
  '2.30': v230,
};

/** The version of this table that a release such as "2.19.3" behaves as; older than 2.4 is 2.3. */
export function ncclVersionOf(release: string): NcclVersionName {
  const [major = 0, minor = 0] = release.split('.').map(Number);
  if (major > 2) return newestNccl;
  if (major < 2) return '2.3';
  const known: readonly (readonly [number, NcclVersionName])[] = [
    [30, '2.30'],
    [21, '2.21'],
    [20, '2.20'],
    [18, '2.18'],
    [12, '2.12'],
    [8, '2.8.4'],
    [5, '2.5.7'],
    [4, '2.4'],
  ];
  return known.find(([from]) => minor >= from)?.[1] ?? '2.3';
}

/** NCCL's rows of caps by GPU: everything before Ampere is Volta's. */
export function generationOf(architecture: string): Generation {
  if (architecture === 'ampere' || architecture === 'hopper' || architecture === 'blackwell') {
    return architecture;
  }
  if (architecture === 'blackwell-rtx') return 'blackwell';
  return architecture === 'ada' ? 'ampere' : 'volta';
}
