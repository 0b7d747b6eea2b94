/**
 * Every quick fix of every finding, walked as a person does: applied to the examples of the page of its finding, it takes
 * the finding away or makes the step as much shorter as it says, and the network stays the same.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel, type ModelEstimate } from '../../../server/src/estimate/estimateModel.ts';
import type { ClusterProfile } from '../../../server/src/hardware/clusterProfile.ts';
import { diagnostics } from '../../../server/src/language/diagnostics.ts';
import { layerSpecFixes } from '../../../server/src/language/layer-spec/fixes/layerSpecFixes.ts';
import { readSpecText } from '../../../server/src/language/layer-spec/specText.ts';
import { applyEdits } from '../../../server/src/language/textEdit.ts';
import { viewLayerSpec } from '../../../server/src/language/viewLayerSpec.ts';
import { issueCodes } from '../../../server/src/model/issueCodes.ts';
import { clusterOf } from '../../finding-pages/findingPage.ts';
import { fencesOf } from '../../spec-pages/specPage.ts';

/** By finding: the titles of its fixes, without what they save. A finding that only advises has none. */
const fixesOf: Readonly<Record<string, readonly string[]>> = {
  'findings/out-of-memory': [
    'Use a batch of N',
    'Use FSDP',
    'Checkpoint blocks selectively',
    'Checkpoint blocks',
  ],
  'findings/little-memory-left': ['Use a batch of N'],
  'findings/buffers-out-of-memory': ['Use gradient-as-bucket-view=true'],
  'findings/exposed-communication': ['Use a batch of N', 'Send gradients as fpN'],
  'findings/late-gradient': ['Use embeddings=table-wise', 'Send gradients as fpN'],
  'findings/small-messages': ['Use buckets of N MiB'],
  'findings/launch-bound': ['Use a batch of N', 'Compile the model (reduce-overhead)'],
  'findings/trained-adapters': ['Train the adapters alone'],
  'findings/uncast-products': ['Use weights=half'],
  'findings/unsupported-precision': ['Use fpN'],
};

const samples = join(import.meta.dirname, '../../../samples');
const sampleWith = (name: string, scenario: string): string =>
  `${readFileSync(join(samples, name), 'utf8').replace(/^scenario:.*\n?/m, '')}scenario: { ${scenario} }\n`;

/** Steps that are offered what the examples of the pages are not. */
const more: Readonly<Record<string, readonly string[]>> = {
  'findings/out-of-memory': [
    sampleWith('tinyllama.layers.yaml', 'cluster: g5-48xlarge, gpus: 64, precision: bf16, optimizer: adamw'),
    sampleWith(
      'gpt2.layers.yaml',
      'cluster: rtx-3090, gpus: 1, batch: 16, precision: bf16, optimizer: adamw',
    ),
  ],
  'findings/exposed-communication': [
    sampleWith('gpt2.layers.yaml', 'cluster: g5-48xlarge, gpus: 64, precision: bf16, optimizer: adamw'),
    sampleWith('vgg16.layers.yaml', 'cluster: v100-infiniband, gpus: 16, precision: fp16, optimizer: sgd'),
  ],
};

const folder = join(import.meta.dirname, '../../../docs/findings');
const codes = Object.keys(issueCodes).filter((code) => code.startsWith('findings/'));

describe.each(codes)('%s', (code) => {
  const page = readFileSync(join(folder, `${code.slice('findings/'.length)}.md`), 'utf8');
  const cluster = clusterOf(page);
  const examples = [
    ...fencesOf(page).map(({ text }) => ({ text, on: cluster })),
    ...(more[code] ?? []).map((text) => ({ text, on: undefined })),
  ];
  const walked = examples.flatMap(({ text, on }) => walk(text, code, on));

  it('has the fixes of the table', () => {
    const titles = walked.map(({ title }) => title.replace(/:.*/, '').replace(/\d+/, 'N'));
    expect([...new Set(titles)].toSorted()).toEqual((fixesOf[code] ?? []).toSorted());
  });

  it.each(walked)('$title', ({ title, before, after, isLeft }) => {
    expect(networkOf(after)).toEqual(networkOf(before));
    const [, percent] = /faster, ([\d.]+) %$/.exec(title) ?? [];
    if (percent === undefined) expect(isLeft).toBe(false);
    else expect((1 - stepOf(after) / stepOf(before)) * 100).toBeCloseTo(Number(percent), 0);
  });
});

interface Walked {
  readonly title: string;
  readonly before: ModelEstimate;
  readonly after: ModelEstimate;
  /** The finding stands at its line as before. */
  readonly isLeft: boolean;
}

function walk(text: string, code: string, cluster: ClusterProfile | undefined): readonly Walked[] {
  const estimate = (source: string): ModelEstimate => {
    const opened = openLayerSpec(source, 'page.layers.yaml');
    return estimateModel(opened, [opened.scenario], cluster);
  };
  const before = estimate(text);
  const view = viewLayerSpec(text, before);
  return diagnostics(view)
    .filter((diagnostic) => diagnostic.code === code)
    .flatMap((finding) =>
      layerSpecFixes(readSpecText(text), view, [finding], estimate).map(({ title, edits }) => {
        const edited = applyEdits(text, edits);
        const after = estimate(edited);
        const left = diagnostics(viewLayerSpec(edited, after));
        return {
          title,
          before,
          after,
          isLeft: left.some(
            ({ code: other, range }) => other === code && range.start.line === finding.range.start.line,
          ),
        };
      }),
    );
}

const stepOf = ({ cost }: ModelEstimate): number => cost?.totals.time.step ?? Number.NaN;

/** What a fix must not change: the layers, and the work of a sample in their forward pass, which the sizes decide. */
function networkOf({ cost, training }: ModelEstimate) {
  if (cost === undefined || training === undefined) throw new Error('no cost');
  const layers = cost.layers.map(({ name, type }) => `${name}: ${type}`);
  const { forward } = cost.totals.flops;
  return { layers, perSample: Number((forward / samplesOf(cost, training.batch)).toPrecision(6)) };
}

const samplesOf = ({ scenario }: NonNullable<ModelEstimate['cost']>, batch: number): number =>
  batch * (scenario.accumulate ?? 1);
