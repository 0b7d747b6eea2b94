/** Differences from a mean that a TorchScript export has once: how many operators compute them, and what is said. */

import { expect, test } from 'vitest';
import { openOnnxText } from '../../server/src/analysis/openModel.ts';

const norm = `["/Mean"] u = ReduceMean (x, axes)
  ["/Sub"] c = Sub (x, u)
  ["/Pow"] q = Pow (c, two)
  ["/Mean_1"] s = ReduceMean (q, axes)
  ["/Add"] e = Add (s, eps)
  ["/Sqrt"] d = Sqrt (e)
  ["/Div"] n = Div (c, d)`;
const scaled = '["/Mul"] y = Mul (g, n)';

function differences(nodes: string, producer = 'pytorch'): readonly [number, readonly string[]] {
  const text = `<ir_version: 10, opset_import: ["" : 18], producer_name: "${producer}">\ng (float[2, 8, 4, 4] x, float[2, 8, 4, 4] z) => (float[2, 8, 4, 4] y)\n<int64[1] axes = {1}, float two = {2.0}, float eps = {0.000001}, float[8, 1, 1] g>\n{\n${nodes}\n}\n`;
  const { analysis, issues } = openOnnxText(text, 'norm.onnxtxt');
  const codes = issues.map(({ code }) => code).filter((code) => code === 'graph/assumed-calls');
  return [analysis?.graph.operators.filter(({ type }) => type === 'Sub').length ?? 0, codes];
}

test.each<readonly [string, string, number]>([
  ['a normalization that is written out', `${norm}\n${scaled}`, 2],
  ['one whose square is a product', `${norm.replace('Pow (c, two)', 'Mul (c, c)')}\n${scaled}`, 2],
  ['a difference that three operators read', `${norm}\n["/Mul"] y = Mul (c, n)`, 1],
  [
    'a difference from the mean of something else',
    `${norm.replace('ReduceMean (x', 'ReduceMean (z')}\n${scaled}`,
    1,
  ],
  [
    'a square that is no statistic',
    `${norm.replace('ReduceMean (q', 'Tanh (q').replace('Tanh (q, axes)', 'Tanh (q)')}\n${scaled}`,
    1,
  ],
])('%s', (_, nodes, count) => {
  expect(differences(nodes)).toEqual([count, count === 1 ? [] : ['graph/assumed-calls']]);
});

test('other exporters write what the program computes', () => {
  expect(differences(`${norm}\n${scaled}`, 'tf2onnx')).toEqual([1, []]);
});
