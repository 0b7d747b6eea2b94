/** Operators that compute every element by itself, and dropout. */

import { elementTypes } from '../../../model/elementType.ts';
import { int, text } from '../../layer-spec/layerDefinition.ts';
import type { AtenCall, LowerAten } from '../atenCall.ts';

const unary =
  (type: string): LowerAten =>
  (call) =>
    call.emit(type, [call.tensor('self')]);

/** `alpha` multiplies the second operand of a sum, which hardly a model uses. */
const binary =
  (type: string): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    const other = call.operand('other', self);
    if (self === undefined || other === undefined || (call.number('alpha') ?? 1) !== 1) return undefined;
    return call.emit(type, [self, other]);
  };

const clipped = (call: AtenCall): ReturnType<LowerAten> =>
  call.emit('Clip', [call.tensor('self'), call.scalar(0, 'float32'), call.scalar(6, 'float32')]);

const silu: LowerAten = (call) => {
  const self = call.tensor('self');
  return call.emit('Mul', [self, ...call.emit('Sigmoid', [self])]);
};

/** ATen names the operand `input`, and `self` in place. */
const dropout: LowerAten = (call) => {
  const input = call.tensor('input') ?? call.tensor('self');
  if (input === undefined) return undefined;
  const rate = call.number('p') ?? 0;
  if (!call.flag('train', false) || rate === 0) return [input];
  return call.emit('Dropout', [input, call.scalar(rate, 'float32'), call.scalar(1, 'bool')]);
};

const gelu: LowerAten = (call) =>
  call.emit('Gelu', [call.tensor('self')], { approximate: text(call.text('approximate') ?? 'none') });

/** In the type of the input. */
const softmax =
  (type: string): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    const dtype = call.elementType('dtype');
    if (dtype !== undefined && dtype !== self?.elementType) return undefined;
    return self && call.emit(type, [self], { axis: int(call.number('dim') ?? -1) });
  };

const same: LowerAten = (call) => {
  const self = call.tensor('self');
  return self && [self];
};

export const elementOperators: Readonly<Record<string, LowerAten>> = {
  'relu.default': unary('Relu'),
  'relu_.default': unary('Relu'),
  'sigmoid.default': unary('Sigmoid'),
  'tanh.default': unary('Tanh'),
  'exp.default': unary('Exp'),
  'neg.default': unary('Neg'),
  'sqrt.default': unary('Sqrt'),
  'cos.default': unary('Cos'),
  'sin.default': unary('Sin'),
  'hardswish.default': unary('HardSwish'),
  'hardswish_.default': unary('HardSwish'),
  'hardtanh.default': undefinedUnlessSix,
  'hardtanh_.default': undefinedUnlessSix,
  'silu.default': silu,
  'silu_.default': silu,
  'gelu.default': gelu,
  'add.Tensor': binary('Add'),
  'add_.Tensor': binary('Add'),
  'sub.Tensor': binary('Sub'),
  'mul.Tensor': binary('Mul'),
  'mul_.Tensor': binary('Mul'),
  'sub_.Tensor': binary('Sub'),
  'div.Tensor': binary('Div'),
  'div_.Tensor': binary('Div'),
  'abs.default': unary('Abs'),
  'erf.default': unary('Erf'),
  'log.default': unary('Log'),
  'softmax.int': softmax('Softmax'),
  'log_softmax.int': softmax('LogSoftmax'),
  'dropout.default': dropout,
  'dropout_.default': dropout,
  'pow.Tensor_Scalar': (call) => {
    const self = call.tensor('self');
    const exponent = call.operand('exponent', self);
    return self && exponent && call.emit('Pow', [self, exponent]);
  },
  'rsqrt.default': (call) => call.emit('Reciprocal', call.emit('Sqrt', [call.tensor('self')])),
  'to.dtype': cast,
  'alias.default': same,
  'contiguous.default': same,
  'detach.default': same,
};

function cast(call: AtenCall): ReturnType<LowerAten> {
  const self = call.tensor('self');
  const elementType = call.elementType('dtype');
  if (self === undefined || elementType === undefined) return undefined;
  if (self.elementType === elementType) return [self];
  return call.emit('Cast', [self], { to: int(elementTypes.indexOf(elementType)) });
}

/** ReLU6 is a `hardtanh` from 0 to 6; others have no counterpart. */
function undefinedUnlessSix(call: AtenCall): ReturnType<LowerAten> {
  return call.number('min_val') === 0 && call.number('max_val') === 6 ? clipped(call) : undefined;
}
