/** Which column of a table is the depth shows in its times: rows and columns may change places, the depth may not. */

import { expect, test } from 'vitest';
import { type MeasuredRow, numberIn, readMeasured } from '../../scripts/measured/readMeasured.ts';

const rows = readMeasured('measured', 'products.csv').filter(({ source }) => source === 'neusight');

type Side = 'm' | 'n' | 'k';

/** Median of |ln(time / time with two sides exchanged)|, over matmuls whose sides are four times apart or more. */
function changeBy(left: Side, right: Side): { readonly pairs: number; readonly median: number } {
  const keyOf = (row: MeasuredRow, m: Side, n: Side, k: Side): string =>
    [row.gpu, row.layout, row.batch, row[m], row[n], row[k]].join(' ');
  const exchanged = (side: Side): Side => (side === left ? right : side === right ? left : side);
  const times = new Map(rows.map((row) => [keyOf(row, 'm', 'n', 'k'), numberIn(row, 'microseconds')]));
  const changes: number[] = [];
  for (const row of rows) {
    const other = times.get(keyOf(row, exchanged('m'), exchanged('n'), exchanged('k')));
    const apart = numberIn(row, left) / numberIn(row, right);
    if (other === undefined || Math.max(apart, 1 / apart) < 4) continue;
    changes.push(Math.abs(Math.log(numberIn(row, 'microseconds') / other)));
  }
  changes.sort((a, b) => a - b);
  return { pairs: changes.length, median: changes[Math.floor(changes.length / 2)] ?? Number.NaN };
}

test('k is the depth of the matmuls that NeuSight measured', () => {
  const ofColumns = changeBy('m', 'n');
  for (const withDepth of [changeBy('m', 'k'), changeBy('n', 'k')]) {
    expect(Math.min(ofColumns.pairs, withDepth.pairs)).toBeGreaterThan(100);
    expect(withDepth.median).toBeGreaterThan(3 * ofColumns.median);
  }
});
