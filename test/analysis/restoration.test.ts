/** What a file of inference is costed as in a training step: batch normalization and biases that the exporter took out. */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { findsFolded } from '../../server/src/analysis/restoration/foldedNormalization.ts';
import { estimateModel, type ModelEstimate } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { printOnnxText } from '../../server/src/formats/onnx-text/printOnnxText.ts';
import { viewOnnxText } from '../../server/src/language/viewOnnxText.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

function estimate(name: string, request: ScenarioRequest = {}): ModelEstimate {
  const path = new URL(`restoration/${name}.onnx`, import.meta.url);
  return estimateModel(openModel(byteSourceOfBuffer(readFileSync(path)), name), [
    { cluster: 'dgx-a100', precision: 'bf16', ...request },
  ]);
}

/** Milliseconds of the step, bytes kept for backward, of parameters and of messages. */
function figures({ cost }: ModelEstimate) {
  const messages = cost?.messages ?? [];
  return {
    step: 1e3 * (cost?.totals.time.step ?? Number.NaN),
    activations: cost?.totals.memory.activations ?? Number.NaN,
    parameters: cost?.totals.memory.parameters ?? Number.NaN,
    messages: messages.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

const restoredIn = ({ issues }: ModelEstimate): readonly string[] =>
  issues.flatMap(({ code, message }) => (code.startsWith('graph/restored') ? [message] : []));

describe('an export', () => {
  test.each([
    [
      'normalized-default',
      'normalized-unoptimized',
      /^6 batch normalizations are folded .* `optimize=False`$/,
    ],
    ['normalized-default-train', 'normalized-unoptimized', /^6 batch normalizations are folded/],
    ['normalized-torchscript-train', 'normalized-unoptimized', undefined],
    ['biased-default', 'biased-unoptimized', /^2 biases are 0 before training/],
    ['biased-default-train', 'biased-unoptimized', /^2 biases are 0 before training/],
    ['biased-torchscript', 'biased-unoptimized', undefined],
    ['biased-torchscript-train', 'biased-unoptimized', undefined],
  ])('%s is trained like %s', (name, reference, message) => {
    const given = estimate(name);
    expect(figures(given)).toEqual(figures(estimate(reference)));
    const parameters = ({ opened }: ModelEstimate) =>
      opened.analysis?.parameters.map((each) => `${each.name} ${each.elements}`).sort();
    expect(parameters(given)).toEqual(parameters(estimate(reference)));
    const restored = restoredIn(given);
    expect(restored).toHaveLength(message === undefined ? 0 : 1);
    if (message !== undefined) expect(restored[0]).toMatch(message);
  });

  // It says nowhere that one of the convolutions had a bias: 24 of 4,778 parameters, and its kernel.
  test('of the TorchScript exporter is trained with its normalizations', () => {
    const given = estimate('normalized-torchscript');
    const reference = figures(estimate('normalized-unoptimized'));
    expect(figures(given).activations).toBe(reference.activations);
    expect(figures(given).parameters).toBe(reference.parameters - 4 * 24);
    expect(restoredIn(given)[0]).toMatch(
      /^3 batch normalizations .*`training=TrainingMode.TRAINING`.* Biases that were beside them left no trace$/,
    );
  });

  test('names layers as modules are named', () => {
    const layers = (name: string) =>
      estimate(name).cost?.layers.map((layer) => `${layer.name.replace(/^node_.*/, '')} ${layer.type}`);
    expect(layers('normalized-default')).toEqual(layers('normalized-unoptimized'));
  });

  test.each(['normalized-default', 'biased-default'])('%s is inferred as it is, without a word', (name) => {
    const given = estimate(name, { mode: 'inference' });
    expect(restoredIn(given)).toEqual([]);
    expect(given.opened.trained).toBeUndefined();
  });

  test('is restored for another batch, too', () =>
    expect(figures(estimate('normalized-default', { batch: 16 }))).toEqual(
      figures(estimate('normalized-unoptimized', { batch: 16 })),
    ));

  test('shows what was folded into a node on its line', () => {
    const given = estimate('normalized-default');
    const { onnx } = given.opened;
    if (onnx === undefined) throw new Error('not read');
    const printed = printOnnxText(onnx);
    const view = viewOnnxText({ ...printed, valueLines: new Map() }, given);
    const rows = view.rows.map(({ layers }) => layers.map(({ name }) => name));
    expect(rows).toContainEqual(['stem.0', 'stem.1']);
    expect(rows.flat()).toHaveLength(given.cost?.layers.length ?? 0);
  });
});

test('inference runs a normalization as inference does, whatever its mode in the file', () => {
  const flops = (name: string) =>
    estimate(name, { mode: 'inference' }).cost?.layers.map((layer) => layer.operations.forward);
  const time = (name: string) => estimate(name, { mode: 'inference' }).cost?.totals.time.step;
  const spec = (mode: number) =>
    estimateModel(openModel(byteSourceOfBuffer(Buffer.from(textOf(mode))), 'bn.onnxtxt'), [
      { mode: 'inference' },
    ]);
  expect(flops('normalized-torchscript-train')).toBeDefined();
  expect(time('normalized-torchscript-train')).toBeGreaterThan(0);
  expect(spec(1).cost?.totals.time.step).toBe(spec(0).cost?.totals.time.step);
});

describe('an export in evaluation mode', () => {
  test.each([
    ['normalized-default', 'information'],
    ['normalized-torchscript', 'information'],
    ['normalized-default-train', undefined],
    ['normalized-unoptimized', undefined],
    ['normalized-torchscript-train', undefined],
    ['biased-default', 'information'],
    ['dropped', 'warning'],
    ['dropped-train', undefined],
  ])('%s: %s', (name, severity) => {
    const found = estimate(name).issues.filter(({ code }) => code === 'graph/evaluation-export');
    expect(found.map((issue) => issue.severity)).toEqual(severity === undefined ? [] : [severity]);
    expect(estimate(name, { mode: 'inference' }).issues.map(({ code }) => code)).not.toContain(
      'graph/evaluation-export',
    );
  });
});

test.each([
  ['"com.microsoft" : 1, "com.microsoft.nchwc" : 1', 'training', 1],
  ['"com.microsoft" : 1, "com.microsoft.nchwc" : 1', 'inference', 0],
  ['"com.microsoft" : 1', 'training', 0],
] as const)('a file that imports %s in %s: %i warnings', (domains, mode, count) => {
  const text = textOf(1).replace('"" : 17', `"" : 17, ${domains}`);
  const opened = openModel(byteSourceOfBuffer(Buffer.from(text)), 'optimized.onnxtxt');
  const { issues } = estimateModel(opened, [{ mode }]);
  expect(issues.filter(({ code }) => code === 'graph/runtime-optimized')).toHaveLength(count);
});

const textOf = (mode: number): string => `<ir_version: 10, opset_import: ["" : 17]>
bn (float[8, 4, 64, 64] x, float[4] s, float[4] b, float[4] m, float[4] v) => (float[8, 4, 64, 64] y) {
  y = BatchNormalization<training_mode=${mode}>(x, s, b, m, v)
}
`;

test('a statistic that is stored as one tensor with a parameter hands no gradient back', () => {
  const step = (mean: string) =>
    estimateModel(
      openModel(
        byteSourceOfBuffer(Buffer.from(textOf(1).replace('s, b, m, v)\n', `s, b, ${mean}, v)\n`))),
        'bn.onnxtxt',
      ),
      [{}],
    ).cost?.totals.time.step;
  expect(step('b')).toBe(step('m'));
});

describe('evidence of a folded normalization', () => {
  const pytorch = { ...onnxModel({ nodes: [] }), producerName: 'pytorch', producerVersion: '2.4.0' };
  const other = onnxModel({ nodes: [] });
  const rewritten = {
    'pkg.onnxscript.rewriter.rule_name': 'FuseBatchNormIntoConv, RemoveOptionalBiasFromConv',
  };
  test.each([
    ['a rule of the rewriter', pytorch, onnxNode('y = Conv(x, c.weight)', {}, rewritten), 'c.norm'],
    ['its name for a bias', pytorch, onnxNode('y = Conv(x, c.weight, c.weight_bias)'), 'c.norm'],
    [
      'numbered constants',
      pytorch,
      onnxNode('/a/c/Conv: y = Conv(x, onnx::Conv_5, onnx::Conv_6)'),
      'a/c.norm',
    ],
    [
      'numbered constants of PyTorch 1.6',
      { ...pytorch, producerVersion: '1.6' },
      onnxNode('Conv_0: y = Conv(x, 207, 208)'),
      '',
    ],
    [
      'the name of its result',
      other,
      onnxNode('/bn1/BatchNormalization_output_0 = Conv(x, c.weight, b)'),
      'bn1',
    ],
    ['the constants of tf2onnx', other, onnxNode('y = Conv(x, k_weights_fused_bn, k_bias_fused_bn)'), ''],
  ])('%s', (_, model, node, module) => expect(findsFolded(model)(node)?.module).toBe(module));

  test.each([
    ['a genuine bias', pytorch, onnxNode('y = Conv(x, features.0.weight, features.0.bias)')],
    ['a bias alone that was made anew', pytorch, onnxNode('y = Conv(x, c.weight, onnx::Conv_6)')],
    ['standardized weights', pytorch, onnxNode('y = Conv(x, onnx::Conv_5, c.bias)')],
    [
      'numbered parameters of PyTorch 0.4',
      { ...pytorch, producerVersion: '0.4.1' },
      onnxNode('y = Conv(x, 1, 2)'),
    ],
    ['numbers of another producer', other, onnxNode('y = Conv(x, 1, 2)')],
    [
      'an activation behind a convolution',
      pytorch,
      onnxNode(
        'y = Conv(x, w, b)',
        {},
        { 'pkg.onnxscript.rewriter.rule_name': 'RemoveOptionalBiasFromConv' },
      ),
    ],
    ['another operator', pytorch, onnxNode('y = MatMul(x, onnx::MatMul_5)')],
  ])('is not %s', (_, model, node) => expect(findsFolded(model)(node)).toBeUndefined());
});
