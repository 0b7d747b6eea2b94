/**
 * The header of a safetensors file: names, element types and shapes of its tensors. Their bytes are never read.
 *
 * Source: huggingface/safetensors, README.md, "Format": 8 bytes N, little-endian, then N bytes of JSON, then the tensors;
 * safetensors/src/tensor.rs: at most 100 MB of header, offsets without holes and as long as the shapes say.
 */

import { countElements } from '../../model/countElements.ts';
import type { ByteSource } from '../byteSource.ts';
import { isObject, parseJson } from '../parseJson.ts';
import type { StoredTensor, StoredWeights } from '../storedTensor.ts';

export function readSafetensors(source: ByteSource): StoredWeights {
  const prefix = source.read(0, prefixBytes);
  if (prefix.length < prefixBytes) return { problem: 'it ends before the length of its header' };
  const length = Number(new DataView(prefix.buffer, prefix.byteOffset).getBigUint64(0, true));
  if (length > longestHeader)
    return { problem: `its header says to be ${length} bytes long, more than ${longestHeader}` };
  if (prefixBytes + length > source.size) return { problem: 'it ends within its header' };
  const parsed = parseJson(new TextDecoder().decode(source.read(prefixBytes, length)));
  if ('problem' in parsed) return { problem: `its header is not valid JSON: ${parsed.problem}` };
  if (!isObject(parsed.value)) return { problem: 'its header is not an object' };
  const tensors: StoredTensor[] = [];
  let end = 0;
  for (const [name, entry] of Object.entries(parsed.value)) {
    if (name === '__metadata__') continue;
    const tensor = readTensor(name, entry);
    if (typeof tensor === 'string') return { problem: `tensor \`${name.slice(0, 80)}\` ${tensor}` };
    tensors.push(tensor);
    end += tensor.bytes;
  }
  if (prefixBytes + length + end > source.size)
    return {
      problem: `its tensors take ${end} bytes, and ${source.size - prefixBytes - length} follow its header`,
    };
  return { tensors };
}

function readTensor(name: string, entry: unknown): StoredTensor | string {
  if (!isObject(entry)) return 'is not described by an object';
  const { dtype, shape, data_offsets: offsets } = entry;
  if (typeof dtype !== 'string' || !areCounts(shape)) return 'has no `dtype`, or no `shape` of whole numbers';
  if (!areCounts(offsets) || offsets.length !== 2) return 'has no `data_offsets`';
  const [begin = 0, end = 0] = offsets;
  const elements = countElements(shape);
  if (!Number.isSafeInteger(elements) || end < begin) return 'has an impossible size';
  const bits = bitsOf.get(dtype);
  if (bits !== undefined && (end - begin) * 8 !== elements * bits)
    return `takes ${end - begin} bytes, and its shape says ${(elements * bits) / 8}`;
  return { name, elementType: dtype, shape, elements, bytes: end - begin };
}

const areCounts = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((each) => Number.isSafeInteger(each) && each >= 0);

const prefixBytes = 8;
const longestHeader = 100_000_000;

/** Of one element; of a type that is not here, the shape is not checked against the bytes. */
const bitsOf: ReadonlyMap<string, number> = new Map(
  Object.entries({
    BOOL: 8,
    U8: 8,
    I8: 8,
    F8_E4M3: 8,
    F8_E5M2: 8,
    F8_E8M0: 8,
    I16: 16,
    U16: 16,
    F16: 16,
    BF16: 16,
    I32: 32,
    U32: 32,
    F32: 32,
    F64: 64,
    I64: 64,
    U64: 64,
    C64: 64,
  }),
);
