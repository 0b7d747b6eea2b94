/** Graphs inside graphs: regions are looked into, control flow is unknown by its name (`test/formats/pt2/writeArchives.py`). */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openModel } from '../../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';

test('regions of autocast are their operators, no gradient passes behind `no_grad` and `detach`, and `cond` is unknown', () => {
  const bytes = new Uint8Array(readFileSync(new URL('regions.pt2', import.meta.url)));
  const { analysis, issues } = openModel(byteSourceOfBuffer(bytes), 'regions.pt2');
  const types = analysis?.graph.operators.map(({ domain, type }) =>
    domain === '' ? type : `${domain}.${type}`,
  );
  expect(types).toEqual([
    ...['Gemm', 'Cos', 'Identity', 'Gemm', 'ReduceSum', 'Greater', 'Identity', 'Gemm', 'Mul'],
    'higher_order.cond',
  ]);
  const names = (weights: readonly { readonly name: string }[] = []) => weights.map(({ name }) => name);
  expect(names(analysis?.parameters)).toEqual(['head.weight', 'head.bias']);
  expect(names(analysis?.frozen)).toEqual(['fc.weight', 'fc.bias', 'teacher.weight', 'teacher.bias']);
  expect(issues.map(({ code }) => code)).toEqual(['graph/unknown-operator']);
});
