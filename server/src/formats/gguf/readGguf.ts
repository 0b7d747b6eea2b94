/**
 * The header of a GGUF file: its metadata, and names, types and shapes of its tensors. Their bytes are never read.
 *
 * Source: ggml-org/ggml, docs/gguf.md, version 3, "File structure"; sizes of types: ggml/src/ggml-common.h, `block_*`.
 */

import { countElements } from '../../model/countElements.ts';
import type { ByteSource } from '../byteSource.ts';
import type { StoredTensor } from '../storedTensor.ts';
import { Cursor, HeaderEnd } from './cursor.ts';
import { tensorTypes } from './tensorTypes.ts';

/** A value of the metadata; of a list only a short one is kept whole. */
export type GgufValue = number | boolean | string | GgufList;

export interface GgufList {
  readonly length: number;
  /** Absent for texts, such as those of a vocabulary, and for long lists. */
  readonly numbers?: readonly number[];
}

export type GgufHeader =
  | { readonly metadata: ReadonlyMap<string, GgufValue>; readonly tensors: readonly StoredTensor[] }
  /** What is wrong with the file, and where. */
  | { readonly problem: string };

export function readGguf(source: ByteSource): GgufHeader {
  try {
    return readHeader(source);
  } catch (error) {
    if (error instanceof HeaderEnd) return { problem: error.message };
    throw error;
  }
}

function readHeader(source: ByteSource): GgufHeader {
  const cursor = new Cursor(source);
  if (cursor.unsigned(4) !== magic) return { problem: 'it does not begin with "GGUF"' };
  const version = cursor.unsigned(4);
  if (version !== 2 && version !== 3) {
    return { problem: `it has version ${version}; versions 2 and 3 are read: convert the model again` };
  }
  const tensorCount = cursor.count('tensors', mostTensors);
  const valueCount = cursor.count('values', mostValues);
  const metadata = new Map<string, GgufValue>();
  for (let index = 0; index < valueCount; index += 1) {
    const key = cursor.text(`the name of value ${index + 1}`);
    const value = readValue(cursor, cursor.unsigned(4), key);
    if (value === undefined) return { problem: `value \`${shown(key)}\` has a type that is not known` };
    metadata.set(key, value);
  }
  const tensors: StoredTensor[] = [];
  let end = 0;
  for (let index = 0; index < tensorCount; index += 1) {
    const tensor = readTensor(cursor, index);
    if (typeof tensor === 'string') return { problem: tensor };
    const { offset, ...stored } = tensor;
    tensors.push(stored);
    end = Math.max(end, offset + stored.bytes);
  }
  const aligned = metadata.get('general.alignment');
  const alignment = typeof aligned === 'number' && aligned > 0 ? aligned : usualAlignment;
  const start = Math.ceil(cursor.place / alignment) * alignment;
  if (start + end > source.size) {
    return {
      problem: `its tensors take ${end} bytes, and ${Math.max(0, source.size - start)} follow its header`,
    };
  }
  return { metadata, tensors };
}

/** `undefined` where the type is not known, so that what follows cannot be read. */
function readValue(cursor: Cursor, type: number, key: string): GgufValue | undefined {
  const size = numberSizes[type];
  if (size !== undefined) return cursor.number(size);
  if (type === typeOf.bool) return cursor.unsigned(1) !== 0;
  if (type === typeOf.text) return cursor.text(`\`${shown(key)}\``);
  if (type !== typeOf.list) return undefined;
  const elementType = cursor.unsigned(4);
  const length = cursor.count(`elements of \`${shown(key)}\``, mostElements);
  const elementSize = elementType === typeOf.bool ? unsigned8 : numberSizes[elementType];
  if (elementSize !== undefined) {
    if (length > longestList) {
      cursor.skip(length * elementSize.bytes);
      return { length };
    }
    return { length, numbers: Array.from({ length }, () => cursor.number(elementSize)) };
  }
  if (elementType !== typeOf.text) return undefined;
  for (let index = 0; index < length; index += 1) cursor.skipText();
  return { length };
}

interface PlacedTensor extends StoredTensor {
  /** From where tensors begin, in bytes. */
  readonly offset: number;
}

function readTensor(cursor: Cursor, index: number): PlacedTensor | string {
  const name = cursor.text(`the name of tensor ${index + 1}`);
  const axes = cursor.unsigned(4);
  if (axes > mostAxes) return `tensor \`${shown(name)}\` has ${axes} axes, more than ${mostAxes}`;
  // The first axis of the file is the one whose elements stand together: the last of PyTorch's.
  const shape = Array.from({ length: axes }, () => cursor.number({ bytes: 8, kind: 'unsigned' })).reverse();
  const type = cursor.unsigned(4);
  const offset = cursor.number({ bytes: 8, kind: 'unsigned' });
  const elements = countElements(shape);
  if (!Number.isSafeInteger(elements) || elements < 0)
    return `tensor \`${shown(name)}\` has an impossible size`;
  const known = tensorTypes.get(type);
  if (known === undefined) return `tensor \`${shown(name)}\` has type ${type}, which is not known`;
  const bytes = (elements / known.blockElements) * known.blockBytes;
  return { name, elementType: known.name, shape, elements, bytes, offset };
}

const shown = (name: string): string => name.slice(0, 80);

/** Bytes whose multiple tensors begin at (`general.alignment`). */
const usualAlignment = 32;

/** "GGUF" as a little-endian number. */
const magic = 0x46_55_47_47;

const typeOf = { bool: 7, text: 8, list: 9 } as const;

const unsigned8 = { bytes: 1, kind: 'unsigned' } as const;

/** By type of metadata value (`gguf_metadata_value_type`). */
const numberSizes: Readonly<
  Record<number, { readonly bytes: 1 | 2 | 4 | 8; readonly kind: 'unsigned' | 'signed' | 'float' }>
> = {
  0: unsigned8,
  1: { bytes: 1, kind: 'signed' },
  2: { bytes: 2, kind: 'unsigned' },
  3: { bytes: 2, kind: 'signed' },
  4: { bytes: 4, kind: 'unsigned' },
  5: { bytes: 4, kind: 'signed' },
  6: { bytes: 4, kind: 'float' },
  10: { bytes: 8, kind: 'unsigned' },
  11: { bytes: 8, kind: 'signed' },
  12: { bytes: 8, kind: 'float' },
};

/** More than any file has; a count beyond it is a mistake. */
const mostTensors = 2 ** 20;
const mostValues = 2 ** 16;
const mostElements = 2 ** 24;
const mostAxes = 4;
/** Lists of one number for each layer are kept, those of a vocabulary are not. */
const longestList = 2 ** 12;
