/**
 * Steps that Inductor puts into one kernel, by hand. Bytes are what a kernel reads and writes: each tensor once, 400 bytes of 100
 * elements, unless a case gives it a size. Rules, PyTorch 2.13: torch/_inductor/ir.py, `StorageBox.mark_reuse` and
 * `should_realize_on_reuse` (what is computed again); config.py, `realize_reads_threshold` 4 and `score_fusion_memory_threshold` 10;
 * scheduler.py, `can_fuse_vertical` and `can_fuse_horizontal`; lowering.py, `fallback_handler` (what a library reads is stored).
 */

import { describe, expect, test } from 'vitest';
import { type FusedKernels, fuse } from '../../server/src/frameworks/pytorch/compiled/fuse.ts';
import type { Step } from '../../server/src/frameworks/pytorch/compiled/step.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import { bytes, flops } from '../../server/src/model/units.ts';

const library: KernelWork = {
  class: 'matmul',
  dtype: 'fp32',
  flops: flops(1),
  operations: 0,
  bytes: bytes(7),
  launches: 1,
};

/** `out = rows a b, domain 50` writes `out`; an extern step launches a kernel of a library, of 7 bytes. */
function stepOf(line: string, operator: number): Step {
  const [, writes = '', kind = '', reads = '', more = ''] = /^(.*?) = (\w+) ([^,]*),?(.*)$/.exec(line) ?? [];
  const given = Object.fromEntries(more.split(',').map((pair) => pair.trim().split(' ')));
  const common = {
    operator,
    kind: kind as Step['kind'],
    domain: Number(given.domain ?? (kind === 'extern' ? 0 : 100)),
    reads: reads.split(' ').filter((name) => name !== ''),
    writes: writes.split(' '),
    operations: 100,
  };
  if (kind === 'rows') return { ...common, rowLength: Number(given.row ?? 10), rowClass: 'normalization' };
  if (kind === 'columns') return { ...common, stages: Number(given.stages ?? 1) };
  return kind === 'extern' ? { ...common, kernels: [library] } : common;
}

interface Outside {
  /** Names of what is read beyond this pass. */
  readonly needed?: string;
  readonly sizes?: Readonly<Record<string, number>>;
}

const fused = (steps: readonly Step[], { needed = 'out', sizes = {} }: Outside = {}): FusedKernels =>
  fuse(steps, {
    bytesOf: (value) => sizes[value] ?? 400,
    isNeeded: (value) => needed.split(' ').includes(value),
  });

/** `2: elementwise 800` for a kernel of 800 bytes that the third step ends; `×2` where it is launched twice. */
const textOf = ({ kernels }: FusedKernels): readonly string[] =>
  [...kernels]
    .sort(([one], [other]) => one - other)
    .flatMap(([operator, works]) =>
      works.map(
        (work) =>
          `${operator}: ${work.class} ${work.bytes}${work.launches === 1 ? '' : ` ×${work.launches}`}`,
      ),
    );

test.each<[name: string, lines: readonly string[], kernels: readonly string[], outside?: Outside]>([
  [
    'a tensor is read once, however many steps read it',
    ['b = pointwise a', 'out = pointwise a b a'],
    ['1: elementwise 800'],
  ],
  [
    'a kernel reads all that its steps read, and writes what is needed beyond',
    ['b = pointwise a1 a2', 'c = pointwise b a3', 'out = pointwise c'],
    ['2: elementwise 2000'],
    { needed: 'out c' },
  ],
  ['what nobody reads is not computed', ['b = pointwise a', 'c = rows b', 'd = window a'], []],
  [
    'two results of one tensor are computed side by side',
    ['one = pointwise a', 'two = pointwise a'],
    ['1: elementwise 1200'],
    { needed: 'one two' },
  ],
  [
    'but not for a scale of 8 bytes that both read',
    ['one = pointwise a s', 'two = pointwise b s'],
    ['0: elementwise 808', '1: elementwise 808'],
    { needed: 'one two', sizes: { s: 8 } },
  ],
  [
    'they are for a mask of a byte for each element',
    ['one = pointwise a s', 'two = pointwise b s'],
    ['1: elementwise 1700'],
    { needed: 'one two', sizes: { s: 100 } },
  ],
  [
    'tensors of two sizes are two walks',
    ['one = pointwise a', 'two = pointwise a, domain 50'],
    ['0: elementwise 800', '1: elementwise 800'],
    { needed: 'one two' },
  ],
  [
    'a value of the other size is computed where it is read',
    ['b = pointwise s, domain 10', 'out = pointwise a b'],
    ['1: elementwise 840'],
    { sizes: { s: 40, b: 40 } },
  ],
  [
    'five tensors are read once by two results of what is computed of them',
    ['b = pointwise a1 a2 a3 a4 a5', 'one = pointwise b', 'two = pointwise b'],
    ['2: elementwise 2800'],
    { needed: 'one two' },
  ],
  // Reductions of rows.
  [
    'rows are reduced between what is computed before and behind them',
    ['b = pointwise a', 'c = rows b', 'out = pointwise c w'],
    ['2: normalization 1200'],
  ],
  [
    'rows of two lengths are two kernels',
    ['b = rows a', 'out = rows b, row 20'],
    ['0: normalization 800', '1: normalization 800'],
  ],
  [
    'what is computed of one is part of the other',
    ['b = rows a', 'c = pointwise b', 'out = rows c, row 20'],
    ['1: normalization 800', '2: normalization 800'],
  ],
  ['rows of one length are reduced in turn', ['b = rows a', 'out = rows b'], ['1: normalization 800']],
  [
    'what is computed for nobody has no rows written for it',
    ['b = rows a', 'c = rows b', 'out = pointwise c', 'd = pointwise b, domain 50'],
    ['2: normalization 800'],
  ],
  // Libraries.
  [
    'a library reads what is stored, and launches its own kernels',
    ['b = pointwise a', 'c = extern b', 'out = pointwise c'],
    ['0: elementwise 800', '1: matmul 7', '2: elementwise 800'],
  ],
  [
    'two libraries read one tensor that is stored once',
    ['b = pointwise a', 'one = extern b', 'two = extern b', 'out = pointwise one two'],
    ['0: elementwise 800', '1: matmul 7', '2: matmul 7', '3: elementwise 1200'],
  ],
  [
    'a residual that was stored for a library is read again behind it',
    ['b = pointwise a1 a2', 'c = extern b', 'out = pointwise b c'],
    ['0: elementwise 1200', '1: matmul 7', '2: elementwise 1200'],
  ],
  [
    'what is read behind a library alone is computed there, of however many tensors',
    ['c = pointwise a1 a2 a3 a4 a5', 'd = pointwise c', 'b = extern x', 'out = pointwise b d'],
    ['2: matmul 7', '3: elementwise 2800'],
  ],
  [
    'rows that are read behind a library are stored before it',
    ['b = rows a', 'c = extern x', 'out = pointwise b c'],
    ['0: normalization 800', '1: matmul 7', '2: elementwise 1200'],
  ],
  [
    'a residual around two libraries is computed again where two tensors are read for it, and stored for five',
    [
      'b = pointwise a1 a2',
      'c = pointwise a1 a2 a3 a4 a5',
      'd = extern x',
      'one = pointwise b c d',
      'e = extern one',
      'out = pointwise b c e',
    ],
    // c waits for its first reader: a1 to a5 and d are read, c and the sum written. Then a1 and a2 for b, c and e.
    ['2: matmul 7', '3: elementwise 3200', '4: matmul 7', '5: elementwise 2000'],
  ],
  // A value that a sum over columns reads and another kernel too.
  [
    'a value of four tensors is computed again in the sum',
    ['b = pointwise a1 a2 a3 a4', 's = columns b', 'out = pointwise b'],
    ['1: reduction 1640', '2: elementwise 2000'],
    { needed: 'out s', sizes: { s: 40 } },
  ],
  [
    'one of five is stored for it',
    ['b = pointwise a1 a2 a3 a4 a5', 's = columns b', 'out = pointwise b'],
    ['1: reduction 440', '2: elementwise 2800'],
    { needed: 'out s', sizes: { s: 40 } },
  ],
  [
    'tensors are counted through what is computed again before it',
    ['c = pointwise a1 a2 a3 a4', 'b = pointwise c a5', 's = columns b', 'out = pointwise b'],
    ['2: reduction 440', '3: elementwise 2800'],
    { needed: 'out s', sizes: { s: 40 } },
  ],
  [
    'a stored value counts as one',
    ['c = pointwise a1 a2 a3 a4', 'b = pointwise c a5', 's = columns b', 'out = pointwise b'],
    // c is written for the caller: the sum reads that and a5 again.
    ['2: reduction 840', '3: elementwise 2800'],
    { needed: 'out s c', sizes: { s: 40 } },
  ],
  [
    'a value that the sum alone reads is not stored',
    ['b = pointwise a1 a2 a3 a4 a5', 's = columns b'],
    ['1: reduction 2040'],
    { needed: 's', sizes: { s: 40 } },
  ],
  [
    'rows that a sum reads are stored',
    ['b = rows a', 's = columns b'],
    ['0: normalization 800', '1: reduction 440'],
    { needed: 's', sizes: { s: 40 } },
  ],
  // Sums over columns.
  [
    'what follows a sum is another kernel',
    ['s = columns a', 'out = pointwise a s'],
    ['0: reduction 440', '1: elementwise 840'],
    { sizes: { s: 40 } },
  ],
  [
    'what follows a sum of a value is no kernel with that value',
    ['b = pointwise a1 a2 a3 a4 a5', 's = columns b', 'out = pointwise b s'],
    ['0: elementwise 2400', '1: reduction 440', '2: elementwise 840'],
    { sizes: { s: 40 } },
  ],
  [
    'two sums of one tensor are one kernel, of the stages of the longer one',
    ['s = columns a', 't = columns a b, stages 2'],
    ['1: reduction 880 ×2'],
    { needed: 's t', sizes: { s: 40, t: 40 } },
  ],
  [
    'a sum is no kernel with what is computed element by element',
    ['s = columns a', 'out = pointwise a'],
    ['0: reduction 440', '1: elementwise 800'],
    { needed: 'out s', sizes: { s: 40 } },
  ],
  // Windows.
  [
    'a window reads what is stored, and is computed with what follows it',
    ['b = pointwise a', 'c = window b, domain 25', 'out = pointwise c, domain 25'],
    ['0: elementwise 800', '2: elementwise 500'],
    { sizes: { c: 100, out: 100 } },
  ],
  [
    'what a window reads waits for what it can be computed with',
    ['c = pointwise a', 'b = extern x', 'e = pointwise a b', 'out = window c e'],
    ['1: matmul 7', '2: elementwise 1600', '3: elementwise 1200'],
  ],
])('%s', (_, lines, kernels, outside) => {
  expect(textOf(fused(lines.map(stepOf), outside))).toEqual(kernels);
});

describe('a kernel', () => {
  test('has the operations of its steps, the row of its reduction, and counts once', () => {
    const [before, rows] = ['b = pointwise a', 'out = rows b'].map(stepOf);
    if (before === undefined || rows === undefined) throw new Error('no steps');
    const { kernels, generated } = fused([
      { ...before, operations: 3 },
      { ...rows, operations: 40, rowClass: 'reduction' },
    ]);
    const common = { class: 'reduction', dtype: 'fp32', flops: 0, launches: 1, rowLength: 10 };
    expect([...kernels.values()]).toEqual([[{ ...common, operations: 43, bytes: 800 }]]);
    expect(generated).toBe(1);
  });
  test('of a sum in three stages counts three times', () => {
    const made = fused([stepOf('s = columns a, stages 3', 0)], { needed: 's', sizes: { s: 40 } });
    expect([made.generated, textOf(made)]).toEqual([3, ['0: reduction 440 ×3']]);
  });
  test('that a step launches beside its part is counted: zeros that are scattered into', () => {
    const made = fused([{ ...stepOf('s = columns a', 0), kernels: [library] }], { needed: 's' });
    expect([made.generated, textOf(made)]).toEqual([2, ['0: matmul 7', '0: reduction 800']]);
  });
  test('of a library is none that Inductor generated', () => {
    expect(fused([stepOf('out = extern a', 0)]).generated).toBe(0);
  });
  test('of no elements is not launched', () => {
    expect(fused([stepOf('out = pointwise a, domain 0', 0)]).generated).toBe(0);
  });
});
