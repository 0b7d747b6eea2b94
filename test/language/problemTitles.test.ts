/**
 * The first line of a diagnostic is all that a list of problems shows: at 1,280 pixels about eighty characters. It says what is
 * wrong; figures and reasons follow on lines of their own.
 */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { diagnostics } from '../../server/src/language/diagnostics.ts';
import { problemLines } from '../../server/src/language/problemLines.ts';
import { viewOf } from './fixture.ts';

const samples = resolve(import.meta.dirname, '../../samples');

const scenarios = [
  'cluster: g5-48xlarge, gpus: 64',
  'cluster: p3-16xlarge, gpus: 64, framework: "pytorch-ddp"',
  'cluster: cpu-1gbe, gpus: 16, framework: "mxnet"',
  'cluster: dgx-h100, gpus: 64, framework: pytorch-fsdp',
  'cluster: dgx-h100, gpus: 32, parallel: "tp=4,pp=2"',
  'cluster: rtx-4090-workstation, gpus: 1, mode: inference',
];

describe.each(['gpt2.layers.yaml', 'more/dlrm.layers.yaml', 'vgg16.layers.yaml'])('%s', (name) => {
  const text = readFileSync(resolve(samples, name), 'utf8').replace(/^scenario: .*$/m, '');
  it.each(scenarios)('{ %s }', (scenario) => {
    const found = diagnostics(viewOf(`${text}\nscenario: { ${scenario} }\n`));
    const titles = found.map(({ message }) => problemLines(message).split('\n')[0] ?? '');
    expect(titles.filter((title) => title.length > 100)).toEqual([]);
  });
});

test.each([
  ['8 GPUs wait. 3 do not', '8 GPUs wait\n3 do not'],
  ['`x` is not known; did you mean `y`?', '`x` is not known; did you mean `y`?'],
  ['is 1.5 times longer, e.g. so', 'is 1.5 times longer, e.g. so'],
  [`${'long '.repeat(20)}name; use another`, `${'long '.repeat(20)}name\nUse another`],
])('%j', (message, lines) => {
  expect(problemLines(message)).toBe(lines);
});
