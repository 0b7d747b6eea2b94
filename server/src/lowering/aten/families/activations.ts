/** Activations, softmax and dropout. */

import { float, int, type Tensor, text } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, each, type LowerAten } from '../atenCall.ts';

/** An operator of the input alone, in both forms that ATen has of it. */
const activation = (
  name: string,
  type: string,
  attributes: (call: AtenCall) => Parameters<AtenCall['emit']>[2] = () => ({}),
): Readonly<Record<string, LowerAten>> =>
  each([`${name}.default`, `${name}_.default`], (call) => {
    const self = call.tensor('self');
    return self && call.emit(type, [self], attributes(call));
  });

const between =
  (least: number, most: number): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    const type = self?.elementType ?? 'float32';
    const bounds = [call.number('min_val') ?? least, call.number('max_val') ?? most];
    return self && call.emit('Clip', [self, ...bounds.map((bound) => call.scalar(bound, type))]);
  };

const silu: LowerAten = (call) => {
  const self = call.tensor('self');
  return self && call.emit('Mul', [self, ...call.emit('Sigmoid', [self])]);
};

const logSigmoid: LowerAten = (call) => {
  const self = call.tensor('self');
  return self && call.emit('Log', call.emit('Sigmoid', [self]));
};

/** ln(1 + e^(βx)) / β. */
const softplus: LowerAten = (call) => {
  const self = call.tensor('self');
  const beta = call.numberOr('beta', 1);
  if (self === undefined || beta === 1) return self && call.emit('Softplus', [self]);
  const scale = call.scalar(beta, self.elementType ?? 'float32');
  return call.emit('Div', [...call.emit('Softplus', call.emit('Mul', [self, scale])), scale]);
};

/** Half of an axis times the gate that the other half is. */
const glu: LowerAten = (call) => {
  const self = call.tensor('self');
  const axis = call.numberOr('dim', -1);
  const size = self?.shape?.at(axis);
  if (self === undefined || typeof size !== 'number') return undefined;
  const parts = call.integers([size / 2, size / 2]);
  const [value, gate] = call.emitMany('Split', [self, parts], 2, { axis: int(axis) });
  return call.emit('Mul', [value, ...call.emit('Sigmoid', [gate])]);
};

/** Slopes stand at axis 1. */
const prelu: LowerAten = (call) => {
  const [self, weight] = [call.tensor('self'), call.tensor('weight')];
  // One slope for all may have no axis.
  const slopes = weight?.shape;
  const count = slopes?.length === 0 ? 1 : slopes?.[0];
  if (self?.shape === undefined || weight === undefined || typeof count !== 'number') return undefined;
  const inner = self.shape.slice(2).map(() => 1);
  const slope = count === 1 || inner.length === 0 ? [weight] : shaped(call, weight, [count, ...inner]);
  return call.emit('PRelu', [self, ...slope]);
};

/** Slopes are drawn for each element in training, which keeps them; their mean else (aten/src/ATen/native/cuda/RreluWithNoise.cu). */
const randomSlopes: LowerAten = (call) => {
  const self = call.tensor('self');
  if (self === undefined) return undefined;
  if (call.flag('training', false))
    return call.emit('PRelu', [self, ...call.emit('RandomUniformLike', [self])]);
  const slope = (call.numberOr('lower', 1 / 8) + call.numberOr('upper', 1 / 3)) / 2;
  return call.emit('LeakyRelu', [self], { alpha: float(slope) });
};

const shaped = (call: AtenCall, ...[tensor, sizes]: [Parameters<AtenCall['cast']>[0], readonly number[]]) =>
  call.emit('Reshape', [tensor, call.integers(sizes)]);

/** In the type that the call names, else in that of the input. */
const softmax =
  (type: string): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    if (self === undefined) return undefined;
    const axis = int(call.numberOr('dim', -1));
    return call.emit(type, [call.cast(self, call.elementType('dtype'))], { axis });
  };

/**
 * Dropout of whole channels and alpha dropout: a product with noise in the type of the input, which is kept, where dropout of elements
 * keeps a mask of bytes (aten/src/ATen/native/Dropout.cpp of PyTorch 2.13, `_dropout_impl`).
 */
const noisy =
  (isOfChannels: boolean, isAlpha: boolean): LowerAten =>
  (call) => {
    const input = call.tensor('input', 'self');
    if (input?.shape === undefined) return undefined;
    if (!call.flag('train', false) || call.numberOr('p', 0) === 0) return [input];
    const shape = input.shape.map((size, axis) => (isOfChannels && axis > 1 ? 1 : size));
    const sizes = call.sizes(shape);
    if (sizes === undefined) return undefined;
    const type = input.elementType ?? 'float32';
    const ones = call.emit('Expand', [call.scalar(1, type), sizes]);
    const noise = call.emit('Bernoulli', ones);
    // Which numbers they are changes no cost.
    const by = (operator: 'Add' | 'Div' | 'Mul', of: readonly [Tensor]): readonly [Tensor] =>
      call.emit(operator, [...of, call.scalar(0.5, type)]);
    if (!isAlpha) return call.emit('Mul', [input, ...by('Div', noise)]);
    const added = by('Add', by('Mul', by('Add', noise)));
    return call.emit('Add', [...call.emit('Mul', [input, ...by('Mul', noise)]), ...added]);
  };

/** Of elements. */
const dropout =
  (flag: string): LowerAten =>
  (call) => {
    const input = call.tensor('input', 'self');
    if (input === undefined) return undefined;
    const rate = call.numberOr('p', 0);
    if (!call.flag(flag, false) || rate === 0) return [input];
    const given = [input, call.scalar(rate, 'float32'), call.scalar(1, 'bool')];
    return call.emitMany('Dropout', given, call.results.length > 1 ? 2 : 1, {});
  };

export const activationOperators: Readonly<Record<string, LowerAten>> = {
  ...activation('relu', 'Relu'),
  ...activation('hardswish', 'HardSwish'),
  ...activation('hardsigmoid', 'HardSigmoid', () => ({ alpha: float(1 / 6), beta: float(0.5) })),
  ...activation('leaky_relu', 'LeakyRelu', (call) => ({
    alpha: float(call.numberOr('negative_slope', 0.01)),
  })),
  ...activation('elu', 'Elu', (call) => ({ alpha: float(call.numberOr('alpha', 1)) })),
  ...activation('celu', 'Celu', (call) => ({ alpha: float(call.numberOr('alpha', 1)) })),
  ...activation('selu', 'Selu'),
  ...activation('mish', 'Mish'),
  ...activation('gelu', 'Gelu', (call) => ({ approximate: text(call.text('approximate') ?? 'none') })),
  ...activation('hardshrink', 'Shrink', (call) => ({ lambd: float(call.numberOr('lambd', 0.5)) })),
  ...activation('softshrink', 'Shrink', (call) => ({
    lambd: float(call.numberOr('lambd', 0.5)),
    bias: float(call.numberOr('lambd', 0.5)),
  })),
  ...activation('threshold', 'ThresholdedRelu', (call) => ({
    alpha: float(call.numberOr('threshold', 0)),
  })),
  ...each(['hardtanh.default', 'hardtanh_.default'], between(-1, 1)),
  ...each(['relu6.default', 'relu6_.default'], between(0, 6)),
  ...each(['silu.default', 'silu_.default'], silu),
  ...each(['log_sigmoid.default', 'logsigmoid.default'], logSigmoid),
  'softplus.default': softplus,
  'glu.default': glu,
  ...each(['prelu.default', '_prelu_kernel.default'], prelu),
  ...each(['rrelu.default', 'rrelu_.default'], randomSlopes),
  ...each(['softmax.int', '_softmax.default', 'special_softmax.int'], softmax('Softmax')),
  ...each(['log_softmax.int', '_log_softmax.default', 'special_log_softmax.int'], softmax('LogSoftmax')),
  ...each(['dropout.default', 'dropout_.default', 'native_dropout.default'], dropout('train')),
  ...each(['feature_dropout.default', 'feature_dropout_.default'], noisy(true, false)),
  ...each(['feature_alpha_dropout.default', 'feature_alpha_dropout_.default'], noisy(true, true)),
  ...each(['alpha_dropout.default', 'alpha_dropout_.default'], noisy(false, true)),
};
