/** The lines of a model with their costs, that marks in the gutter and commands go by. */

import { afterEach, expect, it } from 'vitest';
import { type CostRow, listCosts } from '../../server/src/protocol.ts';
import { startTestServer, type TestClient } from './testServer.ts';

let client: TestClient | undefined;
afterEach(async () => {
  await client?.stop();
  client = undefined;
});

const spec = `inputs:
  x: float32[8, 512]
blocks:
  mlp:
    - up: Linear(512, 2048)
    - down: Linear(2048, 512)
layers:
  - body: mlp() * 3
  - view: Flatten()
  - head: Linear(512, 10)
`;
const onnx = `<ir_version: 8, opset_import: ["" : 17]>
g (float[8,64] x, float[64,64] w, float[64,4] v) => (float[8,4] y) {
  h = MatMul(x, w)
  y = MatMul(h, v)
}
`;
const caffe = `name: "n"
input: "data" input_shape { dim: 8 dim: 64 }
layer { name: "a" type: "InnerProduct" bottom: "data" top: "a" inner_product_param { num_output: 64 } }
layer { name: "b" type: "InnerProduct" bottom: "a" top: "b" inner_product_param { num_output: 4 } }
`;

it.each([
  ['layer-spec', 'm.layers.yaml', spec, [4, 5, 9], [4, 5, 9]],
  // Its weights are inputs: nothing is trained, so nothing is kept.
  ['onnx-text', 'm.onnxtxt', onnx, [2, 3], []],
  ['caffe-prototxt', 'm.prototxt', caffe, [2, 3], [2, 3]],
] as const)('%s', async (language, name, text, lines, byMemory) => {
  client = await startTestServer({ settings: { cluster: 'dgx-a100' } });
  const uri = `file:///models/${name}`;
  await client.open(uri, language, text);
  const rows = await client.connection.sendRequest<readonly CostRow[]>(listCosts, { uri });
  expect(rows.filter(({ time }) => time > 0).map(({ line }) => line)).toEqual(lines);
  expect(rows.every(({ exposed }) => exposed !== null && exposed >= 0)).toBe(true);
  const weighed = rows.filter(({ memory }) => memory > 0).sort((left, right) => right.memory - left.memory);
  expect(weighed.map(({ line }) => line).sort()).toEqual(byMemory);
  if (language !== 'layer-spec') return;
  // The block's line stands for no layer of its own; repetitions of its lines are one sum.
  expect(rows.find(({ line }) => line === 4)).toMatchObject({ name: 'up', type: 'Linear', layers: 3 });
  const time = (line: number): number => rows.find((row) => row.line === line)?.time ?? 0;
  expect(time(4)).toBeGreaterThan(time(9));
  await client.change(uri, 2, spec.replace('Linear(512, 10)', 'Linear(512, 100000)'));
  const changed = await client.connection.sendRequest<readonly CostRow[]>(listCosts, { uri });
  expect(changed.find(({ line }) => line === 9)?.time).toBeGreaterThan(time(9));
});
