/** Files as they lie on disks: folders, pipes, devices, links, compressed, changing. */

import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { decodeText } from '../../server/src/formats/byteSource.ts';
import { openFileSource } from '../../server/src/node/fileSource.ts';
import { readTextFile } from '../../server/src/node/readTextFile.ts';
import { encodeModel } from '../support/onnxBytes.ts';

const folder = mkdtempSync(join(tmpdir(), 'layercost-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);
function written(name: string, content: string | Uint8Array): string {
  writeFileSync(at(name), content);
  return at(name);
}

describe.runIf(process.platform !== 'win32')('what is no readable file is refused in words', () => {
  mkdirSync(at('folder'));
  symlinkSync(at('loop'), at('loop'));
  execFileSync('mkfifo', [at('pipe')]);
  const bomb = written('bomb.onnx', gzipSync(new Uint8Array(2 ** 27)));
  const broken = written('broken.onnx', gzipSync(new Uint8Array(5000)).subarray(0, 15));
  test.each([
    ['a missing file', at('missing.onnx'), /^cannot read missing.onnx: there is no such file; check/],
    [
      'a misspelt file',
      at('brokn.onnx'),
      /there is no such file; check the path \(did you mean `broken.onnx`\?\)$/,
    ],
    ['a file in a file', join(bomb, 'a.onnx'), /not a folder; check/],
    ['a folder', at('folder'), /it is a folder; give/],
    ['the root', '/', /^cannot read \/: it is a folder; give/],
    ['a pipe that nobody writes to', at('pipe'), /it is a pipe, .*; write/],
    ['a device without end', '/dev/zero', /it is a device, .*; give/],
    ['a link to itself', at('loop'), /links form a cycle; check/],
    ['a name longer than names are', at('n'.repeat(5000)), /path is too long; check/],
    ['a NUL in the path', `${at('a')}\0b`, /contains an invalid character; check/],
    ['gzip that unpacks to far more than itself', bomb, /unpacks to an implausible size; unpack/],
    ['gzip cut off', broken, /looks gzip-compressed but ends too early; copy/],
  ])('%s', (_, path, message) => {
    const result = openFileSource(path);
    expect(result.kind === 'failed' ? result.issue.message : 'opened').toMatch(message);
    const text = readTextFile(path);
    expect('issue' in text ? text.issue.message : 'read').toMatch(message);
  });
});

test('a compressed file is read as what it holds', () => {
  const path = written('model.onnx.gz', gzipSync(encodeModel({ graph: { nodes: [{ type: 'Relu' }] } })));
  const result = openFileSource(path);
  if (result.kind === 'failed') throw new Error(result.issue.message);
  expect(openModel(result.file.source, 'model.onnx.gz').onnx?.graph.nodes).toHaveLength(1);
  expect(result.file.spoiled()).toBeUndefined();
  result.file.close();
});

test.each([
  ['grows', (path: string) => appendFileSync(path, 'more')],
  ['shrinks', (path: string) => truncateSync(path, 3)],
])('a file that %s while it is read is not believed', (_, change) => {
  const path = written('changing.layers.yaml', 'layers:\n  - a: ReLU()\n');
  const result = openFileSource(path);
  if (result.kind === 'failed') throw new Error(result.issue.message);
  change(path);
  decodeText(result.file.source);
  expect(result.file.spoiled()?.message).toMatch(
    /^cannot read changing.layers.yaml: it changed while it was read; wait/,
  );
  result.file.close();
});
