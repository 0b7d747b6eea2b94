/** The lines of a model with their costs, that marks in the gutter and commands go by. */

import { afterEach, expect, it } from 'vitest';
import {
  type CostRow,
  type EstimatedParams,
  estimated,
  listCosts,
  listModules,
  type ModuleCost,
} from '../../server/src/protocol.ts';
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

it('modules are those of the text, the most expensive first, equal ones as one', async () => {
  client = await startTestServer({ settings: { cluster: 'dgx-a100' } });
  const uri = 'file:///models/m.layers.yaml';
  await client.open(uri, 'layer-spec', spec);
  const ask = (measure: string): Promise<ModuleCost> =>
    client?.connection.sendRequest(listModules, { uri, measure }) ?? Promise.reject();
  const root = await ask('time');
  const outlineOf = ({ name, line, children }: ModuleCost): unknown =>
    children.length === 0 ? [name, line] : [name, line, children.map(outlineOf)];
  // Both products of the MLP have as many FLOPs; which is first is for the kernels to say.
  expect(root.children.map(({ name, line }) => [name, line])).toEqual([
    ['body[*] × 3', expect.any(Number)],
    ['head', 9],
  ]);
  expect(root.children[0]?.children.map(({ name, line }) => [name, line]).sort()).toEqual([
    ['down', 5],
    ['up', 4],
  ]);
  expect(JSON.stringify(outlineOf(root))).not.toContain('view');
  const shares = root.children.map(({ share }) => Number.parseFloat(share));
  expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(100, -1);
  expect(root.children[0]?.cost).toMatch(/^\d.*s$/);
  expect((await ask('memory')).cost).toMatch(/^\d.*iB$/);
  await client.change(uri, 2, '');
  expect(await ask('time')).toBeNull();
});

it.each([
  ['a step of small kernels waits for the host', 'dgx-a100', 8, 'host'],
  ['a step that does not fit', 'dgx-a100', 100_000_000, 'memory'],
] as const)('the summary says what limits: %s', async (_, cluster, batch, kind) => {
  client = await startTestServer({ settings: { cluster } });
  const uri = 'file:///models/m.layers.yaml';
  const told = new Promise<EstimatedParams>((resolve) =>
    client?.connection.onNotification(estimated, (params: EstimatedParams) => resolve(params)),
  );
  await client.open(uri, 'layer-spec', spec.replace('float32[8,', `float32[${batch},`));
  await client.connection.sendRequest(listCosts, { uri });
  expect((await told).summary?.limit).toMatchObject({ kind });
});

it('the summary says how GPUs share the model', async () => {
  client = await startTestServer({ settings: { cluster: 'dgx-a100', gpus: 16, parallel: { tp: 2, pp: 2 } } });
  const uri = 'file:///models/m.layers.yaml';
  const told = new Promise<EstimatedParams>((resolve) =>
    client?.connection.onNotification(estimated, (params: EstimatedParams) => resolve(params)),
  );
  await client.open(uri, 'layer-spec', spec);
  await client.connection.sendRequest(listCosts, { uri });
  const { summary, detail } = await told;
  expect([summary?.layout, detail]).toEqual(['tp2 · pp2 · dp4', expect.any(String)]);
});
