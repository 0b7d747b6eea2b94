/**
 * Rows of embedding tables that GPUs share out travel together where all are looked up before any is used (TorchRec's
 * `EmbeddingBagCollection` has one all-to-all for all of its tables), else each table's by themselves.
 */

import { expect, test } from 'vitest';
import type { ProfiledStep } from '../../server/src/frameworks/exchange.ts';
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
