/** Attributes of the nodes of a file: where each is that its operator does not take. */

import { expect, it } from 'vitest';
import { openModel, openOnnxText } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { hasSharedModels, readShared, sharedFiles, sharedTestName } from '../support/sharedModels.ts';

const attributeIssues = (text: string): readonly string[] =>
  openOnnxText(text, 'm.onnxtxt').issues.flatMap(({ code, operator, attribute, message }) =>
    code === 'graph/attribute' ? [`${operator ?? '-'} ${attribute ?? '-'}: ${message.split(', ')[0]}`] : [],
  );

const header = '<ir_version: 10, opset_import: ["" : 21, "local" : 1]>';

it.each<[string, string, readonly string[]]>([
  [
    'each node, though two are alike',
    `${header} g (float[4,8] x) => (float[4,8] z) {
      y = Softmax <axes = 1> (x)
      [last] z = Softmax <axes = 1> (y)
    }`,
    ['0 axes: Softmax `y` has no attribute `axes`', '1 axes: Softmax `last` has no attribute `axes`'],
  ],
  [
    'nodes inside others',
    `${header} g (bool c, float[4,8] x) => (float[4,8] z) {
      z = If (c) <then_branch = t () => (y) { y = Elu <alfa = 1.0> (x) }, else_branch = e () => (y) { y = Relu (x) }>
    }`,
    ['0 alfa: Elu `y` has no attribute `alfa`'],
  ],
  [
    'functions, which stand elsewhere',
    `${header} g (float[4,8] x) => (float[4,8] z) { z = local.f <dim = 1> (x) }
    <domain: "local", opset_import: ["" : 13]> f <dim> (x) => (y) { h = Softmax <axes: int = @dim> (x) y = Concat (h) }`,
    ['- -: Softmax `h` has no attribute `axes`', '- -: Concat `y` needs the attribute `axis`'],
  ],
  [
    'no function, though it is named like an operator',
    `${header} g (float[4,8] x) => (float[4,8] z) { z = Elu <steepness = 1> (x) }
    <domain: "", opset_import: ["" : 21]> Elu <steepness> (x) => (y) { y = Relu (x) }`,
    [],
  ],
  [
    'no domain without a version',
    '<ir_version: 10, opset_import: ["local" : 1]> g (float[4,8] x) => (float[4,8] z) { z = Elu <alfa = 1.0> (x) }',
    [],
  ],
])('checks %s', (_, text, expected) => expect(attributeIssues(text)).toEqual(expected));

/** Models that nGraph wrote by hand to try its own reader: `onnx.checker` 1.23.1 refuses these for the same reasons, and no others. */
const refused: readonly string[] = [
  'depth_to_space.prototxt',
  'depth_to_space_bad_blocksize.prototxt',
  'depth_to_space_chw.prototxt',
  'depth_to_space_no_blocksize.prototxt',
  'dequantize_linear_2.prototxt',
  'dequantize_linear_3.prototxt',
  'dequantize_linear_4.prototxt',
  'dequantize_linear_5.prototxt',
  'global_average_pool_dyn.prototxt',
  'global_max_pool_dyn.prototxt',
  'global_lp_pool_dynamic_hw.prototxt',
  'global_lp_pool_p0.prototxt',
  'global_lp_pool_p1.prototxt',
  'global_lp_pool_p2.prototxt',
  'global_lp_pool_p3.prototxt',
  'quantize_linear_axis_negative.prototxt',
  'quantize_linear_axis_zero.prototxt',
  'space_to_depth_no_blocksize.prototxt',
];

it.runIf(hasSharedModels)(
  sharedTestName('finds nothing wrong in the models of exporters, and what the reference does in others'),
  () => {
    const files = sharedFiles(
      /\.(onnx|onnx\.gz|prototxt|onnxtxt|json)$/,
      'onnx-light',
      'onnx-simple',
      'onnx-pytorch-converted',
      'onnx-pytorch-operator',
      'onnxruntime-genai',
      'onnxruntime-extensions',
      'ngraph-onnx-prototxt',
    );
    const wrong = files.filter((file) =>
      openModel(byteSourceOfBuffer(readShared(file)), file).issues.some(
        ({ code }) => code === 'graph/attribute',
      ),
    );
    expect(wrong.map((file) => file.split('/').at(-1))).toEqual(refused);
  },
);
