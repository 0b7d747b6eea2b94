/**
 * Saved activations of configs against what autograd keeps of the models that transformers builds from them, in training, in fp32,
 * at batch 2 and 128 tokens: `saved.jsonl`, written by `scripts/huggingFace/saved.py` with torch 2.13 and transformers 5.18.
 */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { specOfConfig } from '../../../server/src/lowering/hugging-face/specOfConfig.ts';

interface Row {
  readonly name: string;
  readonly saved: number;
  readonly config: { readonly model_type: string };
  /** Tokens, where the model takes less than 128. */
  readonly seq?: number;
}

const rows: readonly Row[] = readFileSync(new URL('saved.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));

function savedOf(config: object, seq: number): number {
  const sizes = { seq, target: seq };
  const { text, issues } = specOfConfig(JSON.stringify(config), 'config.json', sizes);
  expect(issues.filter(({ code }) => code !== 'config/not-read')).toEqual([]);
  const opened = openLayerSpec(text ?? '', 'config.json', { dimensions: { batch: 2, ...sizes } });
  const { cost } = estimateModel(opened, [
    { cluster: 'a100-sxm-80gb', precision: 'fp32', optimizer: 'none', loss: 'none', batch: 2 },
  ]);
  if (cost === undefined) throw new Error(`not costed: ${opened.issues[0]?.message}`);
  return cost.totals.memory.activations;
}

describe('what configs keep for backward is what autograd keeps', () => {
  test.each(rows)('$name', ({ config, saved, seq = 128 }) => {
    const off = Math.abs(savedOf(config, seq) / saved - 1);
    expect(off).toBeLessThan(0.03);
  });
});
