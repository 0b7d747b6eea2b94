import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  halvingDoublingAllReduce,
  recursiveDoublingAllReduce,
  ringAllReduce,
} from '../../server/src/communication/formulas/allReduce.ts';
import { slowdown } from '../../server/src/communication/formulas/contention.ts';
import {
  blueConnectAllReduce,
  twoLevelAllReduce,
} from '../../server/src/communication/formulas/hierarchical.ts';
import { fitLinearCost, type LinkCost } from '../../server/src/communication/formulas/linkCost.ts';
import { mpiAlgorithm, mpiAllReduce } from '../../server/src/communication/formulas/mpi.ts';
import {
  binomialBroadcast,
  pairwiseAllToAll,
  ringAllGather,
  ringReduceScatter,
  scatterAllGatherBroadcast,
} from '../../server/src/communication/formulas/otherCollectives.ts';
import { type Bytes, bytes, type Seconds, seconds } from '../../server/src/model/units.ts';

/** α = 10, β = 1, γ = 1/8: terms can be read off the sum. */
const link: LinkCost = { startup: seconds(10), secondsPerByte: 1, reduceSecondsPerByte: 0.125 };
type Formula = (ranks: number, size: Bytes, link: LinkCost) => Seconds;

// 64 bytes; performance-models §7.1 (Thakur et al. 2005 as in MPICH's comments, Patarasuk and Yuan 2009).
test.each<[string, Formula, number, number]>([
  ['ring of 8: 14α + 7/4·nβ + 7/8·nγ', ringAllReduce, 8, 140 + 112 + 7],
  ['recursive doubling of 8: 3(α + nβ + nγ)', recursiveDoublingAllReduce, 8, 3 * (10 + 64 + 8)],
  [
    'recursive doubling of 6: one more message before and after',
    recursiveDoublingAllReduce,
    6,
    4 * 74 + 3 * 8,
  ],
  ['Rabenseifner of 8: 6α + 7/4·nβ + 7/8·nγ', halvingDoublingAllReduce, 8, 60 + 112 + 7],
  [
    'Rabenseifner of 6: (4 + 2)α + (5/3 + 2)nβ + (5/6 + 1)nγ',
    halvingDoublingAllReduce,
    6,
    60 + (11 / 3) * 64 + (11 / 6) * 8,
  ],
  ['ring all-gather of 8: 7α + 7/8·nβ', ringAllGather, 8, 70 + 56],
  ['ring reduce-scatter of 8: 7α + 7/8·n(β + γ)', ringReduceScatter, 8, 70 + 56 + 7],
  ['binomial broadcast of 8: 3(α + nβ)', binomialBroadcast, 8, 3 * 74],
  ['scatter and all-gather of 8: 10α + 7/4·nβ', scatterAllGatherBroadcast, 8, 100 + 112],
  ['all-to-all of 8: 7α + 7/8·nβ', pairwiseAllToAll, 8, 70 + 56],
])('%s', (_, formula, ranks, time) => {
  expect(formula(ranks, bytes(64), link)).toBeCloseTo(time, 9);
});

const allReduces: readonly (readonly [string, Formula])[] = [
  ['ring', ringAllReduce],
  ['recursive doubling', recursiveDoublingAllReduce],
  ['Rabenseifner', halvingDoublingAllReduce],
];

describe.each(allReduces)('%s', (_, formula) => {
  const anyCase = [fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 0, max: 2 ** 32 })] as const;

  test('never costs time for fewer bytes or more bandwidth, and keeps the lower bound 2(p−1)/p·nβ but for two ranks', () => {
    fc.assert(
      fc.property(...anyCase, (ranks, count) => {
        const size = bytes(count);
        const time = formula(ranks, size, link);
        expect(formula(ranks, bytes(count / 2), link)).toBeLessThanOrEqual(time);
        expect(formula(ranks, size, { ...link, secondsPerByte: 0.5 })).toBeLessThanOrEqual(time);
        if (ranks === 2) return;
        const bare = formula(ranks, size, { ...link, startup: seconds(0), reduceSecondsPerByte: 0 });
        expect(bare * (1 + 1e-12)).toBeGreaterThanOrEqual(((2 * (ranks - 1)) / ranks) * count);
      }),
    );
  });

  test('one rank has nothing to send', () => {
    expect(formula(1, bytes(64), link)).toBe(0);
  });
});

describe('levels', () => {
  const between: LinkCost = { startup: seconds(100), secondsPerByte: 4, reduceSecondsPerByte: 0 };

  test('8 inside, 4 between: 2[7α + 7/8·nβ] + 2[3α + 3/4·n/8·β]', () => {
    const time = twoLevelAllReduce({ ranks: 8, link }, { ranks: 4, link: between }, bytes(64));
    expect(time).toBeCloseTo(140 + 112 + 7 + 600 + 2 * 0.75 * 8 * 4, 9);
  });

  test('BlueConnect over three levels sends what is left of the message at each', () => {
    const level = { ranks: 2, link: between };
    expect(blueConnectAllReduce([level, level, level], bytes(64))).toBeCloseTo(600 + (64 + 32 + 16) * 4, 9);
  });

  test('is a flat ring where one level is trivial', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 512 }), fc.integer({ min: 1, max: 2 ** 30 }), (ranks, count) => {
        const flat = ringAllReduce(ranks, bytes(count), link);
        const trivial = { ranks: 1, link: between };
        expect(twoLevelAllReduce({ ranks, link }, trivial, bytes(count))).toBe(flat);
        expect(twoLevelAllReduce(trivial, { ranks, link }, bytes(count))).toBe(flat);
      }),
    );
  });
});

describe('MPI', () => {
  test.each([
    ['mpich', 8, 2048, 'recursive doubling'],
    ['mpich', 8, 2049, 'halving-doubling'],
    ['open-mpi', 8, 9999, 'recursive doubling'],
    ['open-mpi', 8, 10_000, 'ring'],
    ['open-mpi', 8, 8_000_001, 'segmented ring'],
  ] as const)('%s, %i ranks, %i bytes: %s', (library, ranks, size, algorithm) => {
    expect(mpiAlgorithm(library, ranks, bytes(size))).toBe(algorithm);
  });

  test('segments hide most of the reduction of a large message', () => {
    const size = bytes(64e6);
    const group = {
      ranks: 8,
      nodes: 8,
      link: { ...link, startup: seconds(0) },
      ringStep: () => seconds(0),
    };
    const { time, algorithm } = mpiAllReduce('open-mpi', group, size);
    expect(algorithm).toBe('segmented ring');
    expect(time).toBeLessThan(ringAllReduce(8, size, { ...link, startup: seconds(0) }));
    expect(time).toBeGreaterThan(1.75 * size);
  });
});

describe('linear costs', () => {
  // Totals of the GoogLeNet trace of B-Caffe on two nodes: performance-models §3.4 fits 963 µs + 1.7256e-3 µs/B.
  test('a fit gives back the line', () => {
    const points = [4e3, 1e5, 8e6].map((size) => ({
      size: bytes(size),
      time: seconds(963.187e-6 + 1.725617e-9 * size),
    }));
    expect(fitLinearCost(points)?.startup).toBeCloseTo(963.187e-6, 12);
    expect(fitLinearCost(points)?.secondsPerByte).toBeCloseTo(1.725617e-9, 18);
    expect(fitLinearCost(points.slice(0, 1))).toBeUndefined();
  });
});

describe('contention', () => {
  // DreamDDP scripts/network_benchmark/results.csv: 100 MiB over TCP, ms for 1, 2, 4 and 8 jobs.
  test.each([
    [2, 178.6, 229.1, 389.3, 985.5],
    [4, 218.0, 324.3, 567.9, 1270.7],
    [8, 294.2, 378.2, 648.3, 1489.6],
  ])('%i nodes: within 30 %% of what was measured', (_, alone, two, four, eight) => {
    for (const [jobs, measured] of [
      [2, two],
      [4, four],
      [8, eight],
    ] as const) {
      expect(Math.abs((alone * slowdown(jobs, 0.66)) / measured - 1)).toBeLessThan(0.3);
    }
  });
});
