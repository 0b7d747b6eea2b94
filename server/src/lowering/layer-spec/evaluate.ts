/** Evaluates expressions of a layer spec over dims and block parameters. */

import type { Expression } from '../../formats/layer-spec/syntax.ts';
import {
  addDimensions,
  type Dimension,
  floorDivideDimensions,
  isUnknown,
  multiplyDimensions,
  subtractDimensions,
} from '../../model/dimension.ts';
import type { Issue } from '../../model/issue.ts';
import { didYouMean } from '../../model/nearestName.ts';
import { recentKeys } from '../../model/recentKeys.ts';
import type { SpecValue } from './layerDefinition.ts';

/** Values of names; `undefined` for a name whose value could not be found, which an issue has already said. */
export type Values = ReadonlyMap<string, SpecValue | undefined>;

/** The value, or `undefined` after an issue. */
export function evaluate(
  expression: Expression,
  values: Values,
  report: (issue: Issue) => void,
): SpecValue | undefined {
  const problem = (message: string, span = expression.span): undefined => {
    report({ code: 'spec/dimension', severity: 'error', message, span });
    return undefined;
  };
  switch (expression.kind) {
    case 'number':
      return Number.isFinite(expression.value)
        ? expression.value
        : problem('the number is too large; sizes stay below 2^53');
    case 'boolean':
    case 'string':
      return expression.value;
    case 'none':
      return null;
    case 'name':
      if (values.has(expression.name)) return values.get(expression.name);
      return problem(
        `\`${expression.name}\` is not a dimension${didYouMean(expression.name, recentKeys(values)) || `; give it a value under \`dims\``}`,
      );
    case 'member':
      return problem(`\`${expression.object.text}.${expression.member.text}\` is a tensor, not a number`);
    case 'negation': {
      const operand = evaluate(expression.operand, values, report);
      if (operand === undefined) return undefined;
      if (!isDimension(operand)) return problem('only numbers have a sign');
      return known(multiplyDimensions(operand, -1), problem);
    }
    case 'tuple': {
      const items = expression.items.map((item) => evaluate(item, values, report));
      const complete = items.filter((item) => item !== undefined);
      return complete.length === items.length ? complete : undefined;
    }
    case 'binary': {
      const left = evaluate(expression.left, values, report);
      const right = evaluate(expression.right, values, report);
      if (left === undefined || right === undefined) return undefined;
      if (!isDimension(left) || !isDimension(right)) {
        return problem(`\`${expression.operator}\` joins numbers`);
      }
      return known(arithmetic(expression.operator, left, right), problem);
    }
  }
}

type Operand = Exclude<Dimension, { kind: 'unknown' }>;

const isDimension = (value: SpecValue): value is Operand =>
  typeof value === 'number' || (typeof value === 'object' && value !== null && 'kind' in value);

function known(result: Dimension | string, problem: (message: string) => undefined): SpecValue | undefined {
  if (typeof result === 'string') return problem(result);
  if (typeof result === 'number') {
    return Number.isFinite(result) ? result : problem('the value is not a finite number');
  }
  return isUnknown(result) ? problem(result.reason) : result;
}

/** The result, or why there is none. Sizes divide exactly or with `//`. */
function arithmetic(
  operator: Extract<Expression, { kind: 'binary' }>['operator'],
  left: Operand,
  right: Operand,
): Dimension | string {
  switch (operator) {
    case '+':
      return addDimensions(left, right);
    case '-':
      return subtractDimensions(left, right);
    case '*':
      return multiplyDimensions(left, right);
    case '//':
      return right === 0 ? 'division by 0' : floorDivideDimensions(left, right);
    case '/':
      if (right === 0) return 'division by 0';
      if (typeof left === 'number' && typeof right === 'number') return left / right;
      return 'an open dimension divides with `//`';
    case '%':
      if (right === 0) return 'division by 0';
      // The sign of Python's remainder is that of the divisor.
      if (typeof left === 'number' && typeof right === 'number') return ((left % right) + right) % right;
      return '`%` needs numbers, and this dimension is open';
    case '**':
      if (typeof left === 'number' && typeof right === 'number') return left ** right;
      return '`**` needs numbers, and this dimension is open';
  }
}

/** The layer that an expression names: `embed`, or `encoder.embed` for one inside a block. */
export function layerIn(expression: Expression): string | undefined {
  if (expression.kind === 'name') return expression.name;
  return expression.kind === 'member' ? `${expression.object.text}.${expression.member.text}` : undefined;
}

/** Names an expression reads. */
export function namesIn(expression: Expression): readonly string[] {
  switch (expression.kind) {
    case 'name':
      return [expression.name];
    case 'member':
      return [expression.object.text];
    case 'negation':
      return namesIn(expression.operand);
    case 'binary':
      return [...namesIn(expression.left), ...namesIn(expression.right)];
    case 'tuple':
      return expression.items.flatMap(namesIn);
    default:
      return [];
  }
}
