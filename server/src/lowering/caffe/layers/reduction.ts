/** Layers that reduce axes (src/caffe/layers/reduction_layer.cpp, argmax_layer.cpp). */

import { booleanOf, numberOr, numbersOf, spanOf, textOf } from '../../../formats/caffe/syntax.ts';
import { int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import type { CaffeCall, CaffeLayerDefinition } from '../layerDefinition.ts';
import { axisOf, shapeOf } from '../shapes.ts';

const oneToOne = { bottoms: [1, 1], tops: [1, 1] } as const;

function lowerReduction(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const shape = shapeOf(call);
  if (shape === undefined) return undefined;
  const axis = axisOf(call, numberOr(parameters, 'axis', 0), shape.length, spanOf(parameters, 'axis'));
  if (axis === undefined) return undefined;
  const operator = reductions[textOf(parameters, 'operation') ?? 'SUM'] ?? 'ReduceSum';
  const axes = shape.map((_, index) => index).slice(axis);
  const reduced = call.emit(operator, [call.inputs[0], call.integers(axes)], { keepdims: int(0) });
  const factor = numberOr(parameters, 'coeff', 1);
  return [factor === 1 ? reduced : call.emit('Mul', [reduced, call.scalar(factor)])];
}

const reductions: Readonly<Record<string, string>> = {
  SUM: 'ReduceSum',
  ASUM: 'ReduceL1',
  SUMSQ: 'ReduceSumSquare',
  MEAN: 'ReduceMean',
};

/** The highest along an axis, or of each sample: numbers, and values where they are asked for. */
function lowerArgMax(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const shape = shapeOf(call);
  const count = numberOr(parameters, 'top_k', 1);
  const withValues = booleanOf(parameters, 'out_max_val') === true;
  if (shape === undefined) return undefined;
  const written = numbersOf(parameters, 'axis')[0];
  if (written !== undefined) {
    const axis = axisOf(call, written, shape.length, spanOf(parameters, 'axis'));
    if (axis === undefined) return undefined;
    const found = call.emitMany('TopK', [call.inputs[0], call.integers([count])], 2, { axis: int(axis) });
    const [values, indices] = found;
    return withValues ? toList(values) : toList(indices);
  }
  const flat = shape.length === 2 ? call.inputs[0] : call.emit('Flatten', [call.inputs[0]], { axis: int(1) });
  const [values, indices] = call.emitMany('TopK', [flat, call.integers([count])], 2, { axis: int(1) });
  const positions = call.emit('Unsqueeze', [indices, call.integers([1])]);
  if (!withValues) return [positions];
  const numbers = call.emit('Cast', [positions], { to: int(1) });
  return [
    call.emit('Concat', [numbers, call.emit('Unsqueeze', [values, call.integers([1])])], { axis: int(1) }),
  ];
}

const toList = (tensor: Tensor | undefined): readonly Tensor[] | undefined =>
  tensor === undefined ? undefined : [tensor];

export const reductionLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'Reduction',
    documentation: 'Sum, mean, or sum of magnitudes or squares over all axes from one on.',
    source: 'reduction_layer.cpp',
    parameters: 'reduction_param',
    ...oneToOne,
    lower: lowerReduction,
  },
  {
    type: 'ArgMax',
    documentation: 'Where the highest values are.',
    source: 'argmax_layer.cpp',
    parameters: 'argmax_param',
    ...oneToOne,
    lower: lowerArgMax,
  },
];
