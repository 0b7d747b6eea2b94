import { expect, test } from 'vitest';
import { limitNodeCount, mostCrowded } from '../../server/src/analysis/limitNodeCount.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import { encodeModel } from '../support/onnxBytes.ts';

test.each([
  ['few operators, however crowded', mostCrowded, 1, mostCrowded, undefined],
  ['as many in as many bytes as exporters write', mostCrowded + 1, 64, mostCrowded + 1, undefined],
  [
    'more of them, crowded',
    mostCrowded + 1,
    63,
    mostCrowded,
    'The file has 30,001 operators in 1.80 MiB, more than any exporter writes: those after the first 30,000 are left out',
  ],
])('%s', (_, operators, bytesEach, kept, said) => {
  const node = (index: number) => ({ type: 'Relu', inputs: ['x'], outputs: [`y${index}`] });
  const bytes = encodeModel({
    graph: { inputs: { x: 'float[2]' }, nodes: Array.from({ length: operators }, (_, index) => node(index)) },
  });
  const read = readOnnx(byteSourceOfBuffer(bytes)).model;
  if (read === undefined) throw new Error('the model could not be read');
  const { model, issues } = limitNodeCount(read, operators * bytesEach);
  expect(model.graph.nodes).toHaveLength(kept);
  expect(issues.map(({ message }) => message)).toEqual(
    said === undefined ? [] : [expect.stringContaining(said)],
  );
});
