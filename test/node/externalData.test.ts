/** External data is looked for beside the model, never opened, and never looked for elsewhere. */

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import { checkExternalData } from '../../server/src/node/externalData.ts';
import { hostilePaths } from '../fuzz/hostile/externalRows.ts';
import { encodeModel } from '../support/onnxBytes.ts';

const root = mkdtempSync(join(tmpdir(), 'layercost-external-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const folder = join(root, 'model');
mkdirSync(join(folder, 'sub'), { recursive: true });
writeFileSync(join(root, 'secret.bin'), 'secret');
writeFileSync(join(folder, 'weights.bin'), 'weights');
writeFileSync(join(folder, 'sub/..weights'), 'weights');

/** What is said of a model whose one tensor lies at `path`, by the reader and by the look at the disk. */
function check(path: string): readonly string[] {
  const bytes = encodeModel({
    graph: {
      initializers: [{ name: 'w', type: 'float[2]', external: { location: path } }],
      nodes: [{ type: 'Relu' }],
    },
  });
  const { model, issues } = readOnnx(byteSourceOfBuffer(bytes));
  if (model === undefined) throw new Error(issues[0]?.message);
  return [...issues, ...checkExternalData(model, join(folder, 'model.onnx'))].map(({ code }) => code);
}

const outside = 'onnx/external-data-outside';
const missing = 'onnx/external-data-missing';

test.each([
  ['a file beside the model', 'weights.bin', []],
  ['a file below the model', 'sub/..weights', []],
  ['a way through a folder and back', 'sub/../weights.bin', []],
  ['a missing file', 'nothing.bin', [missing]],
  ['a file above the model', '../secret.bin', [outside]],
  ['a file above the model, the long way', 'sub/../../secret.bin', [outside]],
  ["the model's own folder", '.', [outside]],
  ['a folder', 'sub', [outside]],
])('%s', (_, path, codes) => {
  expect(check(path)).toEqual(codes);
});

describe.runIf(process.platform !== 'win32')('links', () => {
  symlinkSync('../secret.bin', join(folder, 'out'));
  symlinkSync('..', join(folder, 'up'));
  symlinkSync('weights.bin', join(folder, 'in'));
  symlinkSync('circle', join(folder, 'circle'));
  symlinkSync('/dev/zero', join(folder, 'zero'));
  symlinkSync('nowhere', join(folder, 'dangling'));
  test.each([
    ['out', [outside]],
    ['up/secret.bin', [outside]],
    ['in', []],
    ['circle', [outside]],
    ['zero', [outside]],
    ['dangling', [missing]],
  ])('%s', (path, codes) => {
    expect(check(path)).toEqual(codes);
  });
});

test.each(hostilePaths)('hostile path %j is refused or missing', (path) => {
  expect([[outside], [missing]]).toContainEqual(check(path));
});
