/**
 * Element types of tensors, named as NumPy and ONNX name them.
 *
 * Source of the numbering: ONNX 1.23 `onnx-ml.proto`, `TensorProto.DataType`.
 */

export const elementTypes = [
  'undefined',
  'float32',
  'uint8',
  'int8',
  'uint16',
  'int16',
  'int32',
  'int64',
  'string',
  'bool',
  'float16',
  'float64',
  'uint32',
  'uint64',
  'complex64',
  'complex128',
  'bfloat16',
  'float8e4m3fn',
  'float8e4m3fnuz',
  'float8e5m2',
  'float8e5m2fnuz',
  'uint4',
  'int4',
  'float4e2m1',
  'float8e8m0',
  'uint2',
  'int2',
  'float6e2m3',
  'float6e3m2',
] as const;

export type ElementType = (typeof elementTypes)[number];

/** The element type with this `TensorProto.DataType` number, or `undefined` for one this version does not know. */
export function elementTypeOfNumber(dataType: number): ElementType | undefined {
  return elementTypes[dataType];
}

const bitWidths: Readonly<Record<ElementType, number | null>> = {
  undefined: null,
  float32: 32,
  uint8: 8,
  int8: 8,
  uint16: 16,
  int16: 16,
  int32: 32,
  int64: 64,
  string: null,
  bool: 8,
  float16: 16,
  float64: 64,
  uint32: 32,
  uint64: 64,
  complex64: 64,
  complex128: 128,
  bfloat16: 16,
  float8e4m3fn: 8,
  float8e4m3fnuz: 8,
  float8e5m2: 8,
  float8e5m2fnuz: 8,
  uint4: 4,
  int4: 4,
  float4e2m1: 4,
  float8e8m0: 8,
  uint2: 2,
  int2: 2,
  float6e2m3: 6,
  float6e3m2: 6,
};

/** Width of one element in bits; `null` where it has none (strings, undefined). */
export const bitsPerElement = (type: ElementType): number | null => bitWidths[type];

/** What an element takes in the memory of a GPU: strings stay on the host. */
export const bytesOnGpu = (type: ElementType): number => bitsOf(type) / 8;

/** Whole bytes that elements take in a file one behind the other; strings, each as long as it is, count none. */
export const storedBytes = (type: ElementType, elements: number): number =>
  Math.ceil((elements * bitsOf(type)) / 8);

const bitsOf = (type: ElementType): number => bitWidths[type] ?? 0;

/** Whether gradients can flow through a tensor of this type. */
export const isFloatingPoint = (type: ElementType): boolean =>
  type.startsWith('float') || type === 'bfloat16' || type.startsWith('complex');

export const isInteger = (type: ElementType): boolean => /^u?int/.test(type);
