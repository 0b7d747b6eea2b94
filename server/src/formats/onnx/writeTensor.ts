/** Writes tensors: `TensorProto` and `SparseTensorProto`. */

import type { TensorLiteral } from '../../model/attribute.ts';
import { encodeRawElements } from './encodeElements.ts';
import { externalLocation, SparseTensorProto, TensorProto } from './fields.ts';
import type { Payload } from './payload.ts';
import { wireTypes } from './wireReader.ts';
import type { WireWriter } from './wireWriter.ts';
import { numberOfElementType } from './writeType.ts';

/** The tensor as a message in `field`. One without elements is written without: whoever wants zeros says so. */
export function writeTensor(
  wire: WireWriter,
  field: number,
  tensor: TensorLiteral,
  payload: Payload | undefined,
): void {
  wire.message(field, () => {
    for (const size of tensor.dimensions) wire.integer(TensorProto.dims, size);
    wire.integer(TensorProto.data_type, numberOfElementType(tensor.elementType));
    if (tensor.name !== '') wire.text(TensorProto.name, tensor.name);
    if (tensor.external !== undefined) writeExternal(wire, tensor.external);
    else writeElements(wire, tensor, payload);
  });
}

/** A sparse tensor of zeros: none of its values is listed. */
export function writeSparseZeros(wire: WireWriter, field: number, tensor: TensorLiteral): void {
  const { name, elementType } = tensor;
  const nothing = { dimensions: [0], elements: [], storedBytes: 0 };
  wire.message(field, () => {
    writeTensor(wire, SparseTensorProto.values, { ...nothing, name, elementType }, undefined);
    writeTensor(wire, SparseTensorProto.indices, { ...nothing, name: '', elementType: 'int64' }, undefined);
    for (const size of tensor.dimensions) wire.integer(SparseTensorProto.dims, size);
  });
}

function writeElements(wire: WireWriter, tensor: TensorLiteral, payload: Payload | undefined): void {
  switch (payload?.kind) {
    case 'strings':
      for (const text of payload.texts) wire.text(TensorProto.string_data, text);
      return;
    case 'raw':
      wire.bytes(TensorProto.raw_data, payload.bytes);
      return;
    case 'zeros':
      wire.tag(TensorProto.raw_data, wireTypes.length);
      wire.varint(payload.length);
      wire.hole(payload.length);
      return;
    case undefined: {
      const bytes =
        tensor.elements === undefined ? undefined : encodeRawElements(tensor.elements, tensor.elementType);
      if (bytes !== undefined) wire.bytes(TensorProto.raw_data, bytes);
    }
  }
}

function writeExternal(
  wire: WireWriter,
  { path, offset, length }: NonNullable<TensorLiteral['external']>,
): void {
  wire.entry(TensorProto.external_data, 'location', path);
  if (offset > 0) wire.entry(TensorProto.external_data, 'offset', String(offset));
  if (length !== undefined) wire.entry(TensorProto.external_data, 'length', String(length));
  wire.integer(TensorProto.data_location, externalLocation);
}
