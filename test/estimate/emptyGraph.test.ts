import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { frameworks } from '../../server/src/frameworks/registry.ts';
import { encodeModel } from '../support/onnxBytes.ts';

const open = (graph: Parameters<typeof encodeModel>[0]['graph']) =>
  openModel(byteSourceOfBuffer(encodeModel({ graph })), 'empty.onnx');

const empty = {
  'a graph without operators': open({
    inputs: { x: 'float32[2]' },
    outputs: { x: 'float32[2]' },
    nodes: [],
  }),
  'a graph that gives out a weight': open({
    inputs: { x: 'float32[2]' },
    outputs: { w: 'float32[2]' },
    initializers: [{ name: 'w', type: 'float32[2]' }],
    nodes: [],
  }),
};

describe.each(Object.entries(empty))('%s', (_, opened) => {
  test.each(frameworks.map(({ name }) => name))('sends nothing with %s', (name) => {
    const { cost, issues } = estimateModel(opened, [
      { cluster: 'dgx-a100', gpus: 2, framework: { name, options: {} } },
    ]);
    expect(issues.map(({ code }) => code)).toContain('graph/nothing-costed');
    // Also what is worked out only when it is read.
    expect(cost?.layers ?? []).toEqual([]);
    expect(cost?.messages).toBeUndefined();
  });
});

/** A constant is viewed, whatever the length; all else waits for it. */
const viewing = encodeModel({
  graph: {
    inputs: { x: 'float[batch,length,64]' },
    outputs: { y: 'float[batch,length,64]' },
    initializers: [
      { name: 'w', type: 'float[4096]' },
      { name: 'square', type: 'int64[2]', elements: [64, 64] },
    ],
    nodes: [
      { type: 'Reshape', inputs: ['w', 'square'], outputs: ['matrix'] },
      { type: 'MatMul', inputs: ['x', 'matrix'], outputs: ['y'] },
    ],
  },
});

test.each([
  ['no operator that computes', {}, false],
  ['every operator', { dimensions: { length: 4 } }, true],
])('with %s costed, a model of open dimensions', (_, request, costed) => {
  const model = openModel(byteSourceOfBuffer(viewing), 'viewing.onnx');
  expect(estimateModel(model, [{ cluster: 'dgx-a100', ...request }]).costed).toBe(costed);
});
