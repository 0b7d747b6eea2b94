/** Normalizations, whole or as core ATen names them. */

import { float, int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, each, flagAttribute, type LowerAten } from '../atenCall.ts';

/** Scale and shift of `channels`; without them, ones and zeros that nothing trains. */
function scaleAndShift(call: AtenCall, input: Tensor, axis: number): readonly Tensor[] | undefined {
  const size = input.shape?.[axis];
  const given = [call.tensor('weight'), call.tensor('bias')];
  if (typeof size !== 'number') return undefined;
  const shape = call.integers([size]);
  return given.map((tensor, index) => tensor ?? constant(call, shape, index === 0 ? 1 : 0));
}

const constant = (call: AtenCall, shape: Tensor, value: number): Tensor =>
  call.emit('Expand', [call.scalar(value, 'float32'), shape])[0];

const batchNorm =
  (training: boolean | undefined): LowerAten =>
  (call) => {
    const input = call.tensor('input');
    const isTraining = training ?? call.flag('training', false);
    const affine = input && scaleAndShift(call, input, 1);
    const statistics = ['running_mean', 'running_var'].map((name) => call.tensor(name));
    if (input === undefined || affine === undefined) return undefined;
    // Without running ones, statistics are those of the batch in evaluation too.
    const isKept = statistics.every((tensor) => tensor !== undefined);
    const [scale] = affine;
    const inputs = [input, ...affine, ...(isKept ? statistics : [scale, scale])];
    const usesBatch = isTraining || !isKept;
    const outputs = call.emitMany('BatchNormalization', inputs, usesBatch ? 3 : 1, {
      epsilon: float(call.number('eps') ?? call.numberOr('epsilon', 1e-5)),
      // ONNX's momentum weighs the old statistics, PyTorch's the new ones.
      momentum: float(1 - call.numberOr('momentum', 0.1)),
      training_mode: flagAttribute(usesBatch),
    });
    return outputs.slice(0, 1);
  };

const layerNorm: LowerAten = (call) => {
  const input = call.tensor('input');
  const sizes = call.numbers('normalized_shape', [1]);
  if (input === undefined) return undefined;
  const weight = call.tensor('weight') ?? constant(call, call.integers(sizes), 1);
  return call.emit('LayerNormalization', [input, weight, call.tensor('bias')], {
    axis: int(-sizes.length),
    epsilon: float(call.numberOr('eps', 1e-5)),
  });
};

/** Without eps PyTorch uses the smallest step of the element type. */
const rmsNorm: LowerAten = (call) => {
  const input = call.tensor('input');
  const sizes = call.numbers('normalized_shape', [1]);
  if (input === undefined) return undefined;
  const weight = call.tensor('weight') ?? constant(call, call.integers(sizes), 1);
  return call.emit('RMSNormalization', [input, weight], {
    axis: int(-sizes.length),
    epsilon: float(call.numberOr('eps', 1.1920929e-7)),
  });
};

const groupNorm: LowerAten = (call) => {
  const input = call.tensor('input');
  const groups = call.number('num_groups') ?? call.number('group');
  const affine = input && scaleAndShift(call, input, 1);
  if (input === undefined || affine === undefined || groups === undefined) return undefined;
  return call.emit('GroupNormalization', [input, ...affine], {
    num_groups: int(groups),
    epsilon: float(call.numberOr('eps', 1e-5)),
  });
};

const instanceNorm: LowerAten = (call) => {
  const input = call.tensor('input');
  const affine = input && scaleAndShift(call, input, 1);
  if (input === undefined || affine === undefined || !call.flag('use_input_stats', true)) return undefined;
  return call.emit('InstanceNormalization', [input, ...affine], {
    epsilon: float(call.numberOr('eps', 1e-5)),
  });
};

/** g·v / |v|, with the norm over all axes but one (torch/nn/utils/parametrizations.py, `_WeightNorm`). */
const weightNorm: LowerAten = (call) => {
  const [direction, size] = [call.tensor('v'), call.tensor('g')];
  const rank = direction?.shape?.length;
  if (direction === undefined || size === undefined || rank === undefined) return undefined;
  const kept = call.numberOr('dim', 0);
  const axes = Array.from({ length: rank }, (_, axis) => axis).filter((axis) => axis !== kept);
  const norms = call.emit('ReduceL2', [direction, call.integers(axes)], { keepdims: int(1) });
  return call.emit('Mul', [direction, ...call.emit('Div', [size, ...norms])]);
};

export const normalizationOperators: Readonly<Record<string, LowerAten>> = {
  ...each(
    ['batch_norm.default', 'native_batch_norm.default', '_native_batch_norm_legit.default'],
    batchNorm(undefined),
  ),
  ...each(['_native_batch_norm_legit_functional.default', 'cudnn_batch_norm.default'], batchNorm(undefined)),
  '_native_batch_norm_legit.no_stats': batchNorm(true),
  '_native_batch_norm_legit_no_training.default': batchNorm(false),
  ...each(['_batch_norm_with_update.default', '_batch_norm_with_update_functional.default'], batchNorm(true)),
  ...each(['layer_norm.default', 'native_layer_norm.default'], layerNorm),
  ...each(['rms_norm.default', '_fused_rms_norm.default'], rmsNorm),
  ...each(['group_norm.default', 'native_group_norm.default'], groupNorm),
  'instance_norm.default': instanceNorm,
  ...each(['_weight_norm.default', '_weight_norm_interface.default'], weightNorm),
};
