/** Every example of the page on ONNX text is read, and taken by ONNX's own parser where a Python with onnx is here. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readOnnxText } from '../../../server/src/formats/onnx-text/readOnnxText.ts';
import { pythonWith } from '../../support/pythonWith.ts';

const page = readFileSync('docs/onnx-text.md', 'utf8');
const examples = [...page.matchAll(/^## (.*)$(?:(?!^## )[\s\S])*?^```onnx\n([\s\S]*?)^```$/gm)].map(
  ([, title = '', text = '']) => [title, text] as const,
);

test('there are examples', () => expect(examples.length).toBeGreaterThanOrEqual(3));

test.each(examples)('%s', (_, text) => {
  const { model, issues } = readOnnxText(text);
  expect(issues).toEqual([]);
  expect(model).toBeDefined();
});

const python = pythonWith('onnx');
const parse = 'import sys, onnx.parser; onnx.parser.parse_model(sys.stdin.read())';

describe.skipIf(python === undefined)(
  python === undefined ? 'ONNX takes them (not checked: no Python here has onnx)' : 'ONNX takes',
  () => {
    test.each(examples)('%s', (_, text) => {
      const run = spawnSync(python ?? '', ['-c', parse], { input: text, encoding: 'utf8' });
      expect([run.status, run.stderr]).toEqual([0, '']);
    });
  },
);
