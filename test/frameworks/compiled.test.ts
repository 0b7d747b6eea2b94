/** `torch.compile` against Inductor and AOTAutograd themselves (`measured/compiled-graphs.csv`), and by what must hold. */

import { describe, expect, it, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { columnStages } from '../../server/src/frameworks/pytorch/compiled/columnStages.ts';
import { fuse } from '../../server/src/frameworks/pytorch/compiled/fuse.ts';
import { keptOf } from '../../server/src/frameworks/pytorch/compiled/keep.ts';
import type { Step } from '../../server/src/frameworks/pytorch/compiled/step.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import { compiledFigures, compiledRows } from '../support/compiledGraphs.ts';

const apart = (own: number, real: number): number => Math.abs(own / real - 1);

interface Tolerance {
  readonly forward: number;
  readonly backward: number;
  readonly forwardBytes: number;
  readonly backwardBytes: number;
}

const usual: Tolerance = { forward: 0.05, backward: 0.15, forwardBytes: 0.12, backwardBytes: 0.1 };

/** What is known to be farther away, with the reason. */
const farther: ReadonlyMap<string, Partial<Tolerance>> = new Map([
  // Copies of keys and values for every query head, and of halves that are rotated, are views here: their kernels are missing.
  ['tinyllama fp32', { forward: 0.25, backward: 0.25 }],
  // Heads are copied side by side for each product, which are views here.
  ['prenorm fp32', { forward: 0.6, forwardBytes: 0.3 }],
  ['prenorm bf16', { forward: 0.6, forwardBytes: 0.3 }],
  // Casts of biases are not counted, and zeros are not made for a product's first gradient.
  ['mlp bf16', { forward: 0.15, backward: 0.25, forwardBytes: 0.2 }],
  // The scheduler counts the picked score of each row as if all were read.
  ['scores fp32', { forward: 0.35, forwardBytes: 0.55 }],
  ['scores bf16', { forward: 0.3, forwardBytes: 0.5 }],
]);

describe('generated kernels, their traffic and kept bytes are those of torch.compile', () => {
  for (const row of compiledRows()) {
    test(`${row.model} in ${row.precision}: ${row.graph}`, () => {
      const own = compiledFigures(row);
      const told = JSON.stringify({ own, row });
      const tolerance = { ...usual, ...farther.get(`${row.model} ${row.precision}`) };
      expect(apart(own.forward, row.forward), told).toBeLessThan(tolerance.forward);
      expect(apart(own.backward, row.backward), told).toBeLessThan(tolerance.backward);
      for (const pass of ['forwardBytes', 'backwardBytes'] as const) {
        const real = row[pass];
        if (real !== undefined) expect(apart(own[pass], real), told).toBeLessThan(tolerance[pass]);
      }
      expect(apart(own.saved, row.saved), told).toBeLessThan(0.03);
    });
  }
});

describe('sums over columns are split as Inductor splits them on an A100', () => {
  // Launches as the wrappers of measured/compiled-graphs.csv have them.
  const rows = [
    { rows: 8, columns: 1000, apart: true, stages: 1 },
    { rows: 4096, columns: 256, apart: true, stages: 2 },
    { rows: 100_352, columns: 64, apart: true, stages: 3 },
    { rows: 65_536, columns: 32, apart: false, stages: 2 },
    { rows: 392, columns: 2048, apart: false, stages: 1 },
    { rows: 4096, columns: 8192, apart: true, stages: 1 },
  ];
  test.each(rows)('$rows rows of $columns columns: $stages', ({ rows, columns, apart, stages }) => {
    expect(columnStages(rows, columns, apart)).toBe(stages);
  });
});

describe('steps are fused', () => {
  const pointwise = (reads: readonly string[], write: string, domain = 100): Step => ({
    operator: 0,
    kind: 'pointwise',
    domain,
    reads,
    writes: [write],
    operations: domain,
  });
  const extern = (reads: readonly string[], write: string): Step => ({
    ...pointwise(reads, write),
    kind: 'extern',
    kernels: [],
  });
  const check = (steps: readonly Step[], kernels: number, bytes: number): void => {
    const fused = fuse(steps, {
      bytesOf: () => 400,
      isNeeded: (value) => value === 'out',
    });
    expect(fused.generated).toBe(kernels);
    const moved = [...fused.kernels.values()].flat().reduce((total, work) => total + work.bytes, 0);
    expect(moved).toBe(bytes);
  };
  test('a chain reads its input once and writes its result once', () => {
    check([pointwise(['a'], 'b'), pointwise(['b'], 'c'), pointwise(['c', 'a'], 'out')], 1, 800);
  });
  test('a matmul between two chains parts them', () => {
    check([pointwise(['a'], 'b'), extern(['b'], 'c'), pointwise(['c'], 'out')], 2, 1600);
  });
  test('a sum of what came before a matmul and after it is read twice, and closes no circle', () => {
    check([pointwise(['a'], 'b'), extern(['b'], 'c'), pointwise(['b', 'c'], 'out')], 2, 2000);
  });
  test('a reduction of rows takes in what comes before and after it', () => {
    const rows: Step = { ...pointwise(['b'], 'c'), kind: 'rows', rowLength: 10, rowClass: 'reduction' };
    check([pointwise(['a'], 'b'), rows, pointwise(['c'], 'out')], 1, 800);
  });
  test('a window reads what is stored', () => {
    const window: Step = { ...pointwise(['b'], 'out', 50), kind: 'window' };
    check([pointwise(['a'], 'b'), window], 2, 1600);
  });
  test('what nobody reads is not computed', () => check([pointwise(['a'], 'b')], 0, 0));
});

test('a loss that is not compiled keeps its log-softmax and that in fp32, in the place of scores and two numbers a row', () => {
  const row = compiledRows().find(({ model, precision }) => model === 'scores' && precision === 'bf16');
  if (row === undefined) throw new Error('no row');
  const [rows, classes] = [row.batch, 50_257];
  expect(compiledFigures(row, false).saved - compiledFigures(row).saved).toBe(
    rows * (2 * classes + 4 * classes - 2 * classes - 8),
  );
});

test('what can be computed from what is kept anyway is not kept', () => {
  const asked = new Map([
    ['matmul', { mustStay: true, from: ['matmul'] }],
    ['gelu', { mustStay: false, from: ['gelu'] }],
    ['mask', { mustStay: false, from: ['other'] }],
  ]);
  const sources = (key: string) => (key === 'gelu' ? ['matmul'] : undefined);
  expect([...keptOf(asked, sources, (key) => (key === 'mask' ? 100 : 400))].sort()).toEqual([
    'mask',
    'matmul',
  ]);
});

test('CUDA graphs leave the host little to do, and a launch time that is given holds', () => {
  const launch = (options: Readonly<Record<string, string>>) =>
    resolveFramework({ name: 'pytorch-ddp', options }).behaviour.launch.middle * 1e6;
  expect(launch({ compile: 'true' })).toBeCloseTo(5, 9);
  expect(launch({ compile: 'reduce-overhead' })).toBeCloseTo(0.1, 9);
  expect(launch({ compile: 'true', 'launch-us': '40' })).toBeCloseTo(40, 9);
});

it('a lookup reads its rows, and not the table, in whatever kernel it is part of', () => {
  // 16 tokens of a table of 50,000 rows; the norm reads them with the kernel that looks them up.
  const spec = `inputs:\n  tokens: int64[2, 8]\nlayers:\n  - embed: Embedding(50000, 64)\n  - norm: RMSNorm(64)\n  - head: Linear(64, 8)\n`;
  const { training } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [
    { cluster: 'dgx-a100', gpus: 1, precision: 'fp32', mode: 'inference' },
  ]);
  if (training === undefined) throw new Error('not costed');
  const compiled = resolveFramework({ name: 'pytorch-ddp', options: { compile: 'true' } }).behaviour;
  const { operators } = compiled.lower(training, 'fp32', 'inference');
  const generated = operators
    .flatMap((each) => each?.forward ?? [])
    .filter(({ matmuls }) => matmuls === undefined);
  // Rows, tokens, the scale and the result of a normalization, each once; 4 bytes a number, 8 a token.
  const moved = generated.reduce((total, { bytes }) => total + bytes, 0);
  expect(moved).toBeLessThan(2 * (2 * 16 * 64 * 4 + 16 * 8 + 64 * 4));
  expect(moved).toBeGreaterThanOrEqual(2 * 16 * 64 * 4);
});
