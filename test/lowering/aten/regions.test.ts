/** Graphs inside graphs: regions are looked into, control flow is unknown by its name (`test/formats/pt2/writeArchives.py`). */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openModel } from '../../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';

test('regions without gradient and of autocast are their operators, and `cond` is unknown', () => {
  const bytes = new Uint8Array(readFileSync(new URL('regions.pt2', import.meta.url)));
  const { analysis, issues } = openModel(byteSourceOfBuffer(bytes), 'regions.pt2');
  const types = analysis?.graph.operators.map(({ domain, type }) =>
    domain === '' ? type : `${domain}.${type}`,
  );
  expect(types).toEqual(['Cos', 'Gemm', 'ReduceSum', 'Greater', 'Gemm', 'Mul', 'higher_order.cond']);
  expect(analysis?.parameters.map(({ name }) => name)).toEqual([
    'fc.weight',
    'fc.bias',
    'head.weight',
    'head.bias',
  ]);
  expect(issues.map(({ code }) => code)).toEqual(['graph/unknown-operator']);
});
