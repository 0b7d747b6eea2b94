/** Composites in every form that PyTorch exports, against what autograd keeps; `exportForms.py` makes the files. */

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

const folder = 'test/composites/forms';

interface Export {
  /** Bytes that autograd keeps. */
  readonly saved: number;
  /** Opsets by file. */
  readonly files: Readonly<Record<string, readonly number[]>>;
}

const table: Readonly<Record<string, Export>> = JSON.parse(readFileSync(`${folder}/exports.json`, 'utf8'));
const files = Object.values(table).flatMap(({ saved, files }) =>
  Object.keys(files).map((file) => ({ file, saved })),
);

test('every file of the folder is in the table', () => {
  const models = readdirSync(folder).filter((name) => name.endsWith('.onnx'));
  expect(models).toEqual(files.map(({ file }) => `${file}.onnx`).sort());
});

function open(file: string): OpenedModel {
  return openModel(byteSourceOfBuffer(readFileSync(`${folder}/${file}.onnx`)), `${file}.onnx`);
}

const request: ScenarioRequest = {
  cluster: 'a100-sxm-80gb',
  precision: 'fp32',
  optimizer: 'none',
  // Small models wait for a usual host.
  framework: { name: 'pytorch-ddp', options: { 'launch-us': '8' } },
};

/** What is kept in fp32 without measures against memory, as the table has it. */
function keptBytes(file: string): number {
  const { cost } = estimateModel(open(file), [request]);
  if (cost === undefined || !cost.totals.exact) throw new Error(`${file} cannot be costed`);
  return cost.totals.memory.activations;
}

/** Where the ratio is another, and why; a form is named by how its files begin. */
const otherRatios: Readonly<Record<string, number>> = {
  // The same operators as of `F.layer_norm`: assumed to be one kernel.
  'layer-norm-written-legacy13': 0.755,
  'layer-norm-var-legacy13': 0.755,
  // Nothing in the file tells it from a cell that a model writes out.
  'lstm-cell-legacy13': 0.555,
  'gru-cell-legacy13': 0.733,
  // It names the difference from the mean; most programs write it twice, and TorchScript merges them (`graph/assumed-calls`).
  'layer-norm-written-legacy18': 1.249,
  // On the CPU several kernels; on a GPU `_fused_rms_norm`, which keeps the input and a statistic of each row.
  'rms-norm-module': 0.751,
  // The exporter's optimizer makes one operator of what the model writes out.
  'rms-norm-llama-dynamo23': 0.751,
};

describe.each(files)('$file', ({ file, saved }) => {
  test('keeps what autograd keeps, within 3 %', () => {
    const other = Object.keys(otherRatios).find((form) => file.startsWith(form));
    const ratio = other === undefined ? 1 : (otherRatios[other] ?? 1);
    const kept = keptBytes(file) / saved;
    expect(kept).toBeGreaterThan(ratio * 0.97);
    expect(kept).toBeLessThan(ratio * 1.03);
  });
});

/** Where the exporter writes operators: what they are, and whether they were one kernel. */
test.each<readonly [string, ...string[]]>([
  ['gelu-legacy13', 'gelu assumed-one 5'],
  ['gelu-dynamo18', 'gelu one 5'],
  ['gelu-tanh-legacy13', 'gelu assumed-one 9'],
  ['gelu-tanh-dynamo18', 'gelu one 8'],
  ['gelu-new-legacy13', 'gelu several 8'],
  ['gelu-new-dynamo18', 'gelu several 8'],
  ['gelu-written-legacy13', 'gelu several 5'],
  ['gelu-quick-dynamo18', 'gelu several 3'],
  ['silu-legacy13', 'silu assumed-one 2'],
  ['silu-module-dynamo18', 'silu one 2'],
  ['swiglu-legacy13', 'silu assumed-one 2'],
  ['geglu-dynamo18', 'gelu one 5'],
  ['glu-legacy13', 'glu assumed-one 3'],
  ['glu-dynamo18', 'glu one 3'],
  ['mish-legacy13', 'mish assumed-one 3'],
  ['softplus-dynamo18', 'softplus one 3'],
  ['softplus-beta-legacy13', 'softplus assumed-one 3'],
  ['softplus-beta-dynamo18', 'softplus one 5'],
  ['hardswish-legacy13', 'hardswish assumed-one 2'],
  ['expm1-dynamo18', 'recorded-call one 2'],
  ['logaddexp-dynamo18', 'recorded-call one 4'],
  ['layer-norm-legacy13', 'layer-norm assumed-one 7'],
  ['layer-norm-module-legacy13', 'layer-norm assumed-one 9'],
  ['layer-norm-no-bias-legacy13', 'layer-norm assumed-one 8'],
  ['layer-norm-written-dynamo18', 'layer-norm several 9'],
  ['layer-norm-var-dynamo18', 'variance one 4', 'rsqrt one 2'],
  ['rms-norm-dynamo18', 'rms-norm one 6'],
  ['rms-norm-module-dynamo18', 'rms-norm one 7'],
  ['rms-norm-llama-legacy13', 'rms-norm several 9'],
  ['rms-norm-llama-dynamo18', 'rms-norm several 7'],
  ['lstm-cell-dynamo18', 'recurrent-cell one 11'],
  ['lstm-cell-legacy13', 'recurrent-cell several 11'],
  ['lstm-cell-written-dynamo18', 'recurrent-cell several 11'],
  ['gru-cell-dynamo18', 'recurrent-cell one 12'],
  ['gru-cell-legacy13', 'recurrent-cell several 12'],
  ['group-norm-legacy13', 'group-norm assumed-one 4'],
  ['group-norm-module-dynamo18', 'group-norm one 4'],
  ['instance-norm-legacy13'],
  ['normalize-dynamo18'],
])('%s holds %s', (file, ...expected) => {
  const { analysis } = open(file);
  const found = [...new Set(analysis?.composites.values())];
  const printed = found.map(({ kind, launchedAs, operators }) => `${kind} ${launchedAs} ${operators.length}`);
  expect(printed).toEqual(expected);
});

test.each([
  ['gelu-legacy13', 'GELU'],
  ['silu-dynamo18', 'SiLU'],
  ['layer-norm-legacy13', 'LayerNorm'],
  ['rms-norm-llama-dynamo18', 'LlamaRMSNorm'],
])('a call outside of modules is one layer, named for what it is: %s', (file, type) => {
  expect(open(file).analysis?.layers.map((layer) => layer.type)).toEqual(['Linear', type, 'Linear']);
});

test('an assumed kernel is said, and several are in its range', () => {
  const layerOf = (file: string) => {
    const { cost } = estimateModel(open(file), [request]);
    return cost?.layers.find(({ type }) => type === 'GELU');
  };
  const [assumed, known] = [layerOf('gelu-module-legacy13'), layerOf('gelu-module-dynamo18')];
  expect(assumed?.time.forward).toBe(known?.time.forward);
  expect(assumed?.range?.low).toBe(known?.range?.low);
  expect((assumed?.range?.high ?? 0) / (known?.range?.high ?? 1)).toBeGreaterThan(1.5);
  const note = 'GELU is assumed to be one kernel; the range covers operators launched one by one';
  expect(assumed?.notes).toContain(note);
  expect(known?.notes).not.toContain(note);
});

test('backward of a variance holds its deviations beside the gradient', () => {
  // PyTorch 2.13: `x.var(-1)` alone keeps x, and backward peaks at 3 of it: x, its deviations and its gradient.
  const { cost } = estimateModel(open('var-dynamo18'), [request]);
  const library = 8 * 2 ** 20 + 128 * 1024;
  const [gradientOfQuotient, deviations, gradient, gradientOfRows] = [1, 1, 1, 1 / 64];
  const [tensor] = cost?.layers.map(({ memory }) => memory.activations) ?? [];
  expect(((cost?.totals.memory.workspace ?? 0) - library) / (tensor ?? 1)).toBe(
    gradientOfQuotient + deviations + gradient + gradientOfRows,
  );
});
