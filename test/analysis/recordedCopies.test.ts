/** Clones of what is stored are kept for backward beside it. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { withCopies } from '../../server/src/analysis/recordedCopies.ts';
import { isStoredTable } from '../../server/src/analysis/storedTable.ts';
import { onnxModel } from '../support/onnxModel.ts';

const { graph } = analyzeOnnx(
  onnxModel({
    inputs: ['x: float32[N, 4]'],
    outputs: ['y'],
    initializers: ['w: float32[4, 4]', 'queue: int64[4, 4]'],
    nodes: [
      'h = MatMul(x, w)',
      'c = Identity(queue)',
      'd = Identity(c)',
      'g = Identity(h)',
      'y = Gather(g, d)',
    ],
  }),
);

/** Whether `d`, which reads `c`, is there all the time, and which operators are copies, where all identities are of `called`. */
function read(called: string | undefined): readonly [boolean | undefined, readonly string[]] {
  const marked = withCopies(graph, ({ type }) =>
    type === 'Identity' && called !== undefined ? { name: 'call', function: called } : undefined,
  );
  const value = marked.values.get('d');
  const copies = marked.operators.flatMap(({ outputs, isCopy }) => (isCopy ? outputs : []));
  return [value && isStoredTable(marked, value), copies];
}

test('a clone of a buffer is no table, one of what is computed is left to strides', () => {
  expect(read('aten.clone.default')).toEqual([false, ['c']]);
});

test.each([undefined, 'aten.detach.default'])('what is recorded as %s shows the table', (called) => {
  expect(read(called)).toEqual([true, []]);
});

test('contiguous() lays out what it reads, which an archive alone records', () => {
  const laidOut = (called: string) =>
    withCopies(graph, ({ type }) =>
      type === 'Identity' ? { name: 'call', function: called } : undefined,
    ).operators.flatMap(({ outputs, isLaidOut }) => (isLaidOut ? outputs : []));
  expect(laidOut('aten.contiguous.default')).toEqual(['c', 'd', 'g']);
  expect(laidOut('aten.clone.default')).toEqual([]);
});
