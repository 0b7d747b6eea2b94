/** Arithmetic of declared operators, over dimensions while shapes are inferred and over numbers when work is counted. */

import { parseExpression } from '../../formats/layer-spec/parseExpression.ts';
import type { BinaryOperator, Expression } from '../../formats/layer-spec/syntax.ts';
import {
  addDimensions,
  type Dimension,
  floorDivideDimensions,
  multiplyDimensions,
  subtractDimensions,
} from '../../model/dimension.ts';

type Arithmetic<Value> = (operator: BinaryOperator, left: Value, right: Value) => Value | undefined;

const overDimensions: Arithmetic<Dimension> = (operator, left, right) => {
  switch (operator) {
    case '+':
      return addDimensions(left, right);
    case '-':
      return subtractDimensions(left, right);
    case '*':
      return multiplyDimensions(left, right);
    case '//':
      return right === 0 ? undefined : floorDivideDimensions(left, right);
    default:
      return typeof left === 'number' && typeof right === 'number'
        ? overNumbers(operator, left, right)
        : undefined;
  }
};

const overNumbers: Arithmetic<number> = (operator, left, right) => {
  const results: Readonly<Record<BinaryOperator, number>> = {
    '+': left + right,
    '-': left - right,
    '*': left * right,
    '/': left / right,
    '//': Math.floor(left / right),
    '%': left % right,
    '**': left ** right,
  };
  const result = results[operator];
  return Number.isFinite(result) ? result : undefined;
};

/** The value of an expression over dimensions; `undefined` where it has none. */
export const evaluateDimension = (
  text: string,
  values: ReadonlyMap<string, Dimension>,
): Dimension | undefined => evaluate(parsed(text), values, overDimensions);

/** The value of an expression over numbers; `undefined` where it has none. */
export const evaluateNumber = (text: string, values: ReadonlyMap<string, number>): number | undefined =>
  evaluate(parsed(text), values, overNumbers);

const parsed = (text: string): Expression | undefined => parseExpression(text, 0, text.length).result;

function evaluate<Value>(
  expression: Expression | undefined,
  values: ReadonlyMap<string, Value | number>,
  arithmetic: Arithmetic<Value | number>,
): Value | number | undefined {
  switch (expression?.kind) {
    case 'number':
      return expression.value;
    case 'name':
      return values.get(expression.name);
    case 'negation': {
      const operand = evaluate(expression.operand, values, arithmetic);
      return operand === undefined ? undefined : arithmetic('*', operand, -1);
    }
    case 'binary': {
      const left = evaluate(expression.left, values, arithmetic);
      const right = evaluate(expression.right, values, arithmetic);
      return left === undefined || right === undefined
        ? undefined
        : arithmetic(expression.operator, left, right);
    }
    default:
      return undefined;
  }
}
