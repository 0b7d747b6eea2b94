/** What is certain of a shape while the axes an operator inserts or removes are known only when the model runs. */

import { itemAt } from '../../model/at.ts';
import {
  type Dimension,
  equalDimensions,
  maximumOfDimensions,
  unknownDimension,
} from '../../model/dimension.ts';

/** The one size that all candidates have; otherwise unknown, and no more than the largest of them. */
export function oneOf(candidates: readonly Dimension[], reason: string): Dimension {
  const [first, ...others] = candidates;
  if (first === undefined) return unknownDimension(reason);
  if (others.every((other) => equalDimensions(first, other))) return first;
  return unknownDimension(reason, others.reduce(maximumOfDimensions, first));
}

/** The shape without `count` of the axes that `mayGo` holds for: an axis keeps the size every choice gives it. */
export function withoutSomeAxes(
  input: readonly Dimension[],
  count: number,
  reason: string,
  mayGo: (size: Dimension) => boolean = () => true,
): readonly Dimension[] {
  const goersBefore = [0];
  for (const size of input)
    goersBefore.push(itemAt(goersBefore, goersBefore.length - 1) + Number(mayGo(size)));
  const goersUntil = (axis: number): number => itemAt(goersBefore, axis);
  return Array.from({ length: Math.max(0, input.length - count) }, (_, position) => {
    const candidates = input.filter((_, axis) => {
      const removed = axis - position;
      const goersBehind = goersUntil(input.length) - goersUntil(axis + 1);
      return removed >= 0 && removed <= Math.min(count, goersUntil(axis)) && count - removed <= goersBehind;
    });
    return oneOf(candidates, reason);
  });
}

/** The shape with `count` axes of size 1 inserted somewhere. */
export function withSomeAxesInserted(
  input: readonly Dimension[],
  count: number,
  reason: string,
): readonly Dimension[] {
  return Array.from({ length: input.length + count }, (_, position) => {
    const kept = input.slice(Math.max(0, position - count), position + 1);
    return oneOf(count > 0 ? [1, ...kept] : kept, reason);
  });
}
