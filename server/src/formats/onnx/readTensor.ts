/**
 * Tensors: `TensorProto` and `SparseTensorProto`.
 *
 * Payloads are jumped over by their length. Only where a tensor is small (shapes, axes, scales) are its elements
 * read afterwards, whichever field holds them and wherever it stands among the others.
 */

import type { ExternalLocation, TensorLiteral } from '../../model/attribute.ts';
import { countElements } from '../../model/countElements.ts';
import { bitsPerElement, type ElementType, isFloatingPoint } from '../../model/elementType.ts';
import type { Issue } from '../../model/issue.ts';
import { decodeRawElements, floatOfBfloat16, floatOfFloat16 } from './decodeElements.ts';
import { externalLocation, SparseTensorProto, TensorProto } from './fields.ts';
import type { Reading } from './reading.ts';
import { wireTypes } from './wireReader.ts';

/** Most elements kept of a tensor of integers or booleans: shapes, axes, pads, indices. */
const keptIntegers = 1024;
/** Most elements kept of a floating-point tensor: scales, sizes, bounds of a clip. */
const keptFloats = 64;

/** Most elements kept of a tensor of this type. */
export const keptElements = (type: ElementType): number =>
  isFloatingPoint(type) ? keptFloats : keptIntegers;

/** A part of the payload: one packed field, or one element of an unpacked one. */
interface Part {
  readonly field: number;
  readonly wireType: number;
  readonly start: number;
  readonly end: number;
}

export function readTensor(reading: Reading, end: number): TensorLiteral {
  const { wire } = reading;
  let name = '';
  let dataType = 0;
  let dataTypeOffset = wire.position;
  let segmented = false;
  let location = 0;
  let storedBytes = 0;
  let rank = 0;
  const dimensions: number[] = [];
  const parts: Part[] = [];
  let external: Map<string, string> | undefined;
  while (wire.nextField(end)) {
    switch (wire.field) {
      case TensorProto.dims:
        rank += reading.integers('TensorProto', dimensions, keptIntegers);
        break;
      case TensorProto.data_type:
        dataTypeOffset = wire.fieldOffset;
        dataType = reading.integer('TensorProto');
        break;
      case TensorProto.name:
        name = reading.string('TensorProto');
        break;
      case TensorProto.segment:
        segmented = true;
        wire.skip();
        break;
      case TensorProto.float_data:
      case TensorProto.int32_data:
      case TensorProto.string_data:
      case TensorProto.int64_data:
      case TensorProto.raw_data:
      case TensorProto.double_data:
      case TensorProto.uint64_data: {
        const { field, wireType } = wire;
        let start = wire.position;
        if (wireType === wireTypes.length) {
          const payloadEnd = wire.lengthDelimited();
          start = wire.position;
          wire.position = payloadEnd;
        } else {
          wire.skip();
        }
        storedBytes += wire.position - start;
        if (parts.length <= keptIntegers) parts.push({ field, wireType, start, end: wire.position });
        break;
      }
      case TensorProto.external_data:
        external ??= new Map();
        reading.entry('TensorProto', external);
        break;
      case TensorProto.data_location:
        location = reading.integer('TensorProto');
        break;
      default:
        reading.skip('TensorProto', TensorProto);
    }
  }
  const elementType = reading.elementType(
    dataType,
    name === '' ? `a tensor ${reading.at(dataTypeOffset)}` : `tensor \`${name}\``,
  );
  const base = { name, elementType, dimensions, storedBytes };
  if (wire.problem !== undefined) return base;
  checkRank(reading, name, rank);
  if (location === externalLocation || external !== undefined) {
    return { ...base, external: locationOf(reading, name, external ?? new Map()) };
  }
  const count = countElements(dimensions);
  if (!segmented) checkPayload(reading, base, count, parts);
  if (segmented || count < 0 || count > keptElements(elementType) || parts.length > keptIntegers) {
    const [part] = parts;
    if (!segmented && parts.length === 1 && part?.field === TensorProto.raw_data) {
      reading.payloads.set(base, { start: part.start, end: part.end });
    }
    return base;
  }
  const elements = readElements(reading, elementType, count, parts);
  return elements === undefined ? base : { ...base, elements };
}

function checkRank(reading: Reading, name: string, rank: number): void {
  if (rank <= keptIntegers) return;
  reading.report('rank', {
    code: 'onnx/unknown-field',
    severity: 'error',
    message: `Tensor \`${name}\` has ${rank} dimensions, and those after the first ${keptIntegers} were skipped: export the model again`,
    value: name,
  });
}

/**
 * Reports a payload of another length than the shape asks for, or in a field for another element type. One that is not
 * there is no mistake: models are passed on without their weights. Integers of varying length are counted only where
 * they are read.
 */
function checkPayload(reading: Reading, tensor: TensorLiteral, count: number, parts: readonly Part[]): void {
  const { name, elementType, dimensions, storedBytes } = tensor;
  const bits = bitsPerElement(elementType);
  if (bits === null || storedBytes === 0) return;
  const type = `${elementType}[${dimensions.join(', ')}]`;
  const own = typedField(elementType);
  const needed = Math.ceil((count * bits) / 8);
  const isFixed = parts.every(
    ({ field, wireType }) => !varyingFields.has(field) && wireType === wireTypes.length,
  );
  const problem = parts.some(({ field }) => field !== TensorProto.raw_data && field !== own)
    ? `holds its data in a field for other element types than ${elementType}`
    : isFixed && needed !== storedBytes
      ? `holds ${storedBytes} bytes, but ${type} takes ${needed}`
      : undefined;
  if (problem === undefined) return;
  reading.report(`payload ${name}`, {
    code: 'onnx/payload-size',
    severity: 'error',
    message: `${name === '' ? 'A tensor without name' : `Tensor \`${name}\``} ${problem}: export the model again`,
    value: name,
  });
}

const varyingFields: ReadonlySet<number> = new Set([
  TensorProto.int32_data,
  TensorProto.int64_data,
  TensorProto.uint64_data,
]);

/** The dense shape, with the stored bytes of values and indices together. */
export function readSparseTensor(reading: Reading, end: number): TensorLiteral {
  const { wire } = reading;
  let name = '';
  let elementType: ElementType = 'undefined';
  let storedBytes = 0;
  let rank = 0;
  const dimensions: number[] = [];
  while (wire.nextField(end)) {
    const { field } = wire;
    if (field === SparseTensorProto.dims) {
      rank += reading.integers('SparseTensorProto', dimensions, keptIntegers);
    } else if (field === SparseTensorProto.values || field === SparseTensorProto.indices) {
      const inner = reading.message('SparseTensorProto');
      if (inner === undefined) continue;
      const part = readTensor(reading, inner);
      storedBytes += part.storedBytes;
      if (field === SparseTensorProto.values) {
        name = part.name;
        elementType = part.elementType;
      }
    } else {
      reading.skip('SparseTensorProto', SparseTensorProto);
    }
  }
  checkRank(reading, name, rank);
  return { name, elementType, dimensions, storedBytes };
}

/** Goes back to the payload of a small tensor; `undefined` where it does not hold `count` elements of this type. */
function readElements(
  reading: Reading,
  type: ElementType,
  count: number,
  parts: readonly Part[],
): readonly number[] | undefined {
  if (count === 0) return [];
  const bits = bitsPerElement(type);
  if (bits === null || type.startsWith('complex')) return undefined;
  const { wire } = reading;
  const after = wire.position;
  const raw = parts.findLast((part) => part.field === TensorProto.raw_data && part.end > part.start);
  let elements: readonly number[] | undefined;
  if (raw !== undefined) {
    wire.position = raw.start;
    const length = Math.ceil((count * bits) / 8);
    if (raw.end - raw.start === length) elements = decodeRawElements(wire.bytes(length), type, count);
  } else {
    elements = readTypedElements(reading, type, count, parts);
  }
  wire.position = after;
  return elements;
}

function readTypedElements(
  reading: Reading,
  type: ElementType,
  count: number,
  parts: readonly Part[],
): readonly number[] | undefined {
  const { wire } = reading;
  const field = typedField(type);
  const stored: number[] = [];
  for (const part of parts) {
    if (part.field !== field || part.end === part.start) continue;
    // A payload far larger than `count` elements can be is not worth decoding only to be refused.
    if (part.end - part.start > 10 * count) return undefined;
    wire.position = part.start;
    while (wire.nextElement(part.end)) {
      if (field === TensorProto.float_data) stored.push(wire.float32());
      else if (field === TensorProto.double_data) stored.push(wire.float64());
      else if (field === TensorProto.uint64_data) stored.push(wire.unsigned());
      else stored.push(wire.signed());
    }
  }
  if (wire.problem !== undefined) return undefined;
  const bits = bitsPerElement(type) ?? 0;
  if (bits < 8 || type.startsWith('float8')) {
    const bytes = Uint8Array.from(stored, (value) => value & 0xff);
    return bytes.length === Math.ceil((count * bits) / 8) ? decodeRawElements(bytes, type, count) : undefined;
  }
  if (stored.length !== count) return undefined;
  if (type === 'float16') return stored.map(floatOfFloat16);
  if (type === 'bfloat16') return stored.map(floatOfBfloat16);
  return stored;
}

/** Which field holds the elements of a type; source: comments of `TensorProto`. */
function typedField(type: ElementType): number {
  switch (type) {
    case 'float32':
    case 'complex64':
      return TensorProto.float_data;
    case 'float64':
    case 'complex128':
      return TensorProto.double_data;
    case 'int64':
      return TensorProto.int64_data;
    case 'uint32':
    case 'uint64':
      return TensorProto.uint64_data;
    default:
      return TensorProto.int32_data;
  }
}

function locationOf(
  reading: Reading,
  tensor: string,
  entries: ReadonlyMap<string, string>,
): ExternalLocation {
  const location = externalLocationOf(entries);
  if (reading.insidePaths.has(location.path)) return location;
  if (!leavesFolder(location.path)) reading.insidePaths.add(location.path);
  else {
    reading.report(`external ${location.path}`, outsideFolder(tensor, location.path));
  }
  return location;
}

/** What is said of data outside the model's folder. */
export const outsideFolder = (tensor: string, path: string): Issue => ({
  code: 'onnx/external-data-outside',
  severity: 'warning',
  message: `Tensor \`${tensor}\` stores its data at \`${path}\`, outside the folder of the model; it is never opened. Save the model again with its data beside it`,
  value: tensor,
});

/** The place named by the entries of `external_data`. */
export function externalLocationOf(entries: ReadonlyMap<string, string>): ExternalLocation {
  const path = entries.get('location') ?? '';
  const length = byteCount(entries.get('length'));
  const offset = byteCount(entries.get('offset')) ?? 0;
  return length === undefined ? { path, offset } : { path, offset, length };
}

/** Whether a path is absolute, climbs out of the folder or is none; source: ONNX docs/ExternalData.md. */
export function leavesFolder(path: string): boolean {
  if (/^([\\/]|[A-Za-z]:|[A-Za-z][\w+.-]*:\/\/)/.test(path) || path.includes('\0')) return true;
  let depth = 0;
  for (const part of path.split(/[\\/]/)) {
    if (part === '..') depth -= 1;
    else if (part !== '' && part !== '.') depth += 1;
    if (depth < 0) return true;
  }
  return false;
}

function byteCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,16}$/.test(text)
    ? Math.min(Number(text), Number.MAX_SAFE_INTEGER)
    : undefined;
}
