/** Models without what a text need not say, so that two ways of writing one model compare equal. */

import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../../server/src/formats/onnx/readOnnx.ts';
import type { OnnxModel } from '../../../server/src/formats/onnx/syntax.ts';

/** Set aside: how many bytes a payload takes in its file, and the metadata of nodes, which ONNX text does not have. */
export function comparable(model: OnnxModel | Uint8Array): unknown {
  const read = model instanceof Uint8Array ? readOnnx(byteSourceOfBuffer(model)).model : model;
  if (read === undefined) throw new Error('not read');
  return plain(read);
}

function plain(value: unknown): unknown {
  if (value instanceof Map) return [...value].map(([key, entry]) => [key, plain(entry)]);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'storedBytes' && !(key === 'metadata' && 'overload' in value))
      .map(([key, entry]) => [key, plain(entry)]),
  );
}
