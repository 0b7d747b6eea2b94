/** Types of values: `TypeProto` and `ValueInfoProto`. */

import type { ElementType } from '../../model/elementType.ts';
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
import type { Reading } from './reading.ts';
import type { OnnxDimension, OnnxType, OnnxValueInfo } from './syntax.ts';

export function readValueInfo(reading: Reading, end: number): OnnxValueInfo {
  const { wire } = reading;
  let name = '';
  let type: OnnxType | undefined;
  let metadata: Map<string, string> | undefined;
  while (wire.nextField(end)) {
    if (wire.field === ValueInfoProto.name) {
      name = reading.string('ValueInfoProto');
    } else if (wire.field === ValueInfoProto.type) {
      const typeEnd = reading.message('ValueInfoProto');
      if (typeEnd !== undefined) {
        type = reading.once(reading.types, typeEnd, () => readType(reading, typeEnd, name));
      }
    } else if (wire.field === ValueInfoProto.metadata_props) {
      metadata ??= new Map();
      reading.entry('ValueInfoProto', metadata);
    } else {
      reading.skip('ValueInfoProto', ValueInfoProto);
    }
  }
  return metadata === undefined ? { name, type } : { name, type, metadata };
}

/** `where` names the value in issues. */
export function readType(reading: Reading, end: number, where: string): OnnxType | undefined {
  const { wire } = reading;
  if (!wire.enter()) return undefined;
  let type: OnnxType | undefined;
  while (wire.nextField(end)) {
    const { field } = wire;
    switch (field) {
      case TypeProto.tensor_type:
      case TypeProto.sparse_tensor_type: {
        const inner = reading.message('TypeProto');
        const kind = field === TypeProto.tensor_type ? 'tensor' : 'sparse-tensor';
        if (inner !== undefined) type = readTensorType(reading, inner, kind, where);
        break;
      }
      case TypeProto.sequence_type:
      case TypeProto.optional_type: {
        const inner = reading.message('TypeProto');
        const kind = field === TypeProto.sequence_type ? 'sequence' : 'optional';
        if (inner !== undefined) type = { kind, element: readElement(reading, inner, where) };
        break;
      }
      case TypeProto.map_type: {
        const inner = reading.message('TypeProto');
        if (inner !== undefined) type = readMapType(reading, inner, where);
        break;
      }
      case TypeProto.opaque_type: {
        const inner = reading.message('TypeProto');
        if (inner !== undefined) type = readOpaqueType(reading, inner);
        break;
      }
      default:
        reading.skip('TypeProto', TypeProto);
    }
  }
  wire.leave();
  return type;
}

function readTensorType(
  reading: Reading,
  end: number,
  kind: 'tensor' | 'sparse-tensor',
  where: string,
): OnnxType {
  const { wire } = reading;
  let elementType: ElementType = 'undefined';
  let shape: OnnxDimension[] | undefined;
  while (wire.nextField(end)) {
    if (wire.field === TensorTypeProto.elem_type) {
      elementType = reading.elementType(reading.integer('TypeProto.Tensor'), `value \`${where}\``);
    } else if (wire.field === TensorTypeProto.shape) {
      const shapeEnd = reading.message('TypeProto.Tensor');
      if (shapeEnd !== undefined) shape = readShape(reading, shapeEnd);
    } else {
      reading.skip('TypeProto.Tensor', TensorTypeProto);
    }
  }
  return { kind, elementType, shape };
}

function readShape(reading: Reading, end: number): OnnxDimension[] {
  const shape: OnnxDimension[] = [];
  while (reading.wire.nextField(end)) {
    if (reading.wire.field !== TensorShapeProto.dim) {
      reading.skip('TensorShapeProto', TensorShapeProto);
      continue;
    }
    const inner = reading.message('TensorShapeProto');
    if (inner !== undefined) shape.push(readDimension(reading, inner));
  }
  return shape;
}

/** An empty symbol or a negative number says nothing: exporters write them for "unknown". */
function readDimension(reading: Reading, end: number): OnnxDimension {
  let dimension: OnnxDimension;
  while (reading.wire.nextField(end)) {
    if (reading.wire.field === DimensionProto.dim_value) {
      const start = reading.wire.position;
      const value = reading.integer('TensorShapeProto.Dimension');
      if (value === Number.MAX_SAFE_INTEGER) dimension = digitsOf(reading, start);
      else dimension = value >= 0 ? value : undefined;
    } else if (reading.wire.field === DimensionProto.dim_param) {
      const name = reading.string('TensorShapeProto.Dimension');
      dimension = name === '' ? undefined : name;
    } else {
      reading.skip('TensorShapeProto.Dimension', DimensionProto);
    }
  }
  return dimension;
}

/** The digits of the number that was read from `start` on, which is more than a number can hold. */
function digitsOf({ wire }: Reading, start: number): string {
  const end = wire.position;
  wire.position = start;
  const bytes = wire.bytes(end - start);
  return bytes.reduceRight((value, byte) => value * 128n + BigInt(byte & 0x7f), 0n).toString();
}

function readElement(reading: Reading, end: number, where: string): OnnxType | undefined {
  let element: OnnxType | undefined;
  while (reading.wire.nextField(end)) {
    if (reading.wire.field === ElementTypeProto.elem_type) {
      const inner = reading.message('TypeProto.Sequence');
      if (inner !== undefined) element = readType(reading, inner, where);
    } else {
      reading.skip('TypeProto.Sequence', ElementTypeProto);
    }
  }
  return element;
}

function readMapType(reading: Reading, end: number, where: string): OnnxType {
  let key: ElementType = 'undefined';
  let value: OnnxType | undefined;
  while (reading.wire.nextField(end)) {
    if (reading.wire.field === MapTypeProto.key_type) {
      key = reading.elementType(reading.integer('TypeProto.Map'), `value \`${where}\``);
    } else if (reading.wire.field === MapTypeProto.value_type) {
      const inner = reading.message('TypeProto.Map');
      if (inner !== undefined) value = readType(reading, inner, where);
    } else {
      reading.skip('TypeProto.Map', MapTypeProto);
    }
  }
  return { kind: 'map', key, value };
}

/** The name with its domain before it, as ONNX text writes it: `domain,name`. */
function readOpaqueType(reading: Reading, end: number): OnnxType {
  let domain = '';
  let name = '';
  while (reading.wire.nextField(end)) {
    if (reading.wire.field === OpaqueTypeProto.domain) domain = reading.string('TypeProto.Opaque');
    else if (reading.wire.field === OpaqueTypeProto.name) name = reading.string('TypeProto.Opaque');
    else reading.skip('TypeProto.Opaque', OpaqueTypeProto);
  }
  return { kind: 'opaque', name: domain === '' ? name : `${domain},${name}` };
}
