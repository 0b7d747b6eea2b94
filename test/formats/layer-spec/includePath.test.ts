import { expect, it } from 'vitest';
import { includePath } from '../../../server/src/formats/layer-spec/includePath.ts';

it.each([
  ['blocks.layers.yaml', 'model.layers.yaml', 'blocks.layers.yaml'],
  ['./parts/blocks.yml', 'model.layers.yaml', 'parts/blocks.yml'],
  ['../b.layers.yaml', 'parts/a.layers.yaml', 'b.layers.yaml'],
  ['c/../b.layers.yaml', 'parts/a.layers.yaml', 'parts/b.layers.yaml'],
])('%s in %s is %s', (written, from, path) => {
  expect(includePath(written, from)).toEqual({ path });
});

it.each([
  ['../b.layers.yaml', 'a.layers.yaml', /leaves the folder/],
  ['parts/../../b.layers.yaml', 'a.layers.yaml', /leaves the folder/],
  ['/etc/b.yaml', 'a.layers.yaml', /relative to this file/],
  ['C:/b.yaml', 'a.layers.yaml', /relative to this file/],
  ['\\\\host\\b.yaml', 'a.layers.yaml', /relative to this file/],
  ['parts\\b.yaml', 'a.layers.yaml', /relative to this file/],
  ['https://host/b.yaml', 'a.layers.yaml', /relative to this file/],
  ['b.onnx', 'a.layers.yaml', /only layer specs/],
  ['', 'a.layers.yaml', /is missing/],
  ['b\ud800.layers.yaml', 'a.layers.yaml', /half of a character/],
])('%s in %s is refused', (written, from, problem) => {
  expect(includePath(written, from)).toEqual({ problem: expect.stringMatching(problem) });
});
