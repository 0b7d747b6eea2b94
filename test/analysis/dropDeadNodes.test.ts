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

test.each([
  [999, 1_002, ['Relu `y` defines `y` again; the first definition is used', 'Relu `x` defines `x` again']],
  [1_000, 2, ['1,001 operators, the first of them Relu `x`, only define again what is defined before them']],
])('%d operators beside two others that define a value of theirs again', (again, operators, said) => {
  const nodes = Array.from({ length: again }, () => ({ type: 'Relu', inputs: ['x'], outputs: ['y'] }));
  const bytes = encodeModel({
    graph: {
      inputs: { x: 'float[2]' },
      nodes: [
        { type: 'Relu', inputs: ['x'], outputs: ['x'] },
        { type: 'Relu', inputs: ['x'], outputs: ['y'] },
        ...nodes,
        { type: 'Split', inputs: ['x'], outputs: ['y', 'z'] },
      ],
    },
  });
  const { analysis, issues } = openModel(byteSourceOfBuffer(bytes), 'model.onnx');
  expect(analysis?.graph.operators).toHaveLength(operators);
  for (const text of said)
    expect(issues.map(({ message }) => message)).toContainEqual(expect.stringContaining(text));
});
