/** Operators that compute every element by itself: arithmetic, functions, types. */

import { elementTypes, isFloatingPoint } from '../../../model/elementType.ts';
import { ownDomain } from '../../../operators/vocabulary/define.ts';
import { int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, each, type LowerAten, rankOf } from '../atenCall.ts';
import { absoluteOfComplex } from './complexNumbers.ts';

const unary =
  (type: string): LowerAten =>
  (call) => {
    const self = call.tensor('self', 'input');
    return self && call.emit(type, [self]);
  };

/** ATen's name and that of ONNX; each also in place. */
const functions: Readonly<Record<string, string>> = {
  ...{ acos: 'Acos', acosh: 'Acosh', asin: 'Asin', asinh: 'Asinh', atan: 'Atan', atanh: 'Atanh' },
  ...{ ceil: 'Ceil', cos: 'Cos', cosh: 'Cosh', erf: 'Erf', exp: 'Exp', floor: 'Floor', log: 'Log' },
  ...{ neg: 'Neg', reciprocal: 'Reciprocal', round: 'Round', sign: 'Sign', sin: 'Sin', sinh: 'Sinh' },
  ...{ sqrt: 'Sqrt', tan: 'Tan', tanh: 'Tanh', sigmoid: 'Sigmoid', isnan: 'IsNaN', isinf: 'IsInf' },
  // One kernel over the same bytes each: ONNX has a relative, not the function.
  ...{ lgamma: 'Erf', digamma: 'Erf', special_gammaln: 'Erf', special_entr: 'Erf' },
  ...{ log2: 'Log', log10: 'Log', log1p: 'Log', exp2: 'Exp', expm1: 'Exp', trunc: 'Floor', erfinv: 'Erf' },
};

const functionOperators: Readonly<Record<string, LowerAten>> = Object.fromEntries(
  Object.entries(functions).flatMap(([name, type]) =>
    Object.entries(each([`${name}.default`, `${name}_.default`], unary(type))),
  ),
);

/** Both operands in the type of the result, as PyTorch promotes them. */
const binary =
  (type: string): LowerAten =>
  (call) => {
    const pair = promoted(call, ...operands(call));
    return pair && call.emit(type, pair);
  };

/** Either may be a number. */
function operands(call: AtenCall): readonly [Tensor | undefined, Tensor | undefined] {
  const self = call.tensor('self') ?? call.operand('self', call.tensor('other'));
  return [self, call.operand('other', self)];
}

function promoted(
  call: AtenCall,
  left: Tensor | undefined,
  right: Tensor | undefined,
): readonly [Tensor, Tensor] | undefined {
  const type = call.results[0]?.elementType ?? left?.elementType;
  return left && right && [call.cast(left, type), call.cast(right, type)];
}

/** `alpha` multiplies the second operand. */
const sum =
  (type: 'Add' | 'Sub', first: 'self' | 'other' = 'self'): LowerAten =>
  (call) => {
    const [self, other] = operands(call);
    const [left, right] = first === 'self' ? [self, other] : [other, self];
    const pair = promoted(call, left, right);
    if (pair === undefined) return undefined;
    const alpha = call.numberOr('alpha', 1);
    if (alpha === 1) return call.emit(type, pair);
    const scaled = call.emit('Mul', [pair[1], call.scalar(alpha, pair[1].elementType ?? 'float32')]);
    return call.emit(type, [pair[0], ...scaled]);
  };

/** Towards 0 or down where a rounding is named: one kernel in PyTorch, as the division of integers is here. */
const division: LowerAten = (call) => {
  const quotient = binary('Div')(call);
  const isRounded = call.has('rounding_mode') && isFloatingPoint(quotient?.[0]?.elementType ?? 'float32');
  return quotient && isRounded ? call.emit('Floor', quotient) : quotient;
};

const power: LowerAten = (call) => {
  const self = call.tensor('self') ?? call.operand('self', call.tensor('exponent'));
  const exponent = call.operand('exponent', self);
  return self && exponent && call.emit('Pow', [self, exponent]);
};

/** min(max(x, least), most), with either left out. */
const clamp =
  (least: string, most: string): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    if (self === undefined) return undefined;
    const bounds = [least, most].map((name) => (call.has(name) ? call.operand(name, self) : undefined));
    const isScalar = bounds.every((bound) => bound === undefined || bound.shape?.length === 0);
    if (isScalar) return call.emit('Clip', [self, ...bounds]);
    const [from, to] = bounds;
    const raised = from === undefined ? [self] : call.emit('Max', [self, from]);
    return to === undefined ? raised : call.emit('Min', [...raised, to]);
  };

/** self + value · tensor1 · tensor2, or their quotient. */
const combined =
  (type: 'Mul' | 'Div'): LowerAten =>
  (call) => {
    const [self, one, two] = [call.tensor('self'), call.tensor('tensor1'), call.tensor('tensor2')];
    if (self === undefined || one === undefined || two === undefined) return undefined;
    return call.emit('Add', [self, ...call.emit(type, [one, two])]);
  };

/** start + weight · (end − start). */
const lerp: LowerAten = (call) => {
  const [self, end] = [call.tensor('self'), call.tensor('end')];
  const weight = call.operand('weight', self);
  if (self === undefined || end === undefined || weight === undefined) return undefined;
  return call.emit('Add', [self, ...call.emit('Mul', [...call.emit('Sub', [end, self]), weight])]);
};

/** The tensor itself, or in another type. */
const converted: LowerAten = (call) => {
  const self = call.tensor('self', 'input');
  return self && [call.cast(self, call.elementType('dtype') ?? call.results[0]?.elementType)];
};

/**
 * As the program says it, also where that changes nothing in fp32: `x.float()` and `x.to(weight.dtype)` are casts where the model
 * trains in half precision.
 */
const asked: LowerAten = (call) => {
  const self = call.tensor('self', 'input');
  const type = call.elementType('dtype') ?? call.results[0]?.elementType;
  if (self?.elementType !== 'float32' || type !== 'float32') return converted(call);
  return call.emit('Cast', [self], { to: int(elementTypes.indexOf('float32')) });
};

const same: LowerAten = (call) => {
  const self = call.tensor('self', 'a', 'input');
  return self && [self];
};

/** √(a² + b²). */
const hypotenuse: LowerAten = (call) => {
  const pair = promoted(call, ...operands(call));
  if (pair === undefined) return undefined;
  const squares = pair.flatMap((side) => call.emit('Mul', [side, side]));
  return call.emit('Sqrt', call.emit('Add', squares));
};

/** ln(eᵃ + eᵇ), from the larger of both. */
const sumOfExponentials: LowerAten = (call) => {
  const pair = promoted(call, ...operands(call));
  if (pair === undefined) return undefined;
  const [most] = call.emit('Max', pair);
  const sums = pair.flatMap((side) => call.emit('Exp', call.emit('Sub', [side, most])));
  return call.emit('Add', [most, ...call.emit('Log', call.emit('Add', sums))]);
};

/** a·ln b. */
const timesLogarithm: LowerAten = (call) => {
  const pair = promoted(call, ...operands(call));
  return pair && call.emit('Mul', [pair[0], ...call.emit('Log', [pair[1]])]);
};

/** ln(p ÷ (1 − p)). */
const logit: LowerAten = (call) => {
  const self = call.tensor('self');
  if (self === undefined) return undefined;
  const rest = call.emit('Sub', [call.scalar(1, self.elementType ?? 'float32'), self]);
  return call.emit('Log', call.emit('Div', [self, ...rest]));
};

/** sin(πx) ÷ πx. */
const cardinalSine: LowerAten = (call) => {
  const self = call.tensor('self');
  if (self === undefined) return undefined;
  const [angle] = call.emit('Mul', [self, call.scalar(Math.PI, self.elementType ?? 'float32')]);
  return call.emit('Div', [...call.emit('Sin', [angle]), angle]);
};

/** A step, which has no gradient. */
const step: LowerAten = (call) => {
  const self = call.tensor('self');
  const type = self?.elementType ?? 'float32';
  return self && [call.cast(call.emit('Greater', [self, call.scalar(0, type)])[0], type)];
};

/** Where each number would be put in: integers, by one kernel over the tensor. */
const searched: LowerAten = (call) => {
  const self = call.tensor('self', 'input');
  return self && [call.cast(self, call.results[0]?.elementType ?? 'int64')];
};

const fakeQuantize: LowerAten = (call) => {
  const self = call.tensor('self');
  const scale = call.operand('scale', self);
  if (self === undefined) return undefined;
  // A scale for the whole tensor has no axis.
  const axis = call.number('axis');
  const attributes = axis === undefined ? {} : { axis: int(axis) };
  return call.emitMany('FakeQuantize', [self, scale], 1, attributes, ownDomain);
};

const detach: LowerAten = (call) => {
  const self = call.tensor('self');
  return self && [call.detach(self)];
};

/**
 * A copy. It is its own where it is of what is stored, or of a part: what keeps the copy does not keep the whole that the part views. Of
 * what is computed, a clone mostly lays it out in order, which how tensors lie shows.
 */
const copiedWhole: LowerAten = (call) => {
  const self = call.tensor('self');
  if (self !== undefined && call.isStored(self)) return call.emit('Identity', [self]);
  const isOwn = rankOf(self) > 0 && call.isPart('self');
  return self && (isOwn ? call.emit('Concat', [self], { axis: int(0) }) : [self]);
};

/** A tensor in order: a copy of a view that does not lie so, which how tensors lie shows, and otherwise the tensor itself. */
const laidOut: LowerAten = (call) => {
  const self = call.tensor('self');
  return self && (call.isView('self') ? call.emit('Identity', [self]) : [self]);
};

/**
 * What is written into a tensor, in its shape; one number for every place where it is filled (aten/src/ATen/native/Fill.cpp). What is
 * broadcast has elements of its own there. A write into a view is the write into what is viewed.
 */
const copied: LowerAten = (call) => {
  const [self, source] = [call.tensor('self'), call.tensor('src', 'value')];
  if (self?.elementType === undefined || source === undefined || call.shape === undefined) return undefined;
  const sizes = call.sizes(call.shape);
  if (sizes === undefined) return undefined;
  const written = call.emit('Expand', [call.cast(source, self.elementType), sizes]);
  const isBroadcast = rankOf(source) < rankOf(call) || source.shape?.includes(1);
  return isBroadcast && !call.isView('self') ? call.emit('Concat', written, { axis: int(0) }) : written;
};

const absolute: LowerAten = (call) => {
  const self = call.tensor('self');
  if (self?.elementType?.startsWith('complex')) return absoluteOfComplex(call, self);
  return self && call.emit('Abs', [self]);
};

export const elementOperators: Readonly<Record<string, LowerAten>> = {
  ...functionOperators,
  ...each(['abs.default', 'abs_.default'], absolute),
  ...each(['add.Tensor', 'add_.Tensor', 'add.Scalar'], sum('Add')),
  ...each(['sub.Tensor', 'sub_.Tensor', 'sub.Scalar'], sum('Sub')),
  ...each(['rsub.Scalar', 'rsub.Tensor'], sum('Sub', 'other')),
  ...each(['mul.Tensor', 'mul_.Tensor', 'mul.Scalar', 'multiply.Tensor'], binary('Mul')),
  ...each(
    ['div.Tensor', 'div_.Tensor', 'div.out', 'div.Scalar', 'true_divide.Tensor', 'div.Tensor_mode'],
    division,
  ),
  ...each(['div.Scalar_mode', 'floor_divide.default', 'div_.Tensor_mode'], division),
  ...each(['remainder.Scalar', 'remainder.Tensor', 'fmod.Scalar', 'fmod.Tensor'], binary('Mod')),
  ...each(['maximum.default', 'max.other', 'fmax.default'], binary('Max')),
  ...each(['minimum.default', 'min.other', 'fmin.default'], binary('Min')),
  // One kernel over two operands, as a quotient is.
  ...each(['atan2.default', 'atan2.out', 'arctan2.default'], binary('Div')),
  ...each(['pow.Tensor_Scalar', 'pow.Tensor_Tensor', 'pow.Scalar', 'pow_.Scalar'], power),
  'square.default': (call) => {
    const self = call.tensor('self');
    // It is a power, which autocast lists (aten/src/ATen/native/UnaryOps.cpp, `square`).
    return self && call.emit('Pow', [self, call.scalar(2, self.elementType ?? 'float32')]);
  },
  ...each(['rsqrt.default', 'rsqrt_.default'], (call) => {
    const self = call.tensor('self');
    return self && call.emit('Reciprocal', call.emit('Sqrt', [self]));
  }),
  ...each(['clamp.default', 'clamp_.default', 'clamp.Tensor', 'clip.default'], clamp('min', 'max')),
  ...each(['clamp_min.default', 'clamp_min_.default', 'clamp_min.Tensor'], clamp('min', '')),
  ...each(['clamp_max.default', 'clamp_max_.default', 'clamp_max.Tensor'], clamp('', 'max')),
  'hypot.default': hypotenuse,
  'logaddexp.default': sumOfExponentials,
  'xlogy.Tensor': timesLogarithm,
  ...each(['logit.default', 'special_logit.default'], logit),
  ...each(['sinc.default', 'special_sinc.default'], cardinalSine),
  'heaviside.default': step,
  ...each(['bucketize.Tensor', 'searchsorted.Tensor'], searched),
  ...each(['addcmul.default', 'addcmul_.default'], combined('Mul')),
  ...each(['addcdiv.default', 'addcdiv_.default'], combined('Div')),
  ...each(['lerp.Tensor', 'lerp.Scalar', 'lerp_.Scalar'], lerp),
  'nan_to_num.default': (call) => {
    const self = call.tensor('self');
    const zero = call.scalar(0, self?.elementType ?? 'float32');
    return self && call.emit('Where', [...call.emit('IsNaN', [self]), zero, self]);
  },
  ...each(['to.dtype', 'to.device', 'to.other', 'type_as.default', 'float.default'], asked),
  // Of what is only put on a device it says the type that it has.
  ...each(['to.dtype_layout', '_to_copy.default'], converted),
  'clone.default': copiedWhole,
  ...each(['copy_.default', 'copy.default', 'fill_.Tensor', 'fill.Tensor'], copied),
  'alias.default': same,
  'contiguous.default': laidOut,
  ...each(
    [
      'fake_quantize_per_tensor_affine.default',
      'fake_quantize_per_tensor_affine.tensor_qparams',
      'fake_quantize_per_channel_affine.default',
    ],
    fakeQuantize,
  ),
  'detach.default': detach,
  // Called on new constants.
  'detach_.default': same,
  ...each(['lift_fresh_copy.default', 'lift_fresh.default', 'requires_grad_.default'], same),
  ...each(['_assert_tensor_metadata.default', 'resolve_conj.default', 'resolve_neg.default'], same),
};
