/** Pooling, resampling and sliding blocks: what reads windows of an image. */

import { itemAt } from '../../../model/at.ts';
import { int, ints, type Tensor, text } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, bothSides, each, flagAttribute, type LowerAten, perAxis } from '../atenCall.ts';

const pool =
  (type: 'MaxPool' | 'AveragePool', axes: number): LowerAten =>
  (call) => {
    const input = call.tensor('self');
    const kernel = perAxis(call.numbers('kernel_size', []), axes);
    if (input?.shape?.length !== axes + 2 || kernel.length !== axes) return undefined;
    const attributes = {
      kernel_shape: ints(kernel),
      strides: ints(perAxis(call.numbers('stride', kernel), axes)),
      pads: bothSides(perAxis(call.numbers('padding', [0]), axes)),
      ceil_mode: flagAttribute(call.flag('ceil_mode', false)),
      ...(type === 'MaxPool'
        ? { dilations: ints(perAxis(call.numbers('dilation', [1]), axes)) }
        : { count_include_pad: flagAttribute(call.flag('count_include_pad', true)) }),
    };
    return call.emitMany(type, [input], Math.min(2, Math.max(1, call.results.length)), attributes);
  };

/** To one element per channel; to more it is pooling, whose windows overlap where the sizes do not divide. */
const adaptive =
  (kind: 'Average' | 'Max', axes: number): LowerAten =>
  (call) => {
    const input = call.tensor('self');
    const wanted = perAxis(call.numbers('output_size', []), axes);
    const outputs = kind === 'Max' ? Math.max(1, call.results.length) : 1;
    if (input?.shape?.length !== axes + 2 || wanted.length !== axes) return undefined;
    if (wanted.every((size) => size === 1) && outputs === 1) return call.emit(`Global${kind}Pool`, [input]);
    const before = input.shape.slice(2).map(Number);
    const steps = wanted.map((size, axis) => Math.floor(itemAt(before, axis) / size));
    if (!steps.every((step) => step > 0)) {
      return before.every(Number.isFinite) ? resized(call, input, wanted, 'nearest') : undefined;
    }
    const kernel = steps.map((step, axis) => itemAt(before, axis) - (itemAt(wanted, axis) - 1) * step);
    const attributes = { kernel_shape: ints(kernel), strides: ints(steps) };
    return call.emitMany(`${kind}Pool`, [input], outputs, attributes);
  };

function resized(
  call: AtenCall,
  input: Tensor,
  sizes: readonly number[],
  mode: 'nearest' | 'linear' | 'cubic',
): readonly [Tensor] {
  const axes = ints(sizes.map((_, axis) => axis + 2));
  return call.emit('Resize', [input, undefined, undefined, call.integers(sizes)], { axes, mode: text(mode) });
}

/** To the size that the archive says; where it is open, by the factors of the call. */
const upsample =
  (mode: 'nearest' | 'linear' | 'cubic'): LowerAten =>
  (call) => {
    const input = call.tensor('self', 'input');
    const sizes = call.shape?.slice(2) ?? [];
    if (input?.shape === undefined || sizes.length === 0) return undefined;
    const known = sizes.flatMap((size) => (typeof size === 'number' ? [size] : []));
    if (known.length === sizes.length) return resized(call, input, known, mode);
    const factors = call.numbers('scale_factors', []);
    if (factors.length !== sizes.length) return undefined;
    const axes = ints(sizes.map((_, axis) => axis + 2));
    return call.emit('Resize', [input, undefined, call.floats(factors)], { axes, mode: text(mode) });
  };

const sampleModes = ['linear', 'nearest', 'cubic'];

const gridSample: LowerAten = (call) => {
  const [input, grid] = [call.tensor('input', 'self'), call.tensor('grid')];
  const mode = text(sampleModes[call.numberOr('interpolation_mode', 0)] ?? 'linear');
  return input && grid && call.emit('GridSample', [input, grid], { mode });
};

/** Columns of blocks added up to an image. */
const fold: LowerAten = (call) => {
  const self = call.tensor('self');
  const [image, kernel] = [call.numbers('output_size', []), call.numbers('kernel_size', [])];
  if (self === undefined || image.length !== 2 || kernel.length !== 2) return undefined;
  return call.emit('Col2Im', [self, call.integers(image), call.integers(kernel)], {
    dilations: ints(call.numbers('dilation', [1, 1])),
    pads: bothSides(call.numbers('padding', [0, 0])),
    strides: ints(call.numbers('stride', [1, 1])),
  });
};

/** Blocks as columns: rows and columns are picked one axis after the other, as the layer `Unfold` of specs does. */
const unfold: LowerAten = (call) => {
  const self = call.tensor('self');
  const of = (name: string, standard: number) => perAxis(call.numbers(name, [standard]), 2);
  const [kernel, dilation, padding, stride] = [
    of('kernel_size', 1),
    of('dilation', 1),
    of('padding', 0),
    of('stride', 1),
  ];
  const columns = call.shape?.slice(1).map(Number) ?? [];
  if (self?.shape?.length !== 4 || !columns.every(Number.isFinite)) return undefined;
  const pads = [0, 0, ...padding, 0, 0, ...padding];
  let [output] = padding.some((pad) => pad > 0) ? call.emit('Pad', [self, call.integers(pads)]) : [self];
  for (const axis of [0, 1]) {
    const size = Number(self.shape[axis + 2]) + 2 * (padding[axis] ?? 0);
    const [window, apart, step] = [kernel[axis] ?? 1, dilation[axis] ?? 1, stride[axis] ?? 1];
    const count = Math.floor((size - apart * (window - 1) - 1) / step) + 1;
    if (!(count > 0) || count * window > mostPlaces) return undefined;
    const rows = Array.from({ length: window }, (_, row) =>
      Array.from({ length: count }, (_, block) => row * apart + block * step),
    );
    const index = call.emit('Reshape', [call.integers(rows.flat()), call.integers([window, count])]);
    [output] = call.emit('Gather', [output, ...index], { axis: int(axis === 0 ? 2 : 4) });
  }
  const ordered = call.emit('Transpose', [output], { perm: ints([0, 1, 2, 4, 3, 5]) });
  return call.emit('Reshape', [...ordered, call.integers([-1, ...columns])]);
};

const mostPlaces = 2 ** 16;

export const windowOperators: Readonly<Record<string, LowerAten>> = {
  ...each(['max_pool1d.default', 'max_pool1d_with_indices.default'], pool('MaxPool', 1)),
  ...each(['max_pool2d.default', 'max_pool2d_with_indices.default'], pool('MaxPool', 2)),
  ...each(['max_pool3d.default', 'max_pool3d_with_indices.default'], pool('MaxPool', 3)),
  'avg_pool1d.default': pool('AveragePool', 1),
  'avg_pool2d.default': pool('AveragePool', 2),
  'avg_pool3d.default': pool('AveragePool', 3),
  'adaptive_avg_pool1d.default': adaptive('Average', 1),
  ...each(['adaptive_avg_pool2d.default', '_adaptive_avg_pool2d.default'], adaptive('Average', 2)),
  ...each(['adaptive_avg_pool3d.default', '_adaptive_avg_pool3d.default'], adaptive('Average', 3)),
  'adaptive_max_pool1d.default': adaptive('Max', 1),
  'adaptive_max_pool2d.default': adaptive('Max', 2),
  'adaptive_max_pool3d.default': adaptive('Max', 3),
  ...each(
    ['upsample_nearest1d.vec', 'upsample_nearest2d.vec', 'upsample_nearest3d.vec'],
    upsample('nearest'),
  ),
  ...each(['upsample_nearest1d.default', 'upsample_nearest2d.default'], upsample('nearest')),
  ...each(['upsample_nearest3d.default', '_upsample_nearest_exact2d.vec'], upsample('nearest')),
  ...each(
    ['upsample_linear1d.vec', 'upsample_bilinear2d.vec', 'upsample_trilinear3d.vec'],
    upsample('linear'),
  ),
  ...each(['upsample_linear1d.default', 'upsample_bilinear2d.default'], upsample('linear')),
  ...each(['_upsample_bilinear2d_aa.vec', '_upsample_bilinear2d_aa.default'], upsample('linear')),
  ...each(
    ['upsample_bicubic2d.vec', 'upsample_bicubic2d.default', '_upsample_bicubic2d_aa.vec'],
    upsample('cubic'),
  ),
  'affine_grid_generator.default': (call) => {
    const [theta, size] = [call.tensor('theta'), call.numbers('size', [])];
    return theta && size.length > 0 ? call.emit('AffineGrid', [theta, call.integers(size)]) : undefined;
  },
  ...each(['grid_sampler.default', 'grid_sampler_2d.default', 'grid_sampler_3d.default'], gridSample),
  'im2col.default': unfold,
  'col2im.default': fold,
};
