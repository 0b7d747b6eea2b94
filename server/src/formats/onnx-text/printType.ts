/** Types and names in ONNX's textual syntax (ONNX docs/Syntax.md). */

import type { ElementType } from '../../model/elementType.ts';
import type { OnnxDimension, OnnxType, OnnxValueInfo } from '../onnx/syntax.ts';

/** `float[N,3]`, `float` for rank 0, `float[]` for unknown rank; `undefined` for a type the file does not give. */
export function printType(type: OnnxType | undefined): string {
  if (type === undefined) return 'undefined';
  switch (type.kind) {
    case 'tensor':
      return printTensorType(type.elementType, type.shape);
    case 'sparse-tensor':
      return `sparse_tensor(${printTensorType(type.elementType, type.shape)})`;
    case 'sequence':
      return `seq(${printType(type.element)})`;
    case 'optional':
      return `optional(${printType(type.element)})`;
    case 'map':
      return `map(${printElementType(type.key)}, ${printType(type.value)})`;
    case 'opaque':
      return `opaque(${type.name.replace(/[\r\n]+/g, ' ')})`;
  }
}

export function printTensorType(type: ElementType, shape: readonly OnnxDimension[] | undefined): string {
  if (shape === undefined) return `${printElementType(type)}[]`;
  if (shape.length === 0) return printElementType(type);
  return `${printElementType(type)}[${shape.map(printOnnxDimension).join(',')}]`;
}

/** ONNX text says `float` and `double` where NumPy says `float32` and `float64`. */
function printElementType(type: ElementType): string {
  if (type === 'float32') return 'float';
  if (type === 'float64') return 'double';
  return type;
}

/** A name as it is where it is an identifier, quoted otherwise. */
export const printName = (name: string): string => (identifier.test(name) ? name : quote(name));

export const printNames = (names: readonly string[]): string => names.map(printName).join(', ');

/** A value with its type, where that is known. */
export const printValueInfo = ({ type, name }: OnnxValueInfo): string =>
  `${type === undefined ? '' : `${printType(type)} `}${printName(name)}`;

/**
 * A step of an operator's qualified name. Unlike other names it may begin with a digit and hold `+` or `-`, because
 * exporters make domains of version numbers; the reference printer writes them as they are.
 */
export const printQualifiedPart = (part: string): string => (qualifiedPart.test(part) ? part : quote(part));

/** A domain by its steps; quoted as one where a step is empty or cannot stand by itself. */
export const printDomain = (domain: string): string =>
  domain.split('.').every((part) => qualifiedPart.test(part)) ? domain : quote(domain);

/** ONNX text escapes quotes and backslashes, nothing else; line breaks would end the line of a node. */
export function quote(text: string): string {
  if (!/[\\"\r\n]/.test(text)) return `"${text}"`;
  return `"${text.replace(/[\\"]/g, '\\$&').replace(/[\r\n]+/g, ' ')}"`;
}

/** A text in quotes with its line breaks. */
export const quoteWhole = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&')}"`;

const qualifiedPart = /^[^\s<>(){}[\],:="#.@]+$/;

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Sizes that a number cannot hold are kept by their digits. */
const pastNumbers = /^\d{16,19}$/;

function printOnnxDimension(dimension: OnnxDimension): string {
  if (dimension === undefined) return '?';
  return typeof dimension === 'number' || pastNumbers.test(dimension) ? `${dimension}` : printName(dimension);
}
