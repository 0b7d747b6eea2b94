import { expect, test } from 'vitest';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { openGraph } from '../support/savedActivations.ts';

test.each([
  ['samples/more/llama-3-8b.layers.yaml', 8192],
  ['samples/gpt2.layers.yaml', 1024],
  ['samples/gpt2.onnx', 1024],
  ['samples/bert-base.onnx', 512],
  ['samples/tinyllama.onnx', 2048],
  // Images, and categories in bags.
  ['samples/resnet50.onnx', undefined],
  ['samples/more/vit-b-16.layers.yaml', undefined],
  ['samples/more/dlrm.layers.yaml', undefined],
])('a sample of %s has %s tokens', (path, tokens) => {
  const opened = openGraph(path);
  expect(estimateModel(opened, [opened.scenario]).cost?.totals.tokensPerSample).toBe(tokens);
});
