/** Types of the syntax tree as types of the graph. */

import type { OnnxDimension, OnnxType } from '../formats/onnx/syntax.ts';
import { type Dimension, symbol, unknownDimension } from '../model/dimension.ts';
import type { ValueType } from '../model/graph.ts';
import { valueTypeOf } from '../model/valueTypeOf.ts';
import { parseDimension } from './parseDimension.ts';

/** What the file declares about a value; `undefined` where it declares nothing. */
export const typeOfOnnx = (type: OnnxType | undefined): ValueType | undefined =>
  type && valueTypeOf(type, declaredDimension);

/** The type of a graph input: a dimension left open there is a symbol of its own, named `<input>.<axis>`. */
export function typeOfInput(name: string, type: OnnxType | undefined): ValueType | undefined {
  if (type === undefined) return undefined;
  const zeroIsOpen = 'shape' in type && leavesBatchOpen(type.shape?.[0]);
  return valueTypeOf(type, (declared, axis) => {
    const open = isOpen(declared) || (declared === 0 && zeroIsOpen);
    return open ? symbol(`${name}.${axis}`) : declaredDimension(declared);
  });
}

/** Older exporters write −1 for a dimension that is open. */
const isOpen = (declared: OnnxDimension): boolean =>
  declared === undefined || declared === '' || (typeof declared === 'number' && declared < 0);

/** They also write 0, the batch first of all; behind a batch that is given, 0 is an empty axis, such as an empty cache. */
const leavesBatchOpen = (leading: OnnxDimension): boolean => leading === 0 || isOpen(leading);

function declaredDimension(declared: OnnxDimension): Dimension {
  if (declared === undefined || declared === '') return unknownDimension('the file gives no dimension');
  if (typeof declared === 'string') return parseDimension(declared);
  return declared < 0 ? unknownDimension(`the file gives the dimension ${declared}`) : declared;
}
