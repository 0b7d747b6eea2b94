/** Writes types of values: `TypeProto` and `ValueInfoProto`. Undoes `readType.ts`. */

import { type ElementType, elementTypes } from '../../model/elementType.ts';
import {
  DimensionProto,
  ElementTypeProto,
  MapTypeProto,
  OpaqueTypeProto,
  TensorShapeProto,
  TensorTypeProto,
  TypeProto,
  ValueInfoProto,
} from './fields.ts';
import type { OnnxDimension, OnnxType, OnnxValueInfo } from './syntax.ts';
import type { WireWriter } from './wireWriter.ts';

export const numberOfElementType = (type: ElementType): number => elementTypes.indexOf(type);

export function writeValueInfo(wire: WireWriter, field: number, value: OnnxValueInfo): void {
  const { name, type, metadata } = value;
  wire.message(field, () => {
    wire.text(ValueInfoProto.name, name);
    if (type !== undefined) writeType(wire, ValueInfoProto.type, type);
    for (const [key, text] of metadata ?? []) wire.entry(ValueInfoProto.metadata_props, key, text);
  });
}

/** The type as a message in `field`; one that is not given has no fields. */
export function writeType(wire: WireWriter, field: number, type: OnnxType | undefined): void {
  wire.message(field, () => {
    switch (type?.kind) {
      case undefined:
        return;
      case 'tensor':
        return writeTensorType(wire, TypeProto.tensor_type, type.elementType, type.shape);
      case 'sparse-tensor':
        return writeTensorType(wire, TypeProto.sparse_tensor_type, type.elementType, type.shape);
      case 'sequence':
      case 'optional': {
        const kind = type.kind === 'sequence' ? TypeProto.sequence_type : TypeProto.optional_type;
        return wire.message(kind, () => writeType(wire, ElementTypeProto.elem_type, type.element));
      }
      case 'map':
        return wire.message(TypeProto.map_type, () => {
          wire.integer(MapTypeProto.key_type, numberOfElementType(type.key));
          writeType(wire, MapTypeProto.value_type, type.value);
        });
      case 'opaque':
        return wire.message(TypeProto.opaque_type, () => {
          const [domain, name] = opaqueParts(type.name);
          if (domain !== '') wire.text(OpaqueTypeProto.domain, domain);
          wire.text(OpaqueTypeProto.name, name);
        });
    }
  });
}

function writeTensorType(
  wire: WireWriter,
  field: number,
  elementType: ElementType,
  shape: readonly OnnxDimension[] | undefined,
): void {
  wire.message(field, () => {
    wire.integer(TensorTypeProto.elem_type, numberOfElementType(elementType));
    if (shape === undefined) return;
    wire.message(TensorTypeProto.shape, () => {
      for (const size of shape) {
        wire.message(TensorShapeProto.dim, () => {
          if (typeof size === 'number') wire.integer(DimensionProto.dim_value, size);
          else if (size !== undefined && pastNumbers.test(size))
            wire.integer(DimensionProto.dim_value, BigInt(size));
          else if (size !== undefined) wire.text(DimensionProto.dim_param, size);
        });
      }
    });
  });
}

/** Sizes that a number cannot hold are kept by their digits. */
const pastNumbers = /^\d{16,19}$/;

/** `domain,name`, or a name alone. */
function opaqueParts(text: string): readonly [domain: string, name: string] {
  const comma = text.lastIndexOf(',');
  return [text.slice(0, Math.max(0, comma)), text.slice(comma + 1)];
}
