/**
 * Rows of embedding tables that GPUs share out travel together where all are looked up before any is used (TorchRec's
 * `EmbeddingBagCollection` has one all-to-all for all of its tables), else each table's by themselves.
 */

import { expect, test } from 'vitest';
import type { ProfiledStep, SyncPoint } from '../../server/src/frameworks/exchange.ts';
import type { Gradient } from '../../server/src/frameworks/gradient.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import { bytes, seconds } from '../../server/src/model/units.ts';

/** A table of 1,000 rows of 8, of which 16 are looked up by operator `from` and used by operator `to`. */
const table = (index: number, from: number, to: number): Gradient => ({
  parameter: `table${index}`,
  index,
  elements: 8000,
  bytes: bytes(32_000),
  readyAfter: 5 - from,
  usedFrom: from,
  table: {
    ...{ index, rows: 1000, width: 8, lookups: 16, isSparse: false, operators: [from] },
    result: { elements: 128, isBag: true, from, to },
  },
});

const profiled: ProfiledStep = {
  backwardEnds: () => Float64Array.from({ length: 6 }, (_, index) => index + 1),
  backwardLaunches: () => Float64Array.from({ length: 6 }, (_, index) => index + 1),
  batchPerGpu: () => 16,
  timeOf: () => seconds(1),
};

test.each([
  ['both looked up before either is used', [table(0, 0, 2), table(1, 1, 3)], ['0+1']],
  ['one used before the other is looked up', [table(0, 0, 1), table(1, 2, 3)], ['0', '1']],
  ['one used where the other is looked up', [table(0, 0, 1), table(1, 1, 3)], ['0', '1']],
  ['three of one place', [table(0, 0, 4), table(1, 1, 4), table(2, 2, 4)], ['0+1+2']],
])('%s', (_, tables, together) => {
  const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options: { embeddings: 'table-wise' } });
  const group = { gpus: 4, nodes: 1, gpusPerNode: 4, operators: 6, precision: 'fp32' } as const;
  const { messages } = behaviour.exchange(tables, group, profiled);
  const carried = new Set(
    messages
      .filter(({ before }) => before.pass === 'forward')
      .map(({ gradients }) => gradients.map(({ index }) => index).join('+')),
  );
  expect([...carried].sort()).toEqual(together);
});

/**
 * Of two tables that travel together: the first is looked up by operator 1 and read from 1 to 4, the second by 0 and read from 2 to 5. Of
 * each, 16 places of 8 bytes go out, and 128 numbers come back in fp32: 512 bytes. Places leave before any is looked up (0); rows once all
 * are (2), before any is used (4); gradients once all are there (5 − 4 = 1), until the first is due (5 − 2 = 3).
 */
const apart = (isBag: boolean): readonly Gradient[] => [
  lookedUp(table(0, 1, 4), [1], isBag, 1),
  lookedUp(table(1, 0, 5), [0], isBag, 2),
];

function lookedUp(gradient: Gradient, operators: readonly number[], isBag: boolean, from: number): Gradient {
  const { table: whole } = gradient;
  if (whole === undefined) throw new Error('no table');
  return { ...gradient, table: { ...whole, operators, result: { ...whole.result, isBag, from } } };
}

const pointText = (point: SyncPoint): string =>
  'position' in point ? `${point.pass} ${point.position}` : point.pass;

test.each<[handling: string, isBag: boolean, mode: 'training' | 'inference', messages: readonly string[]]>([
  [
    'table-wise',
    true,
    'training',
    [
      'all-to-all 256 start → forward 0',
      'all-to-all 1024 forward 2 → forward 4',
      'all-to-all 1024 backward 1 → backward 3',
    ],
  ],
  [
    'row-wise',
    false,
    'training',
    [
      'all-to-all 256 start → forward 0',
      'all-to-all 1024 forward 2 → forward 4',
      'all-to-all 1024 backward 1 → backward 3',
    ],
  ],
  // Each of four GPUs has a part of every bag.
  [
    'row-wise',
    true,
    'training',
    [
      'all-to-all 256 start → forward 0',
      'reduce-scatter 4096 forward 2 → forward 4',
      'all-gather 4096 backward 1 → backward 3',
    ],
  ],
  [
    'row-wise',
    true,
    'inference',
    ['all-to-all 256 start → forward 0', 'reduce-scatter 4096 forward 2 → forward 4'],
  ],
])('%s, of bags: %s, %s', (handling, isBag, mode, expected) => {
  const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options: { embeddings: handling } });
  const group = { gpus: 4, nodes: 1, gpusPerNode: 4, operators: 6, precision: 'fp32' } as const;
  const exchanged = (gpus: number) => {
    const workers = { ...group, gpus, gpusPerNode: gpus };
    return mode === 'training'
      ? behaviour.exchange(apart(isBag), workers, profiled)
      : behaviour.exchangeInInference?.(apart(isBag), workers);
  };
  const messages = exchanged(4)?.messages ?? [];
  expect(
    messages.map(({ bytes: size, after, before, stages: [stage] }) => {
      const collective = stage?.operation.kind === 'collective' ? stage.operation.collective : undefined;
      return `${collective} ${size} ${pointText(after)} → ${pointText(before)}`;
    }),
  ).toEqual(expected);
  // One GPU has all of them.
  expect(exchanged(1)?.messages).toEqual([]);
});
