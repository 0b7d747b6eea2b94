/** Comparisons, logic and choices between elements. */

import { elementTypes } from '../../../model/elementType.ts';
import { int } from '../../layer-spec/layerDefinition.ts';
import type { LowerAten } from '../atenCall.ts';

const compare =
  (type: string): LowerAten =>
  (call) => {
    const self = call.tensor('self');
    const other = call.operand('other', self);
    return self && other && call.emit(type, [self, other]);
  };

const differs: LowerAten = (call) => {
  const equal = compare('Equal')(call);
  return equal && call.emit('Not', equal);
};

/** Of booleans; with integers it is the logic of their bits. */
const both =
  (type: string): LowerAten =>
  (call) => {
    const [self, other] = [call.tensor('self'), call.tensor('other')];
    if (self?.elementType !== 'bool' || other?.elementType !== 'bool') return undefined;
    return call.emit(type, [self, other]);
  };

const not: LowerAten = (call) => {
  const self = call.tensor('self');
  return self?.elementType === 'bool' ? call.emit('Not', [self]) : undefined;
};

const where: LowerAten = (call) => {
  const inputs = ['condition', 'self', 'other'].map((name) => call.tensor(name));
  return inputs.includes(undefined) ? undefined : call.emit('Where', inputs);
};

const maskedFill: LowerAten = (call) => {
  const [self, mask] = [call.tensor('self'), call.tensor('mask')];
  const value = call.operand('value', self);
  return self && mask && value && call.emit('Where', [mask, value, self]);
};

/** ONNX sums no booleans: PyTorch counts them as integers of 64 bits. */
const cumulativeSum: LowerAten = (call) => {
  const self = call.tensor('self');
  const axis = call.number('dim');
  if (self === undefined || axis === undefined || call.has('dtype')) return undefined;
  const summed =
    self.elementType === 'bool'
      ? call.emit('Cast', [self], { to: int(elementTypes.indexOf('int64')) })
      : [self];
  return call.emit('CumSum', [...summed, call.integers([axis])]);
};

export const choiceOperators: Readonly<Record<string, LowerAten>> = {
  'eq.Scalar': compare('Equal'),
  'eq.Tensor': compare('Equal'),
  'ne.Scalar': differs,
  'ne.Tensor': differs,
  'lt.Scalar': compare('Less'),
  'lt.Tensor': compare('Less'),
  'le.Scalar': compare('LessOrEqual'),
  'le.Tensor': compare('LessOrEqual'),
  'gt.Scalar': compare('Greater'),
  'gt.Tensor': compare('Greater'),
  'ge.Scalar': compare('GreaterOrEqual'),
  'ge.Tensor': compare('GreaterOrEqual'),
  '__and__.Tensor': both('And'),
  'logical_and.default': both('And'),
  'logical_or.default': both('Or'),
  'bitwise_not.default': not,
  'logical_not.default': not,
  'where.self': where,
  'masked_fill.Scalar': maskedFill,
  'cumsum.default': cumulativeSum,
};
