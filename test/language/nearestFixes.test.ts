import { expect, it } from 'vitest';
import { openCaffe, openOnnxText } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { diagnostics } from '../../server/src/language/diagnostics.ts';
import { locateOnnxText } from '../../server/src/language/locateOnnxText.ts';
import { caffeFixes, onnxTextFixes } from '../../server/src/language/nearestFixes.ts';
import { applyEdits } from '../../server/src/language/textEdit.ts';
import { viewCaffe } from '../../server/src/language/viewCaffe.ts';
import { viewOnnxText } from '../../server/src/language/viewOnnxText.ts';
import { oneGpu } from './fixture.ts';

const onnx = (nodes: string): string => `<ir_version: 10, opset_import: ["" : 21]>
g (float[4,8] input) => (float[4,8] result)
{
${nodes}
}
`;

/** The text of every fix by its title. */
function fixesOf(language: 'onnx' | 'caffe', text: string): Readonly<Record<string, string>> {
  const fixes = (): ReturnType<typeof caffeFixes> => {
    if (language === 'caffe') {
      const view = viewCaffe(text, estimateModel(openCaffe(text, 'net.prototxt'), [oneGpu]));
      return caffeFixes(text, view, diagnostics(view));
    }
    const opened = openOnnxText(text, 'model.onnxtxt');
    const spans = opened.onnxSpans ?? { nodes: [], values: new Map(), sections: [] };
    const view = viewOnnxText(locateOnnxText(text, spans), estimateModel(opened, [oneGpu]));
    return onnxTextFixes(text, view, diagnostics(view));
  };
  return Object.fromEntries(fixes().map(({ title, edits }) => [title, applyEdits(text, edits)]));
}

it.each([
  ['an operator', 'hidden = Reluu (input)\n  result = Tanh (hidden)', 'Reluu', 'Relu'],
  ['an operator below its name', '["n"]\n  result =\n    Sigmoidd (input)', 'Sigmoidd', 'Sigmoid'],
  ['a value', 'hidden = Relu (input)\n  result = Add (hidden, hiden)', 'hiden)', 'hidden)'],
  ['a value in quotes', 'hidden = Relu (input)\n  result = Tanh ("hiden")', '"hiden"', '"hidden"'],
])('puts the nearest name for %s of ONNX text', (_, nodes, wrong, right) => {
  const text = onnx(`  ${nodes}`);
  expect(fixesOf('onnx', text)).toEqual({
    [`Change to \`${right.replace(/\W/g, '')}\``]: text.replace(wrong, right),
  });
});

it.each([
  ['arguments', 'result = Add (input, input)'],
  ['an attribute and the next', 'result = Gemm <alpha = 0.5, transB = 1> (input, input)'],
  ['numbers', 'result = Transpose <perm = [1, 0]> (input)'],
  ['outputs', 'result, mask = Dropout (input)'],
])('puts the comma that is missing between %s of ONNX text', (_, node) => {
  const text = onnx(`  ${node}`);
  expect(fixesOf('onnx', text.replace(node, node.replace(',', '')))).toEqual({ 'Insert a comma': text });
});

it.each([
  ['the name of an attribute', 'result = Gemm <transB = 1> (input, input)', 'transB', 'transb_', 'transB'],
  ['a name in quotes', 'result = Gemm <"transB" = 1> (input, input)', 'transB', 'transpB', 'transB'],
  [
    'a name in a graph inside',
    'result = If (c) <then_branch = t () => (y) { y = Elu <alpha = 2.0> (input) }, else_branch = e () => (y) { y = Relu (input) }>',
    'alpha',
    'alpa',
    'alpha',
  ],
])('puts the nearest name for %s of ONNX text', (_, node, right, wrong, name) => {
  for (const text of [onnx(`  h = Relu (input)\n  ${node}`), onnx(`  ${node}`).replaceAll('\n', '\r\n')]) {
    expect(fixesOf('onnx', text.replace(right, wrong))[`Change to \`${name}\``]).toEqual(text);
  }
});

it.each([
  ['alpha = 2', 'alpha = 2.0', 'Gemm'],
  ['alpha = -2', 'alpha = -2.0', 'Gemm'],
  ['alpha: int = 2', 'alpha: float = 2.0', 'Gemm'],
  ['perm = 1', 'perm = [1]', 'Transpose'],
  ['perm: int = -1', 'perm: ints = [-1]', 'Transpose'],
  ['axis = [1]', 'axis = 1', 'Softmax'],
  ['axis: ints = [1]', 'axis: int = 1', 'Softmax'],
  ['activations = "Tanh"', 'activations = ["Tanh"]', 'LSTM'],
  ['axis = "rows"', undefined, 'Softmax'],
  ['axis = [1, 2]', undefined, 'Softmax'],
])('writes %s as %s', (wrong, right, operator) => {
  const text = onnx(`  result = ${operator} <${wrong}> (input, input)`);
  const fixes = Object.entries(fixesOf('onnx', text)).filter(([title]) => title.startsWith('Write'));
  const value = right?.split(' = ')[1];
  expect(fixes).toEqual(right === undefined ? [] : [[`Write \`${value}\``, text.replace(wrong, right)]]);
});

it('underlines the attribute that is wrong', () => {
  const text = onnx('  result = Gemm\r\n    <alpha = 0.5,\r\n     transb = 1> (input, input)');
  const opened = openOnnxText(text, 'model.onnxtxt');
  const spans = opened.onnxSpans ?? { nodes: [], values: new Map(), sections: [] };
  const view = viewOnnxText(locateOnnxText(text, spans), estimateModel(opened, [oneGpu]));
  const range = diagnostics(view).find(({ code }) => code === 'graph/attribute')?.range;
  expect(range).toEqual({ start: { line: 5, character: 5 }, end: { line: 5, character: 11 } });
});

it('puts no comma where the text would read no further', () => {
  expect(fixesOf('onnx', onnx('  result = = Tanh (input)'))).toEqual({});
});

it('has no fix for an operator that is like none', () => {
  expect(fixesOf('onnx', onnx('  result = Zzzzqqqq (input)'))).toEqual({});
});

const net = `input: "data"
input_shape { dim: 4 dim: 3 dim: 8 dim: 8 }
layer {
  name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 8 kernel_size: 3 }
}
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { pool: MAX kernel_size: 2 } }
`;

it.each([
  ['a layer type', '"Pooling"', '"Poolling"', 'Pooling'],
  ['a field', 'kernel_size: 3', 'kernel_siz: 3', 'kernel_size'],
  ['a blob', 'bottom: "conv"', 'bottom: "cnov"', 'conv'],
  ['a value', 'pool: MAX', 'pool: MAXX', 'MAX'],
])('puts the nearest name for %s of a Caffe net', (_, right, wrong, name) => {
  expect(fixesOf('caffe', net)).toEqual({});
  expect(fixesOf('caffe', net.replace(right, wrong))).toMatchObject({ [`Change to \`${name}\``]: net });
});
