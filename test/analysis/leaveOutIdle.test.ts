import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { encodeModel } from '../support/onnxBytes.ts';

test.each([
  [1_000, 1_001, []],
  [1_001, 1, ['1,001 operators have no output and are left out']],
])('%d operators without output beside one with', (idle, operators, said) => {
  const nodes = Array.from({ length: idle }, () => ({ type: 'Relu', inputs: ['x'], outputs: [''] }));
  const bytes = encodeModel({
    graph: { inputs: { x: 'float[2]' }, nodes: [...nodes, { type: 'Relu', inputs: ['x'], outputs: ['y'] }] },
  });
  const { analysis, issues } = openModel(byteSourceOfBuffer(bytes), 'model.onnx');
  expect(analysis?.graph.operators).toHaveLength(operators);
  expect(issues.map(({ message }) => message.split(',').slice(0, 2).join(','))).toEqual(
    said.map((text) => expect.stringContaining(text)),
  );
});
