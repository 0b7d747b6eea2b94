/** Elements of tensors as the bytes of `raw_data`: little-endian, sub-byte types packed. Undoes `decodeElements.ts`. */

import { byteAt } from '../../model/at.ts';
import { bitsPerElement, type ElementType } from '../../model/elementType.ts';
import { bfloat16Bits, float16Bits } from './decodeElements.ts';

/**
 * The bytes of `elements`; `undefined` for strings and undefined types, which have none.
 *
 * A 64-bit integer at ±(2^53 − 1) stands for the limit of its type, as the readers saturate (`TensorLiteral`). Complex
 * numbers come as two elements each; the 8-bit floats as their bit patterns.
 */
export function encodeRawElements(
  elements: readonly (number | bigint)[],
  type: ElementType,
): Uint8Array | undefined {
  const bits = bitsPerElement(type);
  if (bits === null) return undefined;
  if (bits < 8) return packed(elements, bits);
  const width = (type.startsWith('complex') ? bits / 2 : bits) / 8;
  const bytes = new Uint8Array(width * elements.length);
  const write = elementWriter(new DataView(bytes.buffer), type);
  elements.forEach((element, index) => {
    write(width * index, element);
  });
  return bytes;
}

function elementWriter(view: DataView, type: ElementType): (offset: number, value: number | bigint) => void {
  switch (type) {
    case 'float32':
    case 'complex64':
      return (offset, value) => view.setFloat32(offset, Number(value), true);
    case 'float64':
    case 'complex128':
      return (offset, value) => view.setFloat64(offset, Number(value), true);
    case 'float16':
      return (offset, value) => view.setUint16(offset, float16Bits(Number(value)), true);
    case 'bfloat16':
      return (offset, value) => view.setUint16(offset, bfloat16Bits(Number(value)), true);
    case 'int64':
    case 'uint64':
      return (offset, value) => view.setBigUint64(offset, BigInt.asUintN(64, wide(value, type)), true);
    case 'int32':
    case 'uint32':
      return (offset, value) => view.setInt32(offset, Number(value), true);
    case 'int16':
    case 'uint16':
      return (offset, value) => view.setInt16(offset, Number(value), true);
    default:
      return (offset, value) => view.setInt8(offset, Number(value));
  }
}

/** A 64-bit integer; what was saturated when it was read is the limit of its type again. */
export function wide(value: number | bigint, type: 'int64' | 'uint64' = 'int64'): bigint {
  if (typeof value === 'bigint') return value;
  if (value >= Number.MAX_SAFE_INTEGER) return type === 'int64' ? 2n ** 63n - 1n : 2n ** 64n - 1n;
  if (value <= -Number.MAX_SAFE_INTEGER) return -(2n ** 63n);
  return BigInt(value);
}

/** Sub-byte elements fill each byte from its low bits up (ONNX docs/docsgen "int4"). */
function packed(elements: readonly (number | bigint)[], bits: number): Uint8Array {
  const perByte = 8 / bits;
  const bytes = new Uint8Array(Math.ceil(elements.length / perByte));
  elements.forEach((element, index) => {
    const place = Math.floor(index / perByte);
    const shifted = (Number(element) & (2 ** bits - 1)) << (bits * (index % perByte));
    bytes[place] = byteAt(bytes, place) | shifted;
  });
  return bytes;
}
