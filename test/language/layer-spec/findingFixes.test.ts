/** What a finding says, its quick fix and the engine's answer agree: samples on several clusters and frameworks. */

import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diagnostics } from '../../../server/src/language/diagnostics.ts';
import { layerSpecFixes } from '../../../server/src/language/layer-spec/fixes/layerSpecFixes.ts';
import { readSpecText } from '../../../server/src/language/layer-spec/specText.ts';
import { applyEdits } from '../../../server/src/language/textEdit.ts';
import { viewOf } from '../fixture.ts';

const samples = resolve(import.meta.dirname, '../../../samples');
const files = ['.', 'more'].flatMap((folder) =>
  readdirSync(resolve(samples, folder))
    .filter((name) => name.endsWith('.layers.yaml'))
    .map((name) => `${folder}/${name}`),
);

const scenarios = [
  'cluster: dgx-h100, gpus: 64, precision: bf16, optimizer: adamw, framework: pytorch-ddp',
  'cluster: dgx-a100, gpus: 16, precision: bf16, optimizer: momentum, framework: horovod',
  'cluster: dgx-1-v100, gpus: 32, precision: fp16, optimizer: adam, framework: pytorch-fsdp',
  'cluster: v100-infiniband, gpus: 16, precision: fp16, optimizer: momentum, framework: caffe-mpi',
  'cluster: rtx-3090, gpus: 1, precision: fp32, optimizer: adamw',
  'cluster: k80-10gbe, gpus: 8, precision: fp32, optimizer: sgd, framework: mxnet',
];

const rows = files.flatMap((file, index) =>
  [0, 3].map((by) => [file, scenarios[(index + by) % scenarios.length] ?? ''] as const),
);

describe.each(rows)('%s, %s', (file, scenario) => {
  const written = readFileSync(resolve(samples, file), 'utf8').replace(/^scenario:.*\n?/m, '');
  const source = `${written}scenario: { ${scenario} }\n`;
  const view = viewOf(source);
  const found = diagnostics(view).filter(({ code }) => code.startsWith('findings/'));

  it('a fix takes its finding away, or makes the step as much shorter as it says', () => {
    for (const finding of found) {
      for (const { title, edits } of layerSpecFixes(readSpecText(source), view, [finding], costOf)) {
        const edited = viewOf(applyEdits(source, edits));
        const step = edited.estimate.cost?.totals.time.step ?? Number.NaN;
        const before = view.estimate.cost?.totals.time.step ?? Number.NaN;
        const [, percent] = /faster, ([\d.]+) %$/.exec(title) ?? [];
        expect(title).not.toContain('as fast as now');
        if (percent !== undefined) expect((1 - step / before) * 100).toBeCloseTo(Number(percent), 0);
        else expect(diagnostics(edited).map(({ code }) => code)).not.toContain(finding.code);
      }
    }
  });

  it('the batch that a finding names is the one that its fix sets', () => {
    for (const finding of found) {
      const [, named] = /batch per GPU to (\d+)/.exec(finding.message) ?? [];
      const titles = layerSpecFixes(readSpecText(source), view, [finding], costOf).map(({ title }) => title);
      const set = titles.flatMap((title) => /^Use a batch of (\d+)/.exec(title)?.[1] ?? []);
      expect(set.every((batch) => batch === named)).toBe(true);
      if (named !== undefined) expect(set).toEqual([named]);
    }
  });

  it('no line has a late gradient and exposed communication', () => {
    const lines = found.flatMap(({ code, range }) =>
      /late-gradient|exposed-communication/.test(code) ? [range.start.line] : [],
    );
    expect(new Set(lines).size).toBe(lines.length);
  });
});

const costOf = (source: string) => viewOf(source).estimate;

it('gives no scaling findings of a model that is half written', () => {
  const scaling = (layers: string): readonly string[] =>
    diagnostics(
      viewOf(`inputs: { x: "float32[8, 4096]" }
layers:
${layers}
scenario: { cluster: k80-10gbe, gpus: 16, precision: fp32 }
`),
    ).flatMap(({ code }) => (code.startsWith('findings/') ? [code] : []));
  expect(scaling('  - a: Linear(4096)')).toEqual([]);
  expect(scaling('  - a: Linear(4096)\n  - b: Linear(4096')).toEqual([]);
  expect(scaling('  - a: Linear(4096)\n  - b: Linear(4096)')).not.toEqual([]);
});
