/** Types of the syntax tree as types of the graph. */

import type { OnnxDimension, OnnxType } from '../formats/onnx/syntax.ts';
import { type Dimension, symbol, unknownDimension } from '../model/dimension.ts';
import type { ValueType } from '../model/graph.ts';
import { parseDimension } from './parseDimension.ts';

/** What the file declares about a value; `undefined` where it declares nothing. */
export function typeOfOnnx(
  type: OnnxType | undefined,
  dimensionOf: (declared: OnnxDimension, axis: number) => Dimension = declaredDimension,
): ValueType | undefined {
  switch (type?.kind) {
    case undefined:
      return undefined;
    case 'tensor':
    case 'sparse-tensor':
      return {
        kind: 'tensor',
        elementType: type.elementType,
        shape: type.shape?.map(dimensionOf) ?? { kind: 'unknown-shape', reason: 'the file gives no shape' },
      };
    case 'sequence':
    case 'optional':
      return { kind: type.kind, element: typeOfOnnx(type.element) ?? undeclared };
    case 'map':
      return { kind: 'map', key: type.key, value: typeOfOnnx(type.value) ?? undeclared };
    case 'opaque':
      return { kind: 'unknown', reason: `opaque type \`${type.name}\`` };
  }
}

/** The type of a graph input: a dimension left open there is a symbol of its own, named `<input>.<axis>`. */
export function typeOfInput(name: string, type: OnnxType | undefined): ValueType | undefined {
  return typeOfOnnx(type, (declared, axis) => {
    // Older exporters write 0 or −1 for a dimension that is open.
    const open = declared === undefined || declared === '' || (typeof declared === 'number' && declared <= 0);
    return open ? symbol(`${name}.${axis}`) : declaredDimension(declared);
  });
}

const undeclared: ValueType = { kind: 'unknown', reason: 'the file gives no type' };

function declaredDimension(declared: OnnxDimension): Dimension {
  if (declared === undefined || declared === '') return unknownDimension('the file gives no dimension');
  if (typeof declared === 'string') return parseDimension(declared);
  return declared < 0 ? unknownDimension(`the file gives the dimension ${declared}`) : declared;
}
