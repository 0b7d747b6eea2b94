/**
 * Operators of other public domains. Quantizers of QONNX, Brevitas and FINN: shapes, work and gradients, worked out by hand from docs/qonnx-custom-ops and
 * src/qonnx/custom_op/general of fastmachinelearning/qonnx.
 */

import { expect, test } from 'vitest';
import { openOnnxText } from '../../server/src/analysis/openModel.ts';
import { type Application, costText, outputsOf } from './check.ts';

const qonnx = (
  type: string,
  inputs: Application['inputs'],
  attributes: Application['attributes'] = {},
): Application => ({ type, domain: 'qonnx.custom_op.general', inputs, attributes });
const brevitas = (application: Application): Application => ({ ...application, domain: 'onnx.brevitas' });

const mmcv = (
  type: string,
  inputs: Application['inputs'],
  attributes: Application['attributes'] = {},
): Application => ({ type, domain: 'mmcv', inputs, attributes });

test('a deformable convolution has the FLOPs of a convolution', () => {
  const { forward } = costText(
    mmcv('MMCVDeformConv2d', ['float32[2, 8, 20, 20]', 'float32[2, 18, 18, 18]', 'float32[16, 4, 3, 3]'], {
      groups: 2,
    }),
  );
  expect(forward.flops).toBe(2 * 2 * 18 * 18 * 16 * 4 * 9);
});

const scalars = ['float32[]', 'float32[]', 'float32[]'];
const columns = {
  kernel_size: [3, 3],
  stride: [2, 2],
  pad_amount: [1, 1, 1, 1],
  input_shape: '(1, 32, 30, 8)',
};

test.each<readonly [Application, readonly string[]]>([
  [qonnx('Quant', ['float32[N, 8, 4, 4]', ...scalars]), ['float32[N, 8, 4, 4]']],
  [
    qonnx('Quant', ['float32[16, 8, 3, 3]', 'float32[16, 1, 1, 1]', ...scalars.slice(1)]),
    ['float32[16, 8, 3, 3]'],
  ],
  [brevitas(qonnx('BipolarQuant', ['float32[N, 10]', 'float32[]'])), ['float32[N, 10]']],
  [qonnx('Trunc', ['float32[N, 10]', ...scalars, 'float32[]']), ['float32[N, 10]']],
  [qonnx('FloatQuant', ['float32[N, 10]', ...scalars, ...scalars.slice(1)]), ['float32[N, 10]']],
  [qonnx('MultiThreshold', ['float32[N, 8, 4, 4]', 'float32[8, 15]']), ['float32[N, 8, 4, 4]']],
  [qonnx('XnorPopcountMatMul', ['float32[N, 64]', 'float32[64, 10]']), ['float32[N, 10]']],
  [qonnx('Im2Col', ['float32[N, 32, 30, 8]'], columns), ['float32[N, 16, 15, 72]']],
  [qonnx('QuantAvgPool2d', ['float32[N, 8, 7, 7]'], { kernel: 7, stride: 7 }), ['float32[N, 8, 1, 1]']],
  [
    qonnx('QuantAvgPool2d', ['float32[N, 8, 8, 3]'], { kernel: 2, stride: 2, data_layout: 'NHWC' }),
    ['float32[N, 4, 4, 3]'],
  ],
  [
    mmcv('MMCVRoiAlign', ['float32[1, 8, 20, 20]', 'float32[R, 5]'], { output_height: 7, output_width: 6 }),
    ['float32[R, 8, 7, 6]'],
  ],
  [mmcv('grid_sampler', ['float32[N, 8, 20, 20]', 'float32[N, 5, 6, 2]']), ['float32[N, 8, 5, 6]']],
  [
    mmcv(
      'MMCVModulatedDeformConv2d',
      [
        'float32[N, 8, 20, 20]',
        'float32[N, 18, 10, 10]',
        'float32[N, 9, 10, 10]',
        'float32[16, 8, 3, 3]',
        'float32[16]',
      ],
      { stride: [2, 2], padding: [1, 1], dilation: [1, 1], groups: 1, deform_groups: 1 },
    ),
    ['float32[N, 16, 10, 10]'],
  ],
  [
    mmcv('MMCVDeformConv2d', ['float32[N, 8, 20, 20]', 'float32[N, 18, 18, 18]', 'float32[16, 4, 3, 3]'], {
      groups: 2,
    }),
    ['float32[N, 16, 18, 18]'],
  ],
])('shape %#', (application, expected) => expect(outputsOf(application)).toEqual(expected));

test('a quantizer saves where it clipped, one byte of each element', () => {
  const { forward, backwardData, saved } = costText(qonnx('Quant', ['float32[100]', ...scalars]), ['data']);
  expect([forward.flops, forward.kernels, forward.traffic.float32Elements]).toEqual([0, 1, 203]);
  expect(backwardData.traffic).toEqual({ float32Elements: 200, fixedBytes: 100 });
  expect(saved.map((tensor) => tensor.kind === 'extra' && tensor.traffic.fixedBytes)).toEqual([100]);
});

test('a product of bits is counted as a product', () => {
  const { forward } = costText(qonnx('XnorPopcountMatMul', ['float32[4, 64]', 'float32[64, 10]']));
  expect(forward.flops).toBe(2 * 4 * 64 * 10);
});

test('a weight behind a quantizer is trained', () => {
  const text = `<ir_version: 8, opset_import: ["" : 17, "qonnx.custom_op.general" : 1]>
g (float[N, 3, 8, 8] x) => (float[N, 4, 8, 8] y)
<float[4, 3, 3, 3] w = {${Array.from({ length: 108 }, () => '0.5').join(', ')}}, float s = {0.1}, float z = {0}, float b = {4}> {
  wq = qonnx.custom_op.general.Quant <narrow: int = 1, signed: int = 1, rounding_mode: string = "ROUND"> (w, s, z, b)
  c = Conv <pads: ints = [1, 1, 1, 1]> (x, wq)
  y = qonnx.custom_op.general.Quant (c, s, z, b)
}`;
  const { analysis, issues } = openOnnxText(text, 'model.onnxtxt');
  expect(issues).toEqual([]);
  expect(analysis?.parameters.map(({ name, elements }) => [name, elements])).toEqual([['w', 108]]);
});
