/** PyTorch writes into an export where each line of the model lay. A committed export says nothing about that machine. */

import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const exported = ['*.onnx', '*.pt2', '*.json', '*.jsonl', '*.onnxtxt', '*.pbtxt'];

it('no export holds a path of the machine that made it', () => {
  const pattern = 'site-packages|File "/|/(root|home|Users)/';
  const found = spawnSync('git', ['grep', '-laE', pattern, '--', ...exported], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(found.error).toBeUndefined();
  expect(found.stdout.split('\n').filter((path) => path !== '')).toEqual([]);
});
