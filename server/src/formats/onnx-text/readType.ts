/** Types and tensors of ONNX text. */

import type { ExternalLocation, TensorLiteral } from '../../model/attribute.ts';
import { countElements } from '../../model/countElements.ts';
import { type ElementType, elementTypes, storedBytes } from '../../model/elementType.ts';
import type { TextSpan } from '../../model/issue.ts';
import { nearestName } from '../../model/nearestName.ts';
import { floatOfBfloat16, floatOfFloat16 } from '../onnx/decodeElements.ts';
import { encodeRawElements } from '../onnx/encodeElements.ts';
import type { Payload } from '../onnx/payload.ts';
import { externalLocationOf, keptElements } from '../onnx/readTensor.ts';
import type { OnnxDimension, OnnxType } from '../onnx/syntax.ts';
import type { TextCursor } from './textCursor.ts';

const typeHint = 'a type is written `float[N,3]`, `float` for a scalar, `float[]` where the rank is unknown';
const tensorHint = 'a tensor is written `int64[2] {1, -1}` or `float[2,3] ["location": "weights.bin"]`';

/** ONNX text says `float` and `double`; the rest of the names are NumPy's. */
const elementTypesByName: ReadonlyMap<string, ElementType> = new Map([
  ['float', 'float32'],
  ['double', 'float64'],
  ...elementTypes
    .filter((type) => !['undefined', 'float32', 'float64'].includes(type))
    .map((type) => [type, type] as const),
]);

const containers: ReadonlySet<string> = new Set(['seq', 'map', 'optional', 'sparse_tensor', 'opaque']);

/** What is said of a word in the place of a type. */
export const unknownType = (word: string): string => {
  const nearest = nearestName(word, [...elementTypesByName.keys(), ...containers]);
  return nearest === undefined
    ? `\`${word}\` is not a type: ${typeHint}`
    : `\`${word}\` is not a type; did you mean \`${nearest}\`?`;
};

/** Whether a type is next. A container's name is one only before its parenthesis; a value may have it too. */
export function typeIsNext(cursor: TextCursor): boolean {
  const word = cursor.peekIdentifier();
  if (elementTypesByName.has(word)) return true;
  const after = cursor.text
    .slice(cursor.position + word.length, cursor.position + word.length + 80)
    .trimStart();
  // Our printer writes `undefined` for a type that the file does not give.
  if (word === 'undefined') return /^["[A-Za-z_]/.test(after);
  return containers.has(word) && after.startsWith('(');
}

/** `undefined` for the type `undefined`, and after a problem. */
export function readType(cursor: TextCursor): OnnxType | undefined {
  const outer = cursor.hint;
  cursor.hint = typeHint;
  const type = cursor.enter() ? readTypeInside(cursor) : undefined;
  cursor.leave();
  cursor.hint = outer;
  return type;
}

function readTypeInside(cursor: TextCursor): OnnxType | undefined {
  const start = cursor.next();
  const word = cursor.identifier('a type');
  const elementType = word === 'undefined' ? 'undefined' : elementTypesByName.get(word);
  if (elementType !== undefined) {
    const shape = readShape(cursor);
    // `undefined` alone is a type that is not there; with a shape it is a tensor whose elements are not known.
    return word === 'undefined' && shape?.length === 0 ? undefined : { kind: 'tensor', elementType, shape };
  }
  if (!containers.has(word)) {
    cursor.failWith(unknownType(word), start, start + word.length);
    return undefined;
  }
  cursor.expect('(');
  const type = readContainer(cursor, word);
  cursor.expect(')');
  return type;
}

function readContainer(cursor: TextCursor, word: string): OnnxType {
  switch (word) {
    case 'map': {
      const key = readElementType(cursor);
      cursor.expect(',');
      return { kind: 'map', key, value: readType(cursor) };
    }
    case 'sparse_tensor':
      return { kind: 'sparse-tensor', elementType: readElementType(cursor), shape: readShape(cursor) };
    case 'opaque':
      return { kind: 'opaque', name: readOpaqueName(cursor) };
    default:
      return { kind: word === 'seq' ? 'sequence' : 'optional', element: readType(cursor) };
  }
}

/** `name`, or `domain,name`; both may be dotted. */
function readOpaqueName(cursor: TextCursor): string {
  if (cursor.peek() === ')') return '';
  const parts: string[] = [];
  do {
    let part = cursor.qualifiedPart('the name of an opaque type');
    while (cursor.matches('.')) part += `.${cursor.qualifiedPart('the name of an opaque type')}`;
    parts.push(part);
  } while (cursor.matches(','));
  return parts.join(',');
}

function readElementType(cursor: TextCursor): ElementType {
  const start = cursor.next();
  const word = cursor.identifier('an element type');
  const type = word === 'undefined' ? 'undefined' : elementTypesByName.get(word);
  if (type === undefined) {
    cursor.failWith(`\`${word}\` is not an element type: ${typeHint}`, start, start + word.length);
  }
  return type ?? 'undefined';
}

/** No brackets: a scalar; empty brackets: a shape that is not known. */
function readShape(cursor: TextCursor): readonly OnnxDimension[] | undefined {
  if (!cursor.matches('[')) return [];
  if (cursor.matches(']')) return undefined;
  const shape: OnnxDimension[] = [];
  do {
    if (cursor.matches('?')) {
      shape.push(undefined);
      continue;
    }
    const symbol = cursor.optionalName();
    if (symbol !== undefined) shape.push(symbol === '' ? undefined : symbol);
    else shape.push(readSize(cursor));
  } while (cursor.matches(','));
  cursor.expect(']');
  return shape;
}

/** A number, or its digits where it is more than a number can hold. */
function readSize(cursor: TextCursor): number | string {
  const start = cursor.next();
  const size = cursor.integer('a dimension');
  return size === Number.MAX_SAFE_INTEGER ? cursor.text.slice(start, cursor.tokenEnd) : size;
}

export interface TextTensor {
  readonly tensor: TensorLiteral;
  readonly sparse: boolean;
}

/**
 * What follows a tensor's type and name: values, the place of external data, or nothing. All values that are written
 * go to `payloads` where it is given.
 */
export function readTensorContent(
  cursor: TextCursor,
  name: string,
  type: OnnxType | undefined,
  typeSpan: TextSpan,
  payloads?: Map<TensorLiteral, Payload>,
): TextTensor {
  const outer = cursor.hint;
  cursor.hint = tensorHint;
  const tensor = readContent(cursor, name, type, typeSpan, payloads);
  cursor.hint = outer;
  return tensor;
}

function readContent(
  cursor: TextCursor,
  name: string,
  type: OnnxType | undefined,
  typeSpan: TextSpan,
  payloads: Map<TensorLiteral, Payload> | undefined,
): TextTensor {
  const sparse = type?.kind === 'sparse-tensor';
  const elementType = type?.kind === 'tensor' || sparse ? type.elementType : 'undefined';
  const nothing = { tensor: { name, elementType, dimensions: [], storedBytes: 0 }, sparse };
  if (type?.kind !== 'tensor' && !sparse && type !== undefined) {
    cursor.failWith(
      `only tensors can have values, not a \`${type.kind}\`: ${tensorHint}`,
      typeSpan.start,
      typeSpan.end,
    );
    return nothing;
  }
  const dimensions = concreteShape(type?.shape ?? (type === undefined ? [] : undefined));
  if (dimensions === undefined) {
    const what = 'the shape of a tensor with values must be numbers';
    cursor.failWith(`${what}: ${tensorHint}`, typeSpan.start, typeSpan.end);
    return nothing;
  }
  const base = { name, elementType, dimensions, storedBytes: 0 };
  if (cursor.matches('[')) return { tensor: { ...base, external: readExternal(cursor) }, sparse };
  if (!cursor.matches('{')) return { tensor: base, sparse };
  if (cursor.matches('...')) {
    cursor.expect('}');
    return { tensor: { ...base, storedBytes: bytesOf(elementType, dimensions) }, sparse };
  }
  if (sparse) {
    cursor.failWith(
      'ONNX text cannot write values of sparse tensors: write `{...}`, or a dense tensor',
      cursor.tokenEnd - 1,
      cursor.tokenEnd,
    );
  }
  const { payload, ...content } = readElements(cursor, elementType, dimensions, payloads !== undefined);
  const tensor = { ...base, ...content };
  if (payload !== undefined) payloads?.set(tensor, payload);
  return { tensor, sparse };
}

function concreteShape(shape: readonly OnnxDimension[] | undefined): readonly number[] | undefined {
  if (shape === undefined) return undefined;
  const numbers = shape.filter((size) => typeof size === 'number');
  return numbers.length === shape.length ? numbers : undefined;
}

const bytesOf = (type: ElementType, dimensions: readonly number[]): number =>
  Math.max(0, storedBytes(type, countElements(dimensions)));

/**
 * The bytes the values take in a binary file, and the values where they are few and are as many as the shape says; all
 * of them as a payload where `everything` is asked for.
 */
function readElements(
  cursor: TextCursor,
  type: ElementType,
  dimensions: readonly number[],
  everything: boolean,
): Pick<TensorLiteral, 'storedBytes' | 'elements'> & { readonly payload?: Payload } {
  const kept = keptElements(type);
  const elements: number[] = [];
  const all: (number | bigint)[] = [];
  const texts: string[] = [];
  let count = 0;
  let textBytes = 0;
  if (!cursor.matches('}')) {
    do {
      count += 1;
      if (type === 'string') {
        const text = cursor.string();
        textBytes += text.length;
        if (everything) texts.push(text);
      } else {
        const element = readElement(cursor, type);
        if (elements.length <= kept) elements.push(element.value);
        if (everything) all.push(element.exact ?? element.value);
      }
    } while (cursor.matches(','));
    cursor.expect('}');
  }
  const perElement = type.startsWith('complex') ? 2 : 1;
  const payloadBytes = storedBytes(type, count / perElement) + textBytes;
  const wanted = countElements(dimensions);
  const known =
    count === wanted && count <= kept && type !== 'string' && perElement === 1 && !type.startsWith('float8');
  const content = known ? { storedBytes: payloadBytes, elements } : { storedBytes: payloadBytes };
  const payload = everything ? payloadOf(type, all, texts) : undefined;
  return payload === undefined ? content : { ...content, payload };
}

function payloadOf(
  type: ElementType,
  elements: readonly (number | bigint)[],
  texts: readonly string[],
): Payload | undefined {
  if (type === 'string') return { kind: 'strings', texts };
  const bytes = encodeRawElements(elements, type);
  return bytes === undefined ? undefined : { kind: 'raw', bytes };
}

/** The 16-bit floats stand as their bit pattern; other floats as float32 where that is what they are. */
function readElement(
  cursor: TextCursor,
  type: ElementType,
): { readonly value: number; readonly exact?: bigint } {
  switch (type) {
    case 'float32':
    case 'complex64':
      return { value: Math.fround(readFloat(cursor)) };
    case 'float64':
    case 'complex128':
      return { value: readFloat(cursor) };
    case 'float16':
      return { value: floatOfFloat16(cursor.integer('the bit pattern of a float16, an integer')) };
    case 'bfloat16':
      return { value: floatOfBfloat16(cursor.integer('the bit pattern of a bfloat16, an integer')) };
    default:
      return cursor.exactInteger();
  }
}

function readFloat(cursor: TextCursor): number {
  const found = cursor.optionalNumber();
  if (found === undefined || found.kind === 'string') {
    cursor.fail('a number');
    return 0;
  }
  return found.value;
}

function readExternal(cursor: TextCursor): ExternalLocation {
  const entries = new Map<string, string>();
  readPairs(cursor, entries);
  return externalLocationOf(entries);
}

/** `"key": "value"` pairs up to the closing bracket, which is taken too. */
export function readPairs(cursor: TextCursor, into: Map<string, string>): void {
  do {
    const key = cursor.string();
    cursor.expect(':');
    into.set(key, cursor.string());
  } while (cursor.matches(','));
  cursor.expect(']');
}
