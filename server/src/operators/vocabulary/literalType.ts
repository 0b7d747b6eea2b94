/** The number type of a constant that is written where an operator takes a tensor. */

import type { ElementType } from '../../model/elementType.ts';
import { hasTrait, inputOf } from '../operatorFacts.ts';
import type { OperatorName } from '../registry.ts';

/**
 * Sizes, axes and positions are int64, scales and truth values what they must be; any other number has the type of
 * the tensors beside it.
 */
export function literalType(
  operator: OperatorName,
  index: number,
  beside: ElementType | undefined,
): ElementType {
  const input = inputOf(operator, index);
  if (input?.name === 'training_mode' || (operator.type === 'Where' && index === 0)) return 'bool';
  if (input?.name === 'ratio' || input?.name === 'scales' || input?.name === 'roi') return 'float32';
  const isPosition = hasTrait(operator, 'looks-up') && index === 1;
  if (isPosition || input?.role === 'host') return 'int64';
  return beside ?? 'float32';
}
