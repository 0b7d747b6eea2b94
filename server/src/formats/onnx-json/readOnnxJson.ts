/**
 * Reads an ONNX model written as JSON (protobuf.dev, "ProtoJSON Format"): camelCase names or those of
 * `onnx-ml.proto`, 64-bit integers as strings, bytes in base64.
 */

import type { ReadOnnx } from '../onnx/readOnnx.ts';
import {
  readWrittenModel,
  type WrittenBytes,
  type WrittenField,
  type WrittenMessage,
  type WrittenPlace,
  type WrittenValue,
} from '../onnx/readWrittenModel.ts';
import { isObject, parseJson } from '../parseJson.ts';

/** Protobuf's own default limit of message nesting, with the lists between them. */
const deepest = 200;

export function readOnnxJson(text: string): ReadOnnx {
  const parsed = parseJson(text);
  if ('problem' in parsed)
    return refuse(`The text is not valid JSON (${parsed.problem}): export the model again`);
  const { value } = parsed;
  if (!isObject(value))
    return refuse('The JSON is not an object, so not an ONNX model: open the model itself');
  if (isTooDeep(value)) {
    return refuse(`Objects are nested more than ${deepest} levels deep: export the model again`);
  }
  return readWrittenModel(new JsonMessage(value, ''), ({ words }) => words);
}

class JsonMessage implements WrittenMessage {
  readonly #object: Readonly<Record<string, unknown>>;
  readonly #path: string;

  constructor(object: Readonly<Record<string, unknown>>, path: string) {
    this.#object = object;
    this.#path = path;
  }

  /** `null` stands for a field that is not there. */
  *fields(): Iterable<WrittenField> {
    for (const [key, value] of Object.entries(this.#object)) {
      if (value === null) continue;
      const path = this.#path === '' ? key : `${this.#path}.${key}`;
      const values = Array.isArray(value)
        ? value.map((each: unknown, index) => new JsonValue(each, `${path}[${index}]`))
        : [new JsonValue(value, path)];
      yield { name: protoName(key), values, omitted: 0, place: placeOf(path) };
    }
  }
}

class JsonValue implements WrittenValue {
  readonly #value: unknown;
  readonly #path: string;

  constructor(value: unknown, path: string) {
    this.#value = value;
    this.#path = path;
  }

  get place(): WrittenPlace {
    return placeOf(this.#path);
  }

  message(): WrittenMessage | undefined {
    return isObject(this.#value) ? new JsonMessage(this.#value, this.#path) : undefined;
  }

  scalar(): string | undefined {
    if (typeof this.#value === 'string') return this.#value;
    if (typeof this.#value !== 'number') return undefined;
    return Number.isInteger(this.#value) ? BigInt(this.#value).toString() : String(this.#value);
  }

  bytes(kind: 'text' | 'bytes'): WrittenBytes | undefined {
    const text = this.#value;
    if (typeof text !== 'string') return undefined;
    if (kind === 'bytes') return bytesOfBase64(text);
    const bytes = encoder.encode(text);
    return { size: bytes.length, read: () => bytes };
  }
}

/** Standard or URL-safe alphabet, padded or not; `undefined` where the text is no base64. */
function bytesOfBase64(text: string): WrittenBytes | undefined {
  const digits = text.length - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
  if (digits % 4 === 1) return undefined;
  const size = Math.floor((digits * 3) / 4);
  // Only the payloads of small tensors are decoded, so only they are checked.
  if (text.length < 4096 && !/^[\w+/-]*={0,2}$/.test(text)) return undefined;
  return {
    size,
    read: () => {
      const bytes = new Uint8Array(size);
      let bits = 0;
      let held = 0;
      let next = 0;
      for (let index = 0; index < digits; index += 1) {
        held = (held * 64 + (base64Values.get(text.charAt(index)) ?? 0)) % 2 ** 16;
        bits += 6;
        if (bits >= 8) {
          bits -= 8;
          bytes[next] = (held >> bits) & 0xff;
          next += 1;
        }
      }
      return bytes;
    },
  };
}

const base64Values: ReadonlyMap<string, number> = new Map([
  ...[...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].map(
    (char, value) => [char, value] as const,
  ),
  ['-', 62],
  ['_', 63],
]);

/** `opsetImport` is `opset_import` in `onnx-ml.proto`, which may be written too. */
const protoName = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function isTooDeep(root: Readonly<Record<string, unknown>>): boolean {
  let level: readonly object[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > deepest) return true;
    level = level.flatMap((value) =>
      Object.values(value).filter((inner: unknown) => typeof inner === 'object' && inner !== null),
    );
  }
  return false;
}

const placeOf = (path: string): WrittenPlace => ({ words: `in \`${path}\`` });

const encoder = new TextEncoder();

const refuse = (message: string): ReadOnnx => ({
  model: undefined,
  issues: [{ code: 'onnx/text-syntax', severity: 'error', message }],
});
