/** Sizes of data that are in no net: videos, volumes, and blobs of the host whose shape a Reshape states. */

import { expect, test } from 'vitest';
import { openCaffe } from '../../../server/src/analysis/openModel.ts';
import { isKnownShape } from '../../../server/src/model/graph.ts';

function shapesOf(text: string, dimensions: Readonly<Record<string, number>> = {}) {
  const { analysis } = openCaffe(text, 'net.prototxt', dimensions);
  return Object.fromEntries(
    [...(analysis?.graph.values.values() ?? [])].map(({ name, type }) => [
      name,
      type.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : undefined,
    ]),
  );
}

const relu = 'layer { name: "a" type: "ReLU" bottom: "x" top: "a" }';
const sizes = { channels: 3, height: 112, width: 112 };

test.each([
  ['HDF5Data', 'hdf5_data_param { batch_size: 2 }', { ...sizes, frames: 16 }, [3, 16, 112, 112]],
  ['HDF5Data', 'hdf5_data_param { batch_size: 2 }', sizes, [3, 112, 112]],
  [
    'VideoData',
    'video_data_param { batch_size: 2 new_length: 16 new_height: 112 new_width: 112 }',
    {},
    [3, 16, 112, 112],
  ],
  // Temporal segment networks stack frames as channels.
  [
    'VideoData',
    'video_data_param { batch_size: 2 new_length: 5 new_height: 112 new_width: 112 modality: FLOW }',
    { channels: 10 },
    [10, 112, 112],
  ],
])('%s { %s } with %j gives samples %j', (type, parameters, dimensions, sample) => {
  const shapes = shapesOf(`layer { name: "d" type: "${type}" top: "x" ${parameters} }\n${relu}`, dimensions);
  expect(shapes.x?.slice(1)).toEqual(sample);
});

test('a Reshape to fixed sizes says what the host makes', () => {
  const reshape = (shape: string): string => `
    layer { name: "d" type: "Python" top: "x" top: "marks" python_param { module: "m" layer: "L" } }
    ${relu}
    layer { name: "r" type: "Reshape" bottom: "marks" top: "r" reshape_param { shape { ${shape} } } }`;
  expect(shapesOf(reshape('dim: 16 dim: 24'), sizes)['r/Reshape']).toEqual([16, 24]);
  expect(shapesOf(reshape('dim: 16 dim: -1'), sizes).marks).toBeUndefined();
});
