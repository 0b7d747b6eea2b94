/** Whether all parameters are known where parts of a model are not: by whether its format lists weights, and what is left out. */

import { expect, test } from 'vitest';
import type { ModelFormat } from '../../server/src/analysis/openedModel.ts';
import { hasAllParameters, partsLeftOut } from '../../server/src/estimate/leftOut.ts';

test.each<[ModelFormat, readonly string[], boolean]>([
  // An operator of unknown cost has weights that are listed.
  ['onnx', ['odd'], true],
  ['onnx-text', ['odd'], true],
  ['pt2', ['odd', 'other'], true],
  ['onnx', ['odd', 'part of the file'], false],
  ['pt2', ['part of the file'], false],
  // Weights follow from layers.
  ['layer-spec', ['odd'], false],
])('%s without %j: %s', (format, operators, isWhole) => {
  const unknown = operators.map((operator) => ({ operator }));
  expect(hasAllParameters(format, { exact: false, unknown })).toBe(isWhole);
  expect(hasAllParameters(format, { exact: true, unknown: [] })).toBe(true);
});

test('each message is a part of the file that nobody can cost', () => {
  expect(partsLeftOut(['one', 'two'])).toEqual([
    { operator: 'part of the file', reason: 'one', since: null, atMost: null },
    { operator: 'part of the file', reason: 'two', since: null, atMost: null },
  ]);
  expect(hasAllParameters('onnx', { exact: false, unknown: partsLeftOut(['one']) })).toBe(false);
});
