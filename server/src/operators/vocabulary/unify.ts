/** What is known of a value that may be one of two: branches of `If`, iterations of `Loop`. */

import {
  type Dimension,
  equalDimensions,
  maximumOfDimensions,
  unknownDimension,
} from '../../model/dimension.ts';
import { isKnownShape, type SequenceType, type Shape, type ValueType } from '../../model/graph.ts';

/** The most a size can be that is one or the other; `undefined` where it may be another still. */
type Limit = (left: Dimension, right: Dimension) => Dimension | undefined;

/** Where the two are only the first of many, as iterations of a loop are. */
export const withoutLimit: Limit = () => undefined;

/**
 * The knowledge both have in common; what differs is unknown, for the reason given, and no more than the larger of
 * the two unless `limit` says otherwise.
 */
export function unifyTypes(
  left: ValueType,
  right: ValueType,
  reason: string,
  limit: Limit = maximumOfDimensions,
): ValueType {
  if (left.kind === 'unknown') return left;
  if (right.kind === 'unknown') return right;
  if (left.kind === 'tensor' && right.kind === 'tensor') {
    const elementType = left.elementType === right.elementType ? left.elementType : 'undefined';
    return { kind: 'tensor', elementType, shape: unifyShapes(left.shape, right.shape, reason, limit) };
  }
  if (left.kind === 'sequence' && right.kind === 'sequence') {
    return unifySequences(left, right, reason, limit);
  }
  if (left.kind === 'optional' && right.kind === 'optional') {
    return { kind: 'optional', element: unifyTypes(left.element, right.element, reason, limit) };
  }
  return { kind: 'unknown', reason };
}

/** An empty sequence has nothing to say about its elements. */
function unifySequences(left: SequenceType, right: SequenceType, reason: string, limit: Limit): SequenceType {
  const element =
    left.elements?.length === 0
      ? right.element
      : right.elements?.length === 0
        ? left.element
        : unifyTypes(left.element, right.element, reason, limit);
  if (left.elements === undefined || left.elements.length !== right.elements?.length) {
    return { kind: 'sequence', element };
  }
  const others = right.elements;
  const elements = left.elements.map((type, index) => unifyTypes(type, others[index] ?? type, reason, limit));
  return { kind: 'sequence', element, elements };
}

function unifyShapes(left: Shape, right: Shape, reason: string, limit: Limit): Shape {
  if (!isKnownShape(left)) return left;
  if (!isKnownShape(right)) return right;
  if (left.length !== right.length) return { kind: 'unknown-shape', reason };
  return left.map((dimension, axis): Dimension => {
    const other = right[axis] ?? dimension;
    if (equalDimensions(dimension, other)) return dimension;
    return unknownDimension(reason, limit(dimension, other));
  });
}
