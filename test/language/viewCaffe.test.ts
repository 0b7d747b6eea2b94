/** The editor's side of a Caffe net: hints on the first line of each layer, hover, outline, folding, diagnostics. */

import { expect, it } from 'vitest';
import { openCaffe } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { diagnostics } from '../../server/src/language/diagnostics.ts';
import { documentSymbols } from '../../server/src/language/documentSymbols.ts';
import { foldingRanges } from '../../server/src/language/foldingRanges.ts';
import { hover } from '../../server/src/language/hover.ts';
import { inlayHints } from '../../server/src/language/inlayHints.ts';
import type { ModelView } from '../../server/src/language/modelView.ts';
import { viewCaffe } from '../../server/src/language/viewCaffe.ts';
import { oneGpu } from './fixture.ts';

const viewOf = (text: string, mode: 'training' | 'inference' = 'training'): ModelView =>
  viewCaffe(text, estimateModel(openCaffe(text, 'net.prototxt'), [{ ...oneGpu, mode }]));

const text = `name: "small"
layer {
  name: "data"
  type: "Input"
  top: "data"
  input_param { shape { dim: 8 dim: 3 dim: 32 dim: 32 } }
}
layer {
  name: "block/conv"
  type: "Convolution"
  bottom: "data"
  top: "conv"
  convolution_param {
    num_output: 16
    kernel_size: 3
  }
}
layer { name: "block/relu" type: "ReLU" bottom: "conv" top: "conv" }
layer {
  name: "fc"
  type: "InnerProduct"
  bottom: "conv"
  top: "fc"
  inner_product_param { num_output: 10 }
}
layer {
  name: "prob"
  type: "Softmax"
  bottom: "fc"
  top: "prob"
  include { phase: TEST }
}
layer { name: "a" type: "ReLU" bottom: "fc" top: "a" } layer { name: "b" type: "ReLU" bottom: "a" top: "b" }
`;
const lines = text.split('\n');
const lineOf = (part: string): number => lines.findIndex((line) => line.includes(part));

it('hints each layer on the line its block begins', () => {
  const hints = inlayHints(viewOf(text), 0, lines.length);
  expect(hints.map(({ position }) => lines[position.line])).toEqual([
    'layer {',
    lines[lineOf('block/relu')],
    'layer {',
    lines[lineOf('"a"')],
  ]);
  // 2 · 8 · 30 · 30 positions · 16 · 27.
  expect(hints[0]).toMatchObject({ position: { line: 7 }, text: expect.stringMatching(/^12\.4 MFLOP · /) });
  expect(hints[3]?.text).toContain('sum of 2');
});

it('hints what is in the net in the phase that is costed', () => {
  const prob = lineOf('"prob"') - 1;
  const at = (mode: 'training' | 'inference') => inlayHints(viewOf(text, mode), prob, prob).length;
  expect([at('training'), at('inference')]).toEqual([0, 1]);
});

it('hovers a layer anywhere in its block, with what it computes', () => {
  const view = viewOf(text);
  const markdown = hover(view, { line: lineOf('kernel_size'), character: 8 })?.markdown ?? '';
  expect(markdown).toMatch(/^```text\nblock\/conv · Convolution/);
  expect(markdown).toMatch(/^output {7}float32\[8, 16, 30, 30\]$/m);
  expect(markdown).toContain('`Convolution`: Convolution of [batch, channels, sizes]');
  expect(markdown).toContain('(conv_layer.cpp)');
});

it('outlines layers, those with slashes in their names below their module', () => {
  const outline = documentSymbols(viewOf(text)).map(({ name, kind, children }) => [
    name,
    kind,
    children.map((child) => child.name),
  ]);
  expect(outline).toEqual([
    ['block', 'module', ['conv', 'relu']],
    ['fc', 'layer', []],
    ['a', 'layer', []],
  ]);
});

it('folds layers and the messages in them', () => {
  const folds = foldingRanges(viewOf(text)).map(({ firstLine, lastLine }) => [
    lines[firstLine]?.trim(),
    lastLine - firstLine,
  ]);
  expect(folds).toEqual([
    ['layer {', 5],
    ['layer {', 9],
    ['convolution_param {', 3],
    ['layer {', 6],
    ['layer {', 6],
  ]);
});

it('underlines what is wrong', () => {
  const wrong = text.replace('kernel_size: 3', 'kernel_size: 33');
  const found = diagnostics(viewOf(wrong)).filter(({ severity }) => severity === 'error');
  expect(found.map(({ code, range }) => [code, range.start.line, range.start.character])).toEqual([
    ['shape/mismatch', lineOf('kernel_size'), 4 + 'kernel_size: '.length],
  ]);
});

it('keeps the costs of the other layers while one is being written', () => {
  const half = text.replace('    kernel_size: 3\n  }\n', '    kernel_size: \n  }\n');
  const hints = inlayHints(viewOf(half), 0, lines.length);
  expect(hints.length).toBeGreaterThan(0);
  expect(diagnostics(viewOf(half)).some(({ code }) => code === 'caffe/syntax')).toBe(true);
});
