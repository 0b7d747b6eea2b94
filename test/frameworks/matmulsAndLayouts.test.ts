/** Rules of PyTorch by shapes: which operands are copied, which gradients are put together, where Inductor turns images. */

import { expect, test } from 'vitest';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import type { TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openLayerSpec, openModel } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { broadcastOperand } from '../../server/src/frameworks/pytorch/broadcastOperand.ts';
import { prefersChannelsLast } from '../../server/src/frameworks/pytorch/compiled/prefersChannelsLast.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';

function trainingOf({ analysis, issues }: OpenedModel): TrainingGraph {
  if (analysis === undefined) throw new Error(issues.map(({ message }) => message).join());
  return bindTrainingGraph(analysis, new Map(), 'training');
}

const ofOnnx = (inputs: string, output: string, body: string): TrainingGraph => {
  const text = `<ir_version: 10, opset_import: ["" : 20]>\ng (${inputs}) => (${output}) { ${body} }\n`;
  return trainingOf(openModel(byteSourceOfBuffer(Buffer.from(text)), 'g.onnxtxt'));
};

const ofLayers = (channels: number, layers: readonly string[]): TrainingGraph => {
  const lines = layers.map((layer, index) => `  - l${index}: ${layer}\n`).join('');
  return trainingOf(
    openLayerSpec(`inputs: { x: "float32[1, ${channels}, 16, 16]" }\nlayers:\n${lines}`, 'spec'),
  );
};

/**
 * `torch.matmul` expands both operands to the batch axes of the result and reshapes them to one: that copies where axes that
 * are broadcast stand beside axes that are not. Copies as batch axes × rows × columns.
 */
test.each([
  ['3,5,6', '2,3,4,6', undefined, 2 * 3 * 5 * 6],
  ['2,1,5,6', '2,3,4,6', undefined, 2 * 3 * 5 * 6],
  ['1,1,5,6', '2,3,4,6', undefined, undefined],
  ['2,3,5,6', '2,3,4,6', undefined, undefined],
  ['5,6', '2,3,4,6', undefined, undefined],
  ['7,2,3,5,6', '7,2,3,4,6', 7 * 2 * 3 * 4 * 5, undefined],
])('a matmul of [2, 3, 4, 5] and [%s] copies %s and %s', (other, result, ofFirst, ofSecond) => {
  const training = ofOnnx(`float[2,3,4,5] a, float[${other}] b`, `float[${result}] c`, 'c = MatMul(a, b)');
  const [operator] = training.analysis.graph.operators;
  if (operator === undefined) throw new Error('no operator');
  expect([broadcastOperand(training, operator, 'a'), broadcastOperand(training, operator, 'b')]).toEqual([
    ofFirst,
    ofSecond,
  ]);
});

test.each([
  ['a matrix and a stack', '4,5', '2,3,5,6', '2,3,4,6'],
  ['a stack and a vector', '7,2,2,4,5', '5', '7,2,2,4'],
])('a matmul of %s copies neither', (_, first, second, result) => {
  const training = ofOnnx(`float[${first}] a, float[${second}] b`, `float[${result}] c`, 'c = MatMul(a, b)');
  const [operator] = training.analysis.graph.operators;
  if (operator === undefined) throw new Error('no operator');
  expect(broadcastOperand(training, operator, 'a')).toBeUndefined();
  expect(broadcastOperand(training, operator, 'b')).toBeUndefined();
});

/** The gradients of the parts are read and written into one tensor of the size of the whole. */
test.each([
  ['the whole learns', 'Linear(8)', 2 * (4 * 8) * 4],
  ['nothing before it learns', 'ReLU()', 0],
])('a split of [4, 8] in fp32 where %s moves %s, %i bytes in backward', (_, first, moved) => {
  const spec = `inputs: { x: "float32[4, 8]" }\nlayers:\n  - a: ${first}\n  - s: chunk(2, dim=1)\n  - c: cat(1) from s[1], s[0]\n  - l: Linear(2)\n`;
  const training = trainingOf(openLayerSpec(spec, 'split'));
  const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options: {} });
  const { operators } = behaviour.lower(training, 'fp32', 'training');
  const index = training.analysis.graph.operators.findIndex(({ type }) => type === 'Split');
  const kernels = operators[index]?.backwardData ?? [];
  expect(kernels.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(moved);
  expect(operators[index]?.forward).toEqual([]);
});

const relus = (count: number): readonly string[] => Array.from({ length: count }, () => 'ReLU()');

/** `decide_layout_opt` of PyTorch 2.13 for training; its 300 nodes for each convolution are 30 operators here. */
test.each([
  ['no convolution', 128, ['ReLU()'], false],
  ['one of 29 operators', 128, ['Conv2d(128, 3)', ...relus(28)], true],
  ['one of 30 operators', 128, ['Conv2d(128, 3)', ...relus(29)], false],
  ['two of 59 operators', 128, ['Conv2d(128, 3)', 'Conv2d(128, 3)', ...relus(57)], true],
  ['in two groups', 128, ['Conv2d(128, 3, groups=2)'], false],
  ['depthwise', 128, ['Conv2d(128, 3, groups=128)'], true],
  ['one of two in groups', 128, ['Conv2d(128, 3)', 'Conv2d(128, 3, groups=4)'], false],
  ['64 channels', 64, ['Conv2d(64, 3)'], false],
  ['64 channels to 65', 64, ['Conv2d(65, 3)'], true],
  ['65 channels to 64', 65, ['Conv2d(64, 3)'], true],
  ['half of what it takes', 256, ['Conv2d(128, 3)'], false],
  ['one of two half of what it takes', 256, ['Conv2d(256, 3)', 'Conv2d(128, 3)'], false],
  ['64 channels to 64, and to 65', 64, ['Conv2d(64, 3)', 'Conv2d(65, 3)'], true],
  ['more than half of what it takes', 256, ['Conv2d(129, 3)'], true],
  ['half of what it takes, 1 × 1', 256, ['Conv2d(128, 1)'], true],
])('channels-last for %s', (_, channels, layers, expected) => {
  expect(prefersChannelsLast(ofLayers(channels, layers), 'training')).toBe(expected);
});

// FLOPs of grouped convolutions count 1.358, of dense ones 0.823, narrow ones 0.783 (torch/_inductor/graph.py).
test.each([
  ['in groups', 128, ['Conv2d(128, 3, groups=2)'], false],
  ['depthwise', 128, ['Conv2d(128, 3, groups=128)'], true],
  ['64 channels', 64, ['Conv2d(64, 3)'], true],
  ['half of what it takes', 256, ['Conv2d(128, 3)'], true],
  [
    'two of three in two groups',
    128,
    ['Conv2d(128, 3)', 'Conv2d(128, 3, groups=2)', 'Conv2d(128, 3, groups=2)'],
    false,
  ],
  ['one of two in four groups', 128, ['Conv2d(128, 3)', 'Conv2d(128, 3, groups=4)'], true],
  ['one of 30 operators', 128, ['Conv2d(128, 3)', ...relus(29)], false],
])('channels-last in inference for %s', (_, channels, layers, expected) => {
  expect(prefersChannelsLast(ofLayers(channels, layers), 'inference')).toBe(expected);
});
