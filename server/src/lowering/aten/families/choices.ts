/** Comparisons, logic and choices between elements. */

import { isFloatingPoint } from '../../../model/elementType.ts';
import type { Tensor } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, each, type LowerAten } from '../atenCall.ts';

/** Both in one type: a number takes that of the tensor, and integers that of fractions beside them. */
function alike(call: AtenCall): readonly [Tensor, Tensor] | undefined {
  const self = call.tensor('self');
  const other = call.operand('other', self);
  if (self?.elementType === undefined || other?.elementType === undefined) return undefined;
  const type =
    isFloatingPoint(other.elementType) || self.elementType === 'bool' ? other.elementType : self.elementType;
  return [call.cast(self, type), call.cast(other, type)];
}

const compare =
  (type: string): LowerAten =>
  (call) => {
    const pair = alike(call);
    return pair && call.emit(type, pair);
  };

const differs: LowerAten = (call) => {
  const equal = compare('Equal')(call);
  return equal && call.emit('Not', equal);
};

/** Of booleans; of integers it is the logic of their bits, unless `logical` makes booleans of them. */
const both =
  (type: 'And' | 'Or' | 'Xor', logical = false): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    const other = call.operand('other', self);
    if (self === undefined || other === undefined) return undefined;
    const pair = logical ? [call.cast(self, 'bool'), call.cast(other, 'bool')] : [self, other];
    const isBool = pair.every(({ elementType }) => elementType === 'bool');
    return call.emit(isBool ? type : `Bitwise${type}`, pair);
  };

const not =
  (logical: boolean): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    if (self === undefined) return undefined;
    if (self.elementType === 'bool' || logical) return call.emit('Not', [call.cast(self, 'bool')]);
    return call.emit('BitwiseNot', [self]);
  };

const where: LowerAten = (call) => {
  const condition = call.tensor('condition');
  const type = call.results[0]?.elementType;
  const like = call.tensor('self', 'other');
  const [self, other] = [call.operand('self', like), call.operand('other', like)];
  if (condition === undefined || self === undefined || other === undefined) return undefined;
  return call.emit('Where', [call.cast(condition, 'bool'), call.cast(self, type), call.cast(other, type)]);
};

const maskedFill: LowerAten = (call) => {
  const [self, mask] = [call.tensor('self'), call.tensor('mask')];
  const value = call.operand('value', self);
  if (self === undefined || mask === undefined || value === undefined) return undefined;
  return call.emit('Where', [mask, call.cast(value, self.elementType), self]);
};

export const choiceOperators: Readonly<Record<string, LowerAten>> = {
  ...each(['eq.Scalar', 'eq.Tensor'], compare('Equal')),
  ...each(['ne.Scalar', 'ne.Tensor'], differs),
  ...each(['lt.Scalar', 'lt.Tensor'], compare('Less')),
  ...each(['le.Scalar', 'le.Tensor'], compare('LessOrEqual')),
  ...each(['gt.Scalar', 'gt.Tensor'], compare('Greater')),
  ...each(['ge.Scalar', 'ge.Tensor'], compare('GreaterOrEqual')),
  ...each(['__and__.Tensor', '__and__.Scalar', 'bitwise_and.Tensor', 'bitwise_and.Scalar'], both('And')),
  ...each(['__or__.Tensor', '__or__.Scalar', 'bitwise_or.Tensor', 'bitwise_or.Scalar'], both('Or')),
  ...each(['__xor__.Tensor', 'bitwise_xor.Tensor', 'bitwise_xor.Scalar'], both('Xor')),
  ...each(['__iand__.Tensor', '__iand__.Scalar'], both('And')),
  ...each(['__ior__.Tensor', '__ior__.Scalar'], both('Or')),
  '__ixor__.Tensor': both('Xor'),
  'logical_and.default': both('And', true),
  'logical_or.default': both('Or', true),
  'logical_xor.default': both('Xor', true),
  'bitwise_not.default': not(false),
  'logical_not.default': not(true),
  ...each(['where.self', 'where.ScalarOther', 'where.ScalarSelf', 'where.Scalar'], where),
  ...each(['masked_fill.Scalar', 'masked_fill_.Scalar', 'masked_fill.Tensor'], maskedFill),
  'masked_fill_.Tensor': maskedFill,
};
