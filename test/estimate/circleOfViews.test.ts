/** A graph in a circle is an error, and is costed as far as it goes: whoever follows views comes to an end. */

import { expect, test } from 'vitest';
import { openOnnxText } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';

test.each([
  ['a view of itself', 'x = Reshape (x, s)'],
  ['two views of each other', 'y = Reshape (x, s)\n  x = Reshape (y, s)'],
])('%s that the model gives out', (_, nodes) => {
  const text = `<ir_version: 10, opset_import: ["" : 21]>\ng (float[2, 6] i, int64[2] s) => (float[3, 4] x) {\n  z = Relu (i)\n  ${nodes}\n}\n`;
  const { cost, issues } = estimateModel(openOnnxText(text, 'circle.onnxtxt'), [{}]);
  expect(issues.map(({ code }) => code)).toContain('graph/cycle');
  expect(cost?.totals.time.step).toBeGreaterThanOrEqual(0);
});
