/** Layers that combine blobs, and those that scale or shift one (src/caffe/layers/eltwise_layer.cpp, scale_layer.cpp, …). */

import { booleanOf, numberOr, numbersOf, spanOf, textOf } from '../../../formats/caffe/syntax.ts';
import { type Dimension, equalDimensions, isUnknown } from '../../../model/dimension.ts';
import { int, ints, type Tensor } from '../../layer-spec/layerDefinition.ts';
import { any, type CaffeCall, type CaffeLayerDefinition } from '../layerDefinition.ts';
import { axisOf, printShape, shapeOf } from '../shapes.ts';

/** Whether two dimensions cannot be the same. */
const contradict = (left: Dimension | undefined, right: Dimension | undefined): boolean =>
  left !== undefined &&
  right !== undefined &&
  !isUnknown(left) &&
  !isUnknown(right) &&
  !equalDimensions(left, right);

/** Says which bottom has another shape than the first, axis `except` aside. */
function haveOneShape(call: CaffeCall, except?: number): boolean {
  const first = shapeOf(call);
  return call.inputs.every(({ shape }, index) => {
    if (first === undefined || shape === undefined) return true;
    const fits =
      shape.length === first.length &&
      shape.every((size, axis) => axis === except || !contradict(size, first[axis]));
    if (fits) return true;
    const [a, b] = [call.layer.bottoms[0], call.layer.bottoms[index]];
    call.mismatch(
      `\`${b?.text}\` is ${printShape(shape)}, but \`${a?.text}\` is ${printShape(first)}${
        except === undefined ? '' : `; only axis ${except} may differ`
      }`,
      b?.span,
    );
    return false;
  });
}

function lowerEltwise(call: CaffeCall): readonly Tensor[] | undefined {
  if (!haveOneShape(call)) return undefined;
  const operation = textOf(call.parameters, 'operation') ?? 'SUM';
  const factors = numbersOf(call.parameters, 'coeff');
  if (factors.length > 0 && factors.length !== call.inputs.length) {
    return call.problem(
      `\`coeff\` is given ${factors.length} times for ${call.inputs.length} bottoms: give one for each`,
      spanOf(call.parameters, 'coeff'),
    );
  }
  if (operation === 'MAX') return [call.emit('Max', call.inputs)];
  if (operation === 'MIN') return [call.emit('Min', call.inputs)];
  if (operation === 'PROD') return [chain(call, 'Mul', call.inputs)];
  const scaled = call.inputs.map((input, index) => {
    const factor = factors[index] ?? 1;
    return factor === 1 || (factor === -1 && index === 1)
      ? input
      : call.emit('Mul', [input, call.scalar(factor)]);
  });
  // A single one is copied where nothing scales it.
  if (scaled.length === 1) return scaled[0] === call.inputs[0] ? [call.emit('Identity', scaled)] : scaled;
  if (scaled.length === 2) return [call.emit(factors[1] === -1 ? 'Sub' : 'Add', scaled)];
  return [call.emit('Sum', scaled)];
}

function chain(call: CaffeCall, operator: string, inputs: readonly Tensor[]): Tensor {
  const [first, ...rest] = inputs;
  const start = first ?? call.scalar(1);
  return rest.reduce((product, next) => call.emit(operator, [product, next]), start);
}

function lowerConcat(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const older = numbersOf(parameters, 'concat_dim')[0];
  const written = numbersOf(parameters, 'axis')[0] ?? older ?? 1;
  const rank = shapeOf(call)?.length;
  const where = spanOf(parameters, 'axis') ?? spanOf(parameters, 'concat_dim');
  const axis = rank === undefined ? written : axisOf(call, written, rank, where);
  if (axis === undefined || !haveOneShape(call, axis)) return undefined;
  return [call.emit('Concat', call.inputs, { axis: int(axis) })];
}

/** Which axes of bottom 0 the factors cover, and their sizes. */
function covered(
  call: CaffeCall,
): { readonly axis: number; readonly sizes: readonly Dimension[] } | undefined {
  const shape = shapeOf(call);
  if (shape === undefined) return undefined;
  const { parameters } = call;
  const count = numberOr(parameters, 'num_axes', 1);
  const second = call.inputs[1];
  const written = numberOr(parameters, 'axis', 1);
  const axis = axisOf(call, written, shape.length, spanOf(parameters, 'axis'), shape.length + 1);
  if (axis === undefined) return undefined;
  if (second !== undefined) {
    if (second.shape === undefined) return undefined;
    const fits = second.shape.every((size, index) => !contradict(size, shape[axis + index] ?? 0));
    if (!fits) {
      const [a, b] = call.layer.bottoms;
      return call.mismatch(
        `\`${b?.text}\` is ${printShape(second.shape)}, which does not fit \`${a?.text}\` ${printShape(shape)} from axis ${axis}`,
        b?.span,
      );
    }
    return { axis, sizes: second.shape };
  }
  const end = count < 0 ? shape.length : axis + count;
  if (end > shape.length) {
    const where = spanOf(parameters, 'num_axes') ?? spanOf(parameters, 'axis');
    return call.mismatch(`\`${call.layer.bottoms[0]?.text}\` ${printShape(shape)} has no ${end} axes`, where);
  }
  return { axis, sizes: shape.slice(axis, end) };
}

/** The factors as bottom 1, or parameter `index`, with axes of size 1 behind so that they line up. */
function lined(call: CaffeCall, index: number, name: string): Tensor | undefined {
  const found = covered(call);
  const rank = shapeOf(call)?.length;
  if (found === undefined || rank === undefined) return undefined;
  const missing = rank - found.axis - found.sizes.length;
  const second = call.inputs[1];
  if (second !== undefined) {
    const behind = Array.from({ length: missing }, (_, axis) => found.sizes.length + axis);
    return missing === 0 ? second : call.emit('Unsqueeze', [second, call.integers(behind)]);
  }
  const sizes = found.sizes.flatMap((size) => (typeof size === 'number' ? [size] : []));
  if (sizes.length < found.sizes.length) {
    return call.unknown('the sizes it covers are not known from the net');
  }
  return call.weight(index, name, [...sizes, ...Array.from({ length: missing }, () => 1)]);
}

function lowerScale(call: CaffeCall): readonly Tensor[] | undefined {
  const factors = lined(call, 0, 'scale');
  if (factors === undefined) return undefined;
  const product = call.emit('Mul', [call.inputs[0], factors]);
  if (booleanOf(call.parameters, 'bias_term') !== true) return [product];
  // The bias is the last parameter: the first where the factors are a bottom.
  const own = call.inputs.length === 1;
  const sizes = factors.shape?.flatMap((size) => (typeof size === 'number' ? [size] : []));
  if (sizes === undefined || sizes.length !== factors.shape?.length) return undefined;
  return [call.emit('Add', [product, call.weight(own ? 1 : 0, 'bias', sizes)])];
}

function lowerBias(call: CaffeCall): readonly Tensor[] | undefined {
  const shifts = lined(call, 0, 'bias');
  return shifts === undefined ? undefined : [call.emit('Add', [call.inputs[0], shifts])];
}

/** scale · x + y, one factor per sample and channel (axpy_layer.cpp of SENet). */
function lowerAxpy(call: CaffeCall): readonly Tensor[] | undefined {
  const [factors, x, y] = call.inputs;
  const rank = x?.shape?.length;
  if (factors?.shape === undefined || rank === undefined || x === undefined) return undefined;
  const missing = rank - factors.shape.length;
  const behind = Array.from(
    { length: Math.max(0, missing) },
    (_, axis) => (factors.shape?.length ?? 0) + axis,
  );
  const wide = missing > 0 ? call.emit('Unsqueeze', [factors, call.integers(behind)]) : factors;
  const [batch, channels] = [wide.shape?.[0], wide.shape?.[1]];
  if (contradict(batch, x.shape?.[0]) || contradict(channels, x.shape?.[1])) {
    return call.mismatch(
      `\`${call.layer.bottoms[0]?.text}\` is ${printShape(factors.shape)}, which gives no factor for each channel of ${printShape(x.shape)}`,
      call.layer.bottoms[0]?.span,
    );
  }
  return [call.emit('Add', [call.emit('Mul', [x, wide]), y])];
}

/** Products of matrices, the last two axes of each blob (matmul_layer.cpp; inner_product_blob_layer.cpp of py-RFCN-priv). */
function lowerMatMul(call: CaffeCall): readonly Tensor[] | undefined {
  const [left, right] = call.inputs;
  const rank = right?.shape?.length;
  if (left?.shape === undefined || rank === undefined) return undefined;
  const isBlob = call.layer.type === 'InnerProductBlob';
  const turned = isBlob
    ? booleanOf(call.parameters, 'transpose') !== false
    : booleanOf(call.parameters, 'transpose_b') === true;
  const order = Array.from({ length: rank }, (_, axis) => axis);
  const swapped = [...order.slice(0, -2), rank - 1, rank - 2];
  const second = turned && rank > 1 ? call.emit('Transpose', [right], { perm: ints(swapped) }) : right;
  return [call.emit('MatMul', [left, second])];
}

export const combiningLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'Eltwise',
    documentation: 'Sum, product or maximum of blobs of one shape; FlowNet 2 scales a single one.',
    source: 'eltwise_layer.cpp; that of lmb-freiburg/flownet2',
    parameters: 'eltwise_param',
    comparesBottoms: true,
    bottoms: [1, any],
    tops: [1, 1],
    lower: lowerEltwise,
  },
  {
    type: 'Concat',
    documentation: 'Blobs joined along an axis.',
    source: 'concat_layer.cpp',
    parameters: 'concat_param',
    bottoms: [1, any],
    tops: [1, 1],
    lower: lowerConcat,
  },
  {
    type: 'Scale',
    documentation: 'Product with trained factors, or with a second blob, one per channel by default.',
    source: 'scale_layer.cpp',
    parameters: 'scale_param',
    bottoms: [1, 2],
    tops: [1, 1],
    lower: lowerScale,
  },
  {
    type: 'Bias',
    documentation: 'Sum with a trained bias, or with a second blob, one per channel by default.',
    source: 'bias_layer.cpp',
    parameters: 'bias_param',
    bottoms: [1, 2],
    tops: [1, 1],
    lower: lowerBias,
  },
  {
    type: 'Axpy',
    documentation: 'a · x + y, with a factor for each sample and channel.',
    source: 'axpy_layer.cpp of SENet',
    parameters: 'axpy_param',
    bottoms: [3, 3],
    tops: [1, 1],
    lower: lowerAxpy,
  },
  {
    type: 'MatMul',
    aliases: ['Matmul', 'BatchMatMul', 'InnerProductBlob'],
    documentation: 'Product of two blobs as matrices.',
    source: 'matmul_layer.cpp of the forks; inner_product_blob_layer.cpp of py-RFCN-priv',
    parameters: 'matmul_param',
    otherParameters: ['inner_product_blob_param'],
    bottoms: [2, 2],
    tops: [1, 1],
    lower: lowerMatMul,
  },
];
