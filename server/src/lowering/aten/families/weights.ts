/** Convolutions, products with weights, normalizations, lookups and attention. */

import { float, int, ints } from '../../layer-spec/layerDefinition.ts';
import { bothSides, flagAttribute, type LowerAten, perAxis } from '../atenCall.ts';

const convolution: LowerAten = (call) => {
  const [input, weight] = [call.tensor('input'), call.tensor('weight')];
  const axes = (weight?.shape?.length ?? 0) - 2;
  if (axes < 1 || input?.shape?.length !== axes + 2) return undefined;
  const of = (name: string, standard: number) => perAxis(call.numbers(name, [standard]), axes);
  if (call.has('padding') && call.numbers('padding', []).length === 0) return undefined;
  return call.emit('Conv', [input, weight, call.tensor('bias')], {
    strides: ints(of('stride', 1)),
    pads: bothSides(of('padding', 0)),
    dilations: ints(of('dilation', 1)),
    group: int(call.number('groups') ?? 1),
  });
};

/** x·Wᵀ + b, as layer specs write it: one Gemm for two axes, a product and an addition for more. */
const linear: LowerAten = (call) => {
  const [input, weight, bias] = [call.tensor('input'), call.tensor('weight'), call.tensor('bias')];
  if (weight?.shape?.length !== 2) return undefined;
  if (input?.shape?.length === 2) return call.emit('Gemm', [input, weight, bias], { transB: int(1) });
  const [transposed] = call.emit('Transpose', [weight], { perm: ints([1, 0]) });
  const product = call.emit('MatMul', [input, transposed]);
  return bias === undefined ? product : call.emit('Add', [...product, bias]);
};

const batchNorm: LowerAten = (call) => {
  const isTraining = call.flag('training', false);
  const inputs = ['input', 'weight', 'bias', 'running_mean', 'running_var'].map((name) => call.tensor(name));
  if (inputs.includes(undefined)) return undefined;
  const outputs = call.emitMany('BatchNormalization', inputs, isTraining ? 3 : 1, {
    epsilon: float(call.number('eps') ?? 1e-5),
    // ONNX's momentum weighs the old statistics, PyTorch's the new ones.
    momentum: float(1 - (call.number('momentum') ?? 0.1)),
    training_mode: flagAttribute(isTraining),
  });
  return outputs.slice(0, 1);
};

const layerNorm: LowerAten = (call) => {
  const [input, weight] = [call.tensor('input'), call.tensor('weight')];
  if (weight === undefined) return undefined;
  return call.emit('LayerNormalization', [input, weight, call.tensor('bias')], {
    axis: int(-call.numbers('normalized_shape', [1]).length),
    epsilon: float(call.number('eps') ?? 1e-5),
  });
};

const attention: LowerAten = (call) => {
  const inputs = ['query', 'key', 'value'].map((name) => call.tensor(name));
  if (inputs.some((input) => input?.shape?.length !== 4) || (call.number('dropout_p') ?? 0) > 0)
    return undefined;
  const mask = call.tensor('attn_mask');
  if (call.has('attn_mask') && mask === undefined) return undefined;
  const scale = call.number('scale');
  return call.emit('Attention', mask === undefined ? inputs : [...inputs, mask], {
    is_causal: flagAttribute(call.flag('is_causal', false)),
    ...(scale === undefined ? {} : { scale: float(scale) }),
  });
};

export const weightOperators: Readonly<Record<string, LowerAten>> = {
  'conv1d.default': convolution,
  'conv2d.default': convolution,
  'conv3d.default': convolution,
  'linear.default': linear,
  'batch_norm.default': batchNorm,
  'layer_norm.default': layerNorm,
  'embedding.default': (call) =>
    call.flag('sparse', false)
      ? undefined
      : call.emit('Gather', [call.tensor('weight'), call.tensor('indices')]),
  'matmul.default': (call) => call.emit('MatMul', [call.tensor('self'), call.tensor('other')]),
  'bmm.default': (call) => call.emit('MatMul', [call.tensor('self'), call.tensor('mat2')]),
  'scaled_dot_product_attention.default': attention,
};
