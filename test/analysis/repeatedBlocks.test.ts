/** The blocks that checkpointing goes by. */

import { describe, expect, test } from 'vitest';
import { repeatedBlocks } from '../../server/src/analysis/repeatedBlocks.ts';
import { openGraph } from '../support/savedActivations.ts';

function blocksOf(path: string): readonly string[] {
  const { analysis } = openGraph(path);
  if (analysis === undefined) throw new Error(path);
  return [...new Set((repeatedBlocks(analysis) ?? []).flatMap((block) => block ?? []))];
}

describe('blocks: their number, the first and the last', () => {
  test.each([
    ['samples/more/llama-3-8b.layers.yaml', 32, 'layers[0]', 'layers[31]'],
    ['samples/gpt2.onnx', 12, '/model/transformer/h.0', '/model/transformer/h.11'],
    ['samples/bert-base.onnx', 12, '/model/encoder/layer.0', '/model/encoder/layer.11'],
    ['samples/tinyllama.onnx', 22, '/model/model/layers.0', '/model/model/layers.21'],
    // The stages of a ResNet are numbered too, but differ in their shapes.
    ['samples/resnet50.onnx', 16, '/layer1/layer1.0', '/layer4/layer4.2'],
    // The first block of each stage is `layer1_0` there, and no two of them have the same shapes.
    ['samples/resnet50.layers.yaml', 12, 'layer1[0]', 'layer4[1]'],
    // Decoder layers hold numbered experts: the outer ones count.
    ['samples/more/mixtral-8x7b.layers.yaml', 32, 'layers[0]', 'layers[31]'],
  ])('%s', (path, count, first, last) => {
    const blocks = blocksOf(path);
    expect([blocks.length, blocks[0], blocks.at(-1)]).toEqual([count, first, last]);
  });

  test.each([
    'samples/alexnet.onnx',
    // Numbered, but each module is one convolution.
    'samples/vgg16.onnx',
    'samples/lenet.prototxt',
  ])('%s: none', (path) => {
    expect(blocksOf(path)).toEqual([]);
  });
});
