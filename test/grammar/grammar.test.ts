/** The grammars by caret fixtures, and the language configurations by what their patterns must match. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const fixtures = join(root, 'test/grammar/fixtures');
const runner = join(
  dirname(createRequire(import.meta.url).resolve('vscode-tmgrammar-test/package.json')),
  'dist/unit.js',
);

test.each([
  ['model.onnxtxt', ['syntaxes/onnx-text.tmLanguage.json']],
  ['functions.onnxtxt', ['syntaxes/onnx-text.tmLanguage.json']],
  ['net.prototxt', ['syntaxes/caffe-prototxt.tmLanguage.json']],
  ['spec.layers.yaml', ['syntaxes/layer-spec.tmLanguage.json', 'test/grammar/fixtures/yaml.tmLanguage.json']],
])('every token of %s has its scope', (fixture, grammars) => {
  const options = grammars.flatMap((grammar) => ['--grammar', join(root, grammar)]);
  const run = spawnSync(
    process.execPath,
    [runner, '--config', 'none', '--compact', ...options, join(fixtures, fixture)],
    {
      encoding: 'utf8',
    },
  );
  expect(`${run.stdout}${run.stderr}`).toMatch(/^\S+ \S+ run successfuly\.\s*$/);
  expect(run.status).toBe(0);
});

function patternOf(language: string, ...path: readonly (string | number)[]): RegExp {
  let value: unknown = JSON.parse(
    readFileSync(join(root, `syntaxes/${language}.language-configuration.json`), 'utf8'),
  );
  for (const key of path) {
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  }
  if (typeof value !== 'string') throw new Error(`${language} has no ${path.join('.')}`);
  return new RegExp(value);
}

describe('editing a layer spec', () => {
  const increase = patternOf('layer-spec', 'indentationRules', 'increaseIndentPattern');
  test.each([
    ['layers:', true],
    ['  decoder:  # a block', true],
    ['  mlp(hidden, act=1):', true],
    ['  - h:', true],
    ['  - fc: Linear(d, 4*d)', false],
    ['dims: { d: 768 }', false],
  ])('a line after `%s` is indented: %s', (line, indented) => {
    expect(increase.test(line)).toBe(indented);
  });

  test('Enter after a layer begins the next', () => {
    const before = patternOf('layer-spec', 'onEnterRules', 0, 'beforeText');
    expect(before.test('  - fc: Linear(d, 4*d)')).toBe(true);
    expect(before.test('  - fc:')).toBe(false);
    expect(before.test('dims: { d: 768 }')).toBe(false);
  });
});

describe('words of ONNX text', () => {
  const word = new RegExp(patternOf('onnx-text', 'wordPattern'), 'g');
  test('a quoted name is one word, and so is a domain with its operator', () => {
    expect('["/a/Conv"] y = com.microsoft.Gelu <k: float = -1e-05> (x)'.match(word)).toEqual([
      '"/a/Conv"',
      'y',
      'com.microsoft.Gelu',
      'k',
      'float',
      '-1e-05',
      'x',
    ]);
  });
});

describe('editing a Caffe net', () => {
  const increase = patternOf('caffe-prototxt', 'indentationRules', 'increaseIndentPattern');
  test.each([
    ['layer {', true],
    ['  convolution_param: {  # two axes', true],
    ['  name: "conv1"', false],
    ['  param { lr_mult: 1 }', false],
    ['# layer {', false],
  ])('a line after `%s` is indented: %s', (line, indented) => {
    expect(increase.test(line)).toBe(indented);
  });

  test('a word is a field or a name with its slashes', () => {
    const word = new RegExp(patternOf('caffe-prototxt', 'wordPattern'), 'g');
    expect('  top: "inception_3a/1x1" std: -1.5e-3'.match(word)).toEqual([
      'top',
      'inception_3a/1x1',
      'std',
      '-1.5e-3',
    ]);
  });
});
