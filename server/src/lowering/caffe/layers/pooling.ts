/** Pools: sizes round up, and a last window that would begin in the padding is left out (src/caffe/layers/pooling_layer.cpp). */

import { booleanOf, numberOf, numberOr, numbersOf, spanOf, textOf } from '../../../formats/caffe/syntax.ts';
import { itemAt } from '../../../model/at.ts';
import { int, ints, type NodeAttributes, type Tensor } from '../../layer-spec/layerDefinition.ts';
import type { CaffeCall, CaffeLayerDefinition } from '../layerDefinition.ts';
import { fixed, printShape, shapeOf, shapeOfRank } from '../shapes.ts';
import { windowWithTime } from './convolution.ts';

/**
 * Positions of a window along an axis by Caffe's rule: ⌈(size + 2·pad − kernel) / stride⌉ + 1, less one where there is
 * padding and the last window begins at or past size + pad.
 */
export function pooledSize(
  size: number,
  kernel: number,
  stride: number,
  pad: number,
  roundsUp = true,
): number {
  const room = (size + 2 * pad - kernel) / stride;
  const count = (roundsUp ? Math.ceil(room) : Math.floor(room)) + 1;
  return pad > 0 && (count - 1) * stride >= size + pad ? count - 1 : count;
}

/** Attributes of an ONNX pool that takes `count` positions, whatever ONNX would round to. */
function paddingOf(
  sizes: readonly (number | undefined)[],
  kernel: readonly number[],
  stride: readonly number[],
  pad: readonly number[],
  roundsUp: boolean,
): NodeAttributes {
  const symmetric = { pads: ints([...pad, ...pad]), ceil_mode: int(roundsUp ? 1 : 0) };
  const ends = sizes.map((size, axis) => {
    const [k = 1, s = 1, p = 0] = [kernel[axis], stride[axis], pad[axis]];
    if (size === undefined) return p;
    const count = pooledSize(size, k, s, p, roundsUp);
    // ONNX leaves the last window out too where there is no padding (MaxPool-22); Caffe then keeps it.
    const room = (size + 2 * p - k) / s;
    const rounded = (roundsUp ? Math.ceil(room) : Math.floor(room)) + 1;
    const inOnnx = roundsUp && (rounded - 1) * s >= size + p ? rounded - 1 : rounded;
    return inOnnx === count ? undefined : Math.max(0, (count - 1) * s + k - size - p);
  });
  if (ends.every((end) => end === undefined) || sizes.includes(undefined)) return symmetric;
  const covering = sizes.map((size, axis) => {
    const [k = 1, s = 1, p = 0] = [kernel[axis], stride[axis], pad[axis]];
    return Math.max(0, (pooledSize(size ?? 1, k, s, p, roundsUp) - 1) * s + k - (size ?? 1) - p);
  });
  return { pads: ints([...pad, ...covering]), ceil_mode: int(0) };
}

function lowerPooling(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const [input] = call.inputs;
  if (shapeOf(call)?.length === 5) return lowerPoolOverTime(call);
  const shape = shapeOfRank(call, 4, '[batch, channels, height, width]');
  if (shape === undefined) return undefined;
  const method = textOf(parameters, 'pool') ?? 'MAX';
  const positions = method === 'MAX' && call.tops > 1 ? 2 : 1;
  if (booleanOf(parameters, 'global_pooling')) {
    if (positions === 1)
      return [call.emit(method === 'MAX' ? 'GlobalMaxPool' : 'GlobalAveragePool', [input])];
    const sizes = shape.slice(2).map(fixed);
    if (sizes.includes(undefined)) return undefined;
    return call.emitMany('MaxPool', [input], 2, { kernel_shape: ints(sizes.map((size) => size ?? 1)) });
  }
  const pair = (name: string, height: string, width: string, standard: number | undefined) => {
    const both = numbersOf(parameters, name)[0] ?? standard;
    const [h, w] = [numbersOf(parameters, height)[0] ?? both, numbersOf(parameters, width)[0] ?? both];
    return h === undefined || w === undefined ? undefined : [h, w];
  };
  const kernel = pair('kernel_size', 'kernel_h', 'kernel_w', undefined);
  const stride = pair('stride', 'stride_h', 'stride_w', 1) ?? [1, 1];
  const pad = pair('pad', 'pad_h', 'pad_w', 0) ?? [0, 0];
  if (kernel === undefined) {
    return call.missing('kernel_size', 'give it, or `global_pooling: true`');
  }
  if (kernel.some((size) => size < 1))
    return call.problem('`kernel_size` must be above 0', spanOf(parameters, 'kernel_size'));
  if (stride.some((step) => step < 1))
    return call.problem('`stride` must be above 0', spanOf(parameters, 'stride'));
  if (pad.some((side, axis) => side >= (kernel[axis] ?? 1))) {
    const where = spanOf(parameters, 'pad') ?? spanOf(parameters, 'pad_h');
    return call.problem('`pad` must be smaller than the window', where);
  }
  const roundsUp =
    textOf(parameters, 'round_mode') !== 'FLOOR' && booleanOf(parameters, 'ceil_mode') !== false;
  const sizes = shape.slice(2).map(fixed);
  const empty = sizes.some(
    (size, axis) =>
      size !== undefined &&
      pooledSize(size, itemAt(kernel, axis), itemAt(stride, axis), itemAt(pad, axis), roundsUp) < 1,
  );
  if (empty) {
    return call.mismatch(
      `the window ${kernel.join(' × ')} is larger than the padded input ${printShape(shape)}`,
      spanOf(parameters, 'kernel_size'),
    );
  }
  return call.emitMany(method === 'MAX' ? 'MaxPool' : 'AveragePool', [input], positions, {
    kernel_shape: ints(kernel),
    strides: ints(stride),
    ...paddingOf(sizes, kernel, stride, pad, roundsUp),
    ...(method === 'MAX' ? {} : { count_include_pad: int(1) }),
  });
}

/** Pools of [batch, channels, frames, height, width], by the rule of pooledSize (pooling3d_layer.cpp of C3D). */
function lowerPoolOverTime(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const sizes = (shapeOf(call) ?? []).slice(2).map(fixed);
  const isMax = (textOf(parameters, 'pool') ?? 'MAX') === 'MAX';
  if (booleanOf(parameters, 'global_pooling')) {
    return [call.emit(isMax ? 'GlobalMaxPool' : 'GlobalAveragePool', call.inputs)];
  }
  const side = numberOr(parameters, 'kernel_size', 1);
  const window = windowWithTime(call, 3) ?? {
    kernel: [side, side, side],
    stride: Array.from({ length: 3 }, () => numberOr(parameters, 'stride', 1)),
    pad: Array.from({ length: 3 }, () => numberOr(parameters, 'pad', 0)),
  };
  const { kernel, stride, pad } = window;
  if ([...kernel, ...stride].some((each) => each < 1)) {
    return call.problem('kernel and stride must be above 0');
  }
  return [
    call.emit(isMax ? 'MaxPool' : 'AveragePool', call.inputs, {
      kernel_shape: ints(kernel),
      strides: ints(stride),
      ...paddingOf(sizes, kernel, stride, pad, true),
      ...(isMax ? {} : { count_include_pad: int(1) }),
    }),
  ];
}

/** Pools of 1, 4, 16, … windows, flattened and joined (src/caffe/layers/spp_layer.cpp). */
function lowerPyramid(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const shape = shapeOfRank(call, 4, '[batch, channels, height, width]');
  const levels = numberOf(parameters, 'pyramid_height');
  if (levels === undefined || levels < 1 || levels > deepestPyramid) {
    const where = spanOf(parameters, 'pyramid_height');
    return call.problem(`\`pyramid_height\` is a number from 1 to ${deepestPyramid}`, where);
  }
  const sizes = shape?.slice(2).map(fixed) ?? [];
  const type = (textOf(parameters, 'pool') ?? 'MAX') === 'MAX' ? 'MaxPool' : 'AveragePool';
  const pooled: Tensor[] = [];
  for (let level = 0; level < levels; level += 1) {
    const bins = 2 ** level;
    const known = sizes.filter((size) => size !== undefined);
    if (known.length !== 2 || sizes.length !== 2) return undefined;
    const windows = known.map((size) => {
      const kernel = Math.ceil(size / bins);
      return { kernel, pad: Math.floor((kernel * bins - size + 1) / 2) };
    });
    if (windows.some(({ kernel, pad }) => kernel < 1 || pad >= kernel)) {
      return call.mismatch(
        `level ${level + 1} of the pyramid has more windows than the input ${printShape(shape)}`,
      );
    }
    const kernel = windows.map((window) => window.kernel);
    const pad = windows.map((window) => window.pad);
    const pool = call.emit(type, [call.inputs[0]], {
      kernel_shape: ints(kernel),
      strides: ints(kernel),
      ...paddingOf(sizes, kernel, kernel, pad, true),
    });
    pooled.push(call.emit('Flatten', [pool], { axis: int(1) }));
  }
  return [pooled.length === 1 ? pooled[0] : call.emit('Concat', pooled, { axis: int(1) })].flatMap(
    (tensor) => tensor ?? [],
  );
}

/** 4¹¹ windows are more than any image has positions. */
const deepestPyramid = 12;

export const poolingLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'Pooling',
    aliases: ['Pooling3D', 'NdPooling'],
    documentation: 'Maximum or mean of windows; sizes round up.',
    source: 'pooling_layer.cpp',
    parameters: 'pooling_param',
    bottoms: [1, 1],
    tops: [1, 2],
    lower: lowerPooling,
  },
  {
    type: 'SPP',
    documentation: 'Pools of 1, 4, 16, … windows, joined: as long whatever the size of the image.',
    source: 'spp_layer.cpp',
    parameters: 'spp_param',
    bottoms: [1, 1],
    tops: [1, 1],
    lower: lowerPyramid,
  },
];
