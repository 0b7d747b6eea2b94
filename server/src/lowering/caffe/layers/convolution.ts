/** Convolutions: sizes round down (src/caffe/layers/conv_layer.cpp, deconv_layer.cpp, base_conv_layer.cpp). */

import {
  booleanOf,
  messageOf,
  numberOf,
  numberOr,
  numbersOf,
  spanOf,
} from '../../../formats/caffe/syntax.ts';
import { itemAt } from '../../../model/at.ts';
import { countElements } from '../../../model/countElements.ts';
import { int, ints, type NodeAttributes, type Tensor } from '../../layer-spec/layerDefinition.ts';
import { any, type CaffeCall, type CaffeLayerDefinition } from '../layerDefinition.ts';
import { fixed, printShape, shapeOf, shapeOfRank } from '../shapes.ts';

export interface Window {
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly pad: readonly number[];
  readonly dilation: readonly number[];
}

/** Kernel, stride, padding and dilation of each spatial axis; says what is wrong with them. */
function windowOf(call: CaffeCall, axes: number): Window | undefined {
  const { parameters } = call;
  const stated = windowWithTime(call, axes);
  if (stated !== undefined) return stated;
  const repeated = (name: string, standard: number | undefined): readonly number[] | undefined => {
    const given = numbersOf(parameters, name);
    if (given.length === 0 && standard === undefined)
      return call.missing(name, 'give the extent of the kernel');
    if (given.length > 1 && given.length !== axes) {
      return call.problem(
        `\`${name}\` is given ${given.length} times: give one for all, or ${axes}`,
        spanOf(parameters, name),
      );
    }
    return Array.from({ length: axes }, (_, axis) => given[axis] ?? given[0] ?? standard ?? 1);
  };
  const sizes = (name: string, height: string, width: string, standard: number | undefined) => {
    const [h, w] = [numbersOf(parameters, height)[0], numbersOf(parameters, width)[0]];
    if (h === undefined && w === undefined) return repeated(name, standard);
    const where = spanOf(parameters, height) ?? spanOf(parameters, width);
    if (parameters.fields.has(name)) {
      return call.problem(`give \`${name}\`, or \`${height}\` and \`${width}\`, not both`, where);
    }
    if (axes !== 2) {
      return call.problem(`\`${height}\` and \`${width}\` are for two spatial axes, not ${axes}`, where);
    }
    const pair = [h ?? standard, w ?? standard].flatMap((size) => size ?? []);
    return pair.length === 2
      ? pair
      : call.problem(`\`${height}\` and \`${width}\` are given together`, where);
  };
  const kernel = sizes('kernel_size', 'kernel_h', 'kernel_w', undefined);
  const stride = sizes('stride', 'stride_h', 'stride_w', 1);
  const pad = sizes('pad', 'pad_h', 'pad_w', 0);
  const dilation = repeated('dilation', 1);
  if (kernel === undefined || stride === undefined || pad === undefined || dilation === undefined)
    return undefined;
  for (const [name, values] of [
    ['kernel_size', kernel],
    ['stride', stride],
    ['dilation', dilation],
  ] as const) {
    if (values.some((value) => value < 1))
      return call.problem(`\`${name}\` must be above 0`, spanOf(parameters, name));
  }
  return { kernel, stride, pad, dilation };
}

/**
 * Windows over three axes as the forks for video write them: `kernel_depth`, `temporal_stride` and `temporal_pad` of
 * C3D (convolution3d_layer.cpp), `kernel_shape`, `stride_shape` and `pad_shape` of video-caffe (cudnn_ndconv_layer.cpp).
 */
export function windowWithTime(call: CaffeCall, axes: number): Window | undefined {
  const { parameters } = call;
  const listed = numbersOf(messageOf(parameters, 'kernel_shape'), 'dim');
  const depth = numberOf(parameters, 'kernel_depth');
  const ones = Array.from({ length: axes }, () => 1);
  if (listed.length === axes) {
    const list = (name: string, standard: number): readonly number[] => {
      const values = numbersOf(messageOf(parameters, name), 'dim');
      return values.length === axes ? values : ones.map(() => standard);
    };
    return { kernel: listed, stride: list('stride_shape', 1), pad: list('pad_shape', 0), dilation: ones };
  }
  if (depth === undefined || axes !== 3) return undefined;
  const spatial = (name: string, standard: number): readonly number[] =>
    [`${name}_h`, `${name}_w`].map(
      (own) =>
        numbersOf(parameters, own)[0] ??
        numbersOf(parameters, name === 'kernel' ? 'kernel_size' : name)[0] ??
        standard,
    );
  return {
    kernel: [depth, ...spatial('kernel', 1)],
    stride: [numberOr(parameters, 'temporal_stride', 1), ...spatial('stride', 1)],
    pad: [numberOr(parameters, 'temporal_pad', 0), ...spatial('pad', 0)],
    dilation: ones,
  };
}

function lowerConvolution(
  call: CaffeCall,
  transposed: boolean,
  depthwise: boolean,
): readonly Tensor[] | undefined {
  const { parameters } = call;
  const shape = shapeOf(call);
  if (shape === undefined) return undefined;
  const axis = numberOr(parameters, 'axis', 1);
  const axes = shape.length - (axis < 0 ? axis + shape.length : axis) - 1;
  if (axes < 1 || axes !== shape.length - 2) {
    return call.mismatch(
      `a convolution reads [batch, channels, sizes], but \`${call.layer.bottoms[0]?.text}\` is ${printShape(shape)}`,
      spanOf(parameters, 'axis') ?? call.layer.bottoms[0]?.span,
    );
  }
  const channels = fixed(shape[1]);
  if (channels === undefined) return undefined;
  const outputs = numberOf(parameters, 'num_output') ?? (depthwise ? channels : undefined);
  if (outputs === undefined || outputs < 1) {
    return call.missing('num_output', 'give the channels of the output, from 1');
  }
  const window = windowOf(call, axes);
  if (window === undefined) return undefined;
  const group = depthwise ? channels : numberOr(parameters, 'group', 1);
  if (group < 1 || channels % group !== 0 || outputs % group !== 0) {
    return call.mismatch(
      `${channels} input and ${outputs} output channels do not divide into ${group} groups`,
      spanOf(parameters, 'group') ?? spanOf(parameters, 'num_output'),
    );
  }
  const tooSmall = window.kernel.findIndex((kernel, index) => {
    const size = fixed(shape[index + 2]);
    const extent = (window.dilation[index] ?? 1) * (kernel - 1) + 1;
    return !transposed && size !== undefined && extent > size + 2 * itemAt(window.pad, index);
  });
  if (tooSmall >= 0) {
    return call.mismatch(
      `the kernel ${window.kernel.join(' × ')} is larger than the padded input ${printShape(shape)}`,
      spanOf(parameters, 'kernel_size') ?? spanOf(parameters, 'kernel_h'),
    );
  }
  const dimensions = transposed
    ? [channels, outputs / group, ...window.kernel]
    : [outputs, channels / group, ...window.kernel];
  const weight = call.weight(0, 'weight', dimensions);
  const bias = booleanOf(parameters, 'bias_term') === false ? [] : [call.weight(1, 'bias', [outputs])];
  const attributes: NodeAttributes = {
    kernel_shape: ints(window.kernel),
    strides: ints(window.stride),
    pads: ints([...window.pad, ...window.pad]),
    dilations: ints(window.dilation),
    group: int(group),
  };
  // Several bottoms are convolved with the same weights, each to its top.
  return call.inputs.map((input) =>
    call.emit(transposed ? 'ConvTranspose' : 'Conv', [input, weight, ...bias], attributes),
  );
}

const common = { parameters: 'convolution_param', bottoms: [1, any], tops: [1, any] } as const;

export const convolutionLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'Convolution',
    aliases: [
      'Convolution3D',
      'NdConvolution',
      'ConvolutionRistretto',
      'CConvolution',
      'CmpConvolution',
      'QuantizedConvolution',
    ],
    documentation: 'Convolution of [batch, channels, sizes], over any number of spatial axes.',
    source: 'conv_layer.cpp',
    ...common,
    lower: (call) => lowerConvolution(call, false, false),
  },
  {
    type: 'Deconvolution',
    aliases: ['Deconvolution3D', 'NdDeconvolution', 'DeconvolutionRistretto'],
    documentation: 'Transposed convolution, which gives stride times as many positions.',
    source: 'deconv_layer.cpp',
    ...common,
    lower: (call) => lowerConvolution(call, true, false),
  },
  {
    type: 'DepthwiseConvolution',
    aliases: ['ConvolutionDepthwise', 'DepthWiseConvolution', 'ConvolutionDepthWise'],
    documentation: 'Convolution of each channel apart.',
    source: 'depthwise convolution of the forks for MobileNet',
    ...common,
    lower: (call) => lowerConvolution(call, false, true),
  },
  {
    type: 'DeformableConvolution',
    documentation: 'Convolution that samples at the offsets of its second bottom.',
    source: 'deformable_conv_layer.cpp of Deformable ConvNets for Caffe',
    parameters: 'deformable_convolution_param',
    otherParameters: ['convolution_param'],
    bottoms: [2, 3],
    tops: [1, 1],
    lower: lowerDeformable,
  },
  {
    type: 'Im2col',
    documentation: 'Windows of the input as channels, [batch, channels · kernel, positions].',
    source: 'im2col_layer.cpp',
    parameters: 'convolution_param',
    bottoms: [1, 1],
    tops: [1, 1],
    lower: lowerIm2col,
  },
];

function lowerDeformable(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOfRank(call, 4, '[batch, channels, height, width]');
  const window = shape === undefined ? undefined : windowOf(call, 2);
  const channels = fixed(shape?.[1]);
  const { parameters } = call;
  if (shape === undefined || window === undefined || channels === undefined) return undefined;
  const outputs = numberOf(parameters, 'num_output');
  const group = numberOr(parameters, 'group', 1);
  if (outputs === undefined || outputs < 1) {
    return call.missing('num_output', 'give the channels of the output, from 1');
  }
  if (group < 1 || channels % group !== 0 || outputs % group !== 0) {
    return call.mismatch(
      `${channels} input and ${outputs} output channels do not divide into ${group} groups`,
    );
  }
  const weight = call.weight(0, 'weight', [outputs, channels / group, ...window.kernel]);
  const bias = booleanOf(parameters, 'bias_term') === false ? undefined : call.weight(1, 'bias', [outputs]);
  const [input, offsets, mask] = call.inputs;
  const attributes: NodeAttributes = {
    kernel_shape: ints(window.kernel),
    strides: ints(window.stride),
    pads: ints([...window.pad, ...window.pad]),
    dilations: ints(window.dilation),
    group: int(group),
    offset_group: int(numberOr(parameters, 'deformable_group', 1)),
  };
  return [call.emit('DeformConv', [input, weight, offsets, bias, mask], attributes)];
}

/** Pad, gather rows and columns of every window, and bring both kernel axes beside the channels. */
function lowerIm2col(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOf(call);
  if (shape === undefined) return undefined;
  const window = windowOf(call, shape.length - 2);
  if (shape.length !== 4 || window === undefined) {
    return window === undefined ? undefined : call.unknown('its windows are not over two spatial axes');
  }
  let tensor: Tensor | undefined = call.inputs[0];
  const [padH = 0, padW = 0] = window.pad;
  tensor = call.emit('Pad', [tensor, call.integers([0, 0, padH, padW, 0, 0, padH, padW])]);
  for (const axis of [0, 1]) {
    const size = fixed(shape[axis + 2]);
    const [kernel = 1, stride = 1, pad = 0, dilation = 1] = [
      window.kernel[axis],
      window.stride[axis],
      window.pad[axis],
      window.dilation[axis],
    ];
    if (size === undefined) return undefined;
    const count = Math.floor((size + 2 * pad - dilation * (kernel - 1) - 1) / stride) + 1;
    if (count < 1) return call.mismatch(`the kernel is larger than the padded input ${printShape(shape)}`);
    const indices = call.buffer(`windows${axis}`, [kernel, count]);
    tensor = call.emit('Gather', [tensor, { ...indices, elementType: 'int64' }], { axis: int(2 + 2 * axis) });
  }
  const columns = call.emit('Transpose', [tensor], { perm: ints([0, 1, 2, 4, 3, 5]) });
  const [, , , , height, width] = columns.shape ?? [];
  const channels = fixed(shape[1]);
  if (channels === undefined || typeof height !== 'number' || typeof width !== 'number') return undefined;
  const kernelSize = countElements(window.kernel);
  return [call.emit('Reshape', [columns, call.integers([0, channels * kernelSize, height, width])])];
}
