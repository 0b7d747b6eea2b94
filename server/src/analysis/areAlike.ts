import type { TensorLiteral } from '../model/attribute.ts';

/** Whether two stored tensors have one type and one shape. */
export const areAlike = (left: TensorLiteral, right: TensorLiteral): boolean =>
  left.elementType === right.elementType && left.dimensions.join() === right.dimensions.join();
