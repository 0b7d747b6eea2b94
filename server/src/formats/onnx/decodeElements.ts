/** Elements of small tensors as numbers, from the bytes of `raw_data`: little-endian, sub-byte types packed. */

import type { ElementType } from '../../model/elementType.ts';

/** `bytes` holds exactly `count` elements. `undefined` for types whose values nothing is computed from. */
export function decodeRawElements(
  bytes: Uint8Array,
  type: ElementType,
  count: number,
): readonly number[] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = elementReader(view, type);
  return read === undefined ? undefined : Array.from({ length: count }, (_, index) => read(index));
}

function elementReader(view: DataView, type: ElementType): ((index: number) => number) | undefined {
  switch (type) {
    case 'bool':
    case 'uint8':
      return (index) => view.getUint8(index);
    case 'int8':
      return (index) => view.getInt8(index);
    case 'uint16':
      return (index) => view.getUint16(2 * index, true);
    case 'int16':
      return (index) => view.getInt16(2 * index, true);
    case 'uint32':
      return (index) => view.getUint32(4 * index, true);
    case 'int32':
      return (index) => view.getInt32(4 * index, true);
    case 'uint64':
      return (index) =>
        saturate(view.getUint32(8 * index + 4, true) * 2 ** 32 + view.getUint32(8 * index, true));
    case 'int64':
      return (index) =>
        saturate(view.getInt32(8 * index + 4, true) * 2 ** 32 + view.getUint32(8 * index, true));
    case 'float32':
      return (index) => view.getFloat32(4 * index, true);
    case 'float64':
      return (index) => view.getFloat64(8 * index, true);
    case 'float16':
      return (index) => floatOfFloat16(view.getUint16(2 * index, true));
    case 'bfloat16':
      return (index) => floatOfBfloat16(view.getUint16(2 * index, true));
    case 'uint4':
      return (index) => packed(view, index, 4);
    case 'int4':
      return (index) => signExtend(packed(view, index, 4), 4);
    case 'uint2':
      return (index) => packed(view, index, 2);
    case 'int2':
      return (index) => signExtend(packed(view, index, 2), 2);
    default:
      return undefined;
  }
}

/** Value of an IEEE 754 binary16 bit pattern. */
export function floatOfFloat16(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Value of a bfloat16 bit pattern: the upper half of a float32. */
export function floatOfBfloat16(bits: number): number {
  scratch.setUint32(0, (bits & 0xffff) << 16);
  return scratch.getFloat32(0);
}

/** Bit pattern of a value that a binary16 can hold exactly. */
export function float16Bits(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude === Number.POSITIVE_INFINITY) return sign | 0x7c00;
  if (magnitude < 2 ** -14) return sign | Math.round(magnitude * 2 ** 24);
  scratch.setFloat32(0, magnitude);
  const exponent = (scratch.getUint32(0) >>> 23) - 127;
  return sign | ((exponent + 15) << 10) | Math.round((magnitude / 2 ** exponent - 1) * 1024);
}

/** Bit pattern of a value that a bfloat16 can hold exactly. */
export function bfloat16Bits(value: number): number {
  scratch.setFloat32(0, value);
  return scratch.getUint32(0) >>> 16;
}

const scratch = new DataView(new ArrayBuffer(4));

/** Sub-byte elements fill each byte from its low bits up (ONNX docs/docsgen "int4"). */
function packed(view: DataView, index: number, bits: 2 | 4): number {
  const perByte = 8 / bits;
  const shift = bits * (index % perByte);
  return (view.getUint8(Math.floor(index / perByte)) >> shift) & (2 ** bits - 1);
}

const signExtend = (value: number, bits: number): number =>
  value >= 2 ** (bits - 1) ? value - 2 ** bits : value;

const saturate = (value: number): number =>
  Math.max(-Number.MAX_SAFE_INTEGER, Math.min(value, Number.MAX_SAFE_INTEGER));
