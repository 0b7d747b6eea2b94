/** Tensors in ONNX's textual syntax: small ones with their values, large ones as `{...}`. */

import type { TensorLiteral } from '../../model/attribute.ts';
import { countElements } from '../../model/countElements.ts';
import { bitsPerElement, type ElementType, isFloatingPoint } from '../../model/elementType.ts';
import { formatBytes } from '../../model/format.ts';
import { bytes } from '../../model/units.ts';
import { bfloat16Bits, float16Bits } from '../onnx/decodeElements.ts';
import { printFloat32, printFloat64, printInteger } from './printNumbers.ts';
import { printTensorType, quote } from './printType.ts';

export interface PrintedTensor {
  /** Element type and dimensions. */
  readonly type: string;
  /** `{1,2}`, `["location": "weights.bin"]`, or `{...}` where values are not shown. */
  readonly content: string;
  readonly elided: boolean;
}

/** `shownFloats`, `shownIntegers`: how many values are worth showing. */
export function printTensor(
  tensor: TensorLiteral,
  shownFloats: number,
  shownIntegers: number,
): PrintedTensor {
  const type = printTensorType(tensor.elementType, tensor.dimensions);
  if (tensor.external !== undefined) {
    return { type, content: printExternal(tensor.external), elided: false };
  }
  const { elements } = tensor;
  const shown = isFloatingPoint(tensor.elementType) ? shownFloats : shownIntegers;
  if (elements === undefined || elements.length > shown || !isPrintable(tensor.elementType)) {
    return { type, content: '{...}', elided: true };
  }
  return { type, content: `{${elements.map(elementPrinter(tensor.elementType)).join(',')}}`, elided: false };
}

/** Bytes the tensor takes, written for people; '' where it cannot be known. */
export function printTensorSize(tensor: TensorLiteral): string {
  const bits = bitsPerElement(tensor.elementType);
  const count = countElements(tensor.dimensions);
  if (bits === null || count < 0)
    return tensor.storedBytes === 0 ? '' : formatBytes(bytes(tensor.storedBytes));
  return formatBytes(bytes(Math.ceil((count * bits) / 8)));
}

function printExternal(external: NonNullable<TensorLiteral['external']>): string {
  const entries = [`"location": ${quote(external.path)}`];
  if (external.offset > 0) entries.push(`"offset": "${external.offset}"`);
  if (external.length !== undefined) entries.push(`"length": "${external.length}"`);
  return `[${entries.join(', ')}]`;
}

/** The reference parser takes no values of sub-byte and complex types. */
function isPrintable(type: ElementType): boolean {
  const bits = bitsPerElement(type);
  return bits !== null && bits >= 8 && !type.startsWith('complex');
}

/** The 16-bit floats are written as their bit pattern, as the reference printer writes them. */
function elementPrinter(type: ElementType): (value: number) => string {
  switch (type) {
    case 'float32':
      return printFloat32;
    case 'float64':
      return printFloat64;
    case 'float16':
      return (value) => String(float16Bits(value));
    case 'bfloat16':
      return (value) => String(bfloat16Bits(value));
    default:
      return printInteger;
  }
}
