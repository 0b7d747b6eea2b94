import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { frameworks } from '../../server/src/frameworks/registry.ts';
import { encodeModel } from '../support/onnxBytes.ts';

const opened = openModel(
  byteSourceOfBuffer(
    encodeModel({ graph: { inputs: { x: 'float32[2]' }, outputs: { x: 'float32[2]' }, nodes: [] } }),
  ),
  'empty.onnx',
);

test.each(frameworks.map(({ name }) => name))('a graph without operators sends nothing with %s', (name) => {
  const { cost, issues } = estimateModel(opened, [
    { cluster: 'dgx-a100', gpus: 2, framework: { name, options: {} } },
  ]);
  expect(issues.map(({ code }) => code)).toContain('graph/nothing-costed');
  // Also what is worked out only when it is read.
  expect(cost?.layers ?? []).toEqual([]);
  expect(cost?.messages).toBeUndefined();
});
