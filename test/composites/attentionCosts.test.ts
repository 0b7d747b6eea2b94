/** What attention costs in each export, against autograd on the CPU and against the export with the operator `Attention`. */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { Precision } from '../../server/src/model/scenario.ts';

const folder = 'test/composites/attention';

const { forms, opsets }: Exports = JSON.parse(readFileSync(`${folder}/exports-2.13.json`, 'utf8'));

interface Exports {
  readonly forms: Readonly<Record<string, { readonly launched: string; readonly saved?: number }>>;
  readonly opsets: Readonly<Record<string, readonly number[]>>;
}

/** Where the file and its twin differ beside attention, and why. */
const unlike: ReadonlyMap<string, string> = new Map([
  ['written-fp32-torch2.13-legacy11', 'the exporter casts behind the softmax, not before it'],
  ['written-fp32-torch2.13-legacy14', 'the exporter casts behind the softmax, not before it'],
  ['written-fp32-torch2.13-dynamo18', 'the exporter drops the casts around the softmax'],
  ['mha-weights-torch2.13-legacy14', 'PyTorch keeps the copy of the packed projection, queries included'],
  ['mha-weights-torch2.13-legacy20', 'PyTorch keeps the copy of the packed projection, queries included'],
  ['mha-weights-torch2.13-dynamo18', 'PyTorch keeps the copy of the packed projection, queries included'],
  ['sdpa-alibi-torch2.13-legacy14', 'the mask is a constant of the file'],
  ['sdpa-alibi-torch2.13-dynamo18', 'slopes are stored, as a trained tensor is'],
  ['sdpa-alibi-torch2.13-dynamo23', 'slopes are stored, as a trained tensor is'],
  ['written-alibi-torch2.13-dynamo18', 'slopes are stored, as a trained tensor is'],
  [
    'sdpa-packed-torch2.13-legacy14',
    'the twin takes queries, keys and values by three slices, not one split',
  ],
  ['mha-torch2.13-legacy14', 'the bias of the output is part of a product, and cast for it'],
  ['mha-padded-torch2.13-dynamo18', 'heads and keys are transposed by one operator'],
]);

function costOf(file: string, precision: Precision, options: Readonly<Record<string, string>> = {}) {
  const name = `${file}.onnxtxt`;
  const opened = openModel(byteSourceOfBuffer(readFileSync(`${folder}/${name}`)), name);
  const framework = { name: 'pytorch-ddp', options };
  const { cost, issues } = estimateModel(opened, [
    { cluster: 'a100-sxm-80gb', gpus: 1, precision, optimizer: 'none', framework },
  ]);
  if (cost === undefined) throw new Error(`${name} cannot be costed`);
  const { forward, backward } = cost.totals.time;
  return {
    saved: cost.totals.memory.activations,
    flops: cost.totals.flops,
    time: (forward ?? Number.NaN) + (backward ?? Number.NaN),
    assumed: issues.filter(({ code }) => code === 'scenario/assumed-attention').length,
  };
}

const files = Object.keys(opsets)
  .filter((file) => !unlike.has(file))
  .map((file) => ({ file, form: file.slice(0, file.indexOf('-torch')) }));

describe('saved activations are those of autograd', () => {
  const known = files.flatMap(({ file, form }) => {
    const { saved, launched } = forms[form] ?? {};
    return saved === undefined || launched === 'none' ? [] : [{ file, saved, launched }];
  });
  test.each(known)('$file', ({ file, saved, launched }) => {
    // What the graph does not show, the option says.
    const isAssumed = launched === 'assumed-one';
    const own = costOf(file, 'fp32', isAssumed ? { attention: 'eager' } : {});
    expect(Math.abs(own.saved / saved - 1)).toBeLessThan(0.03);
    expect(costOf(file, 'fp32').assumed).toBe(isAssumed ? 1 : 0);
  });
});

describe('costs are those of the operator Attention', () => {
  const twins = files.flatMap(({ file, form }) => {
    const twin = `${form}-torch2.13-dynamo23`;
    return forms[form]?.launched === 'one' && twin in opsets && twin !== file ? [{ file, twin }] : [];
  });
  test.each(twins)('$file', ({ file, twin }) => {
    const [own, other] = [costOf(file, 'bf16'), costOf(twin, 'bf16')];
    expect(Math.abs(own.saved / other.saved - 1)).toBeLessThan(0.03);
    expect(Math.abs(own.time / other.time - 1)).toBeLessThan(0.1);
    // Backward counts gradients, whichever operators compute them: twice forward, without recomputation.
    expect(own.flops).toEqual(other.flops);
  });
});
