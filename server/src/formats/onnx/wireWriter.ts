/**
 * Writes protobuf's wire format, with holes in the place of payloads: what was not decoded has its length and no
 * bytes. The reader of binary models jumps over payloads, so it never finds out.
 */

import type { ByteSource } from '../byteSource.ts';
import { StringStringEntryProto } from './fields.ts';
import { wireTypes } from './wireReader.ts';

/** Bytes kept for a length that is not known yet: enough for 32 GiB. Padded varints are legal. */
const lengthBytes = 5;

interface Hole {
  /** Offset in the message, holes before it counted. */
  readonly start: number;
  readonly length: number;
}

/** Where a length has to be written once it is known. */
export interface OpenField {
  readonly place: number;
  readonly start: number;
}

export class WireWriter {
  #bytes = new Uint8Array(4096);
  #length = 0;
  #holeBytes = 0;
  readonly #holes: Hole[] = [];

  /** Length of what was written, holes included. */
  get size(): number {
    return this.#length + this.#holeBytes;
  }

  /** Begins a field with a length: a nested message or packed numbers. */
  open(field: number): OpenField {
    this.tag(field, wireTypes.length);
    this.#reserve(lengthBytes);
    const place = this.#length;
    this.#length += lengthBytes;
    return { place, start: this.size };
  }

  close({ place, start }: OpenField): void {
    let left = this.size - start;
    for (let index = 0; index < lengthBytes; index += 1) {
      this.#bytes[place + index] = (left % 128) + (index < lengthBytes - 1 ? 0x80 : 0);
      left = Math.floor(left / 128);
    }
  }

  bytes(field: number, bytes: Uint8Array): void {
    this.tag(field, wireTypes.length);
    this.varint(bytes.length);
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** A nested message: whatever `write` writes. */
  message(field: number, write: () => void): void {
    const open = this.open(field);
    write();
    this.close(open);
  }

  text(field: number, text: string): void {
    if (!this.#shortText(field, text)) this.bytes(field, encoder.encode(text));
  }

  /** Nearly every text is a short name in ASCII, whose length is one byte; false, and nothing written, of any other. */
  #shortText(field: number, text: string): boolean {
    const { length } = text;
    if (length >= 128 || field >= 16) return false;
    this.#reserve(length + 2);
    const bytes = this.#bytes;
    const start = this.#length + 2;
    for (let index = 0; index < length; index += 1) {
      const code = text.charCodeAt(index);
      if (code >= 128) return false;
      bytes[start + index] = code;
    }
    bytes[start - 2] = field * 8 + wireTypes.length;
    bytes[start - 1] = length;
    this.#length = start + length;
    return true;
  }

  integer(field: number, value: number | bigint): void {
    this.tag(field, wireTypes.varint);
    this.varint(value);
  }

  /** A pair of texts: ONNX's `StringStringEntryProto`. */
  entry(field: number, key: string, value: string): void {
    this.message(field, () => {
      this.text(StringStringEntryProto.key, key);
      this.text(StringStringEntryProto.value, value);
    });
  }

  tag(field: number, wireType: number): void {
    this.varint(field * 8 + wireType);
  }

  /** Negative numbers take ten bytes, as protobuf has it for int32 and int64. */
  varint(value: number | bigint): void {
    this.#reserve(10);
    if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER) {
      let left = value;
      while (left >= 128) {
        this.#byte((left % 128) + 0x80);
        left = Math.floor(left / 128);
      }
      this.#byte(left);
      return;
    }
    let left = BigInt.asUintN(64, BigInt(value));
    while (left >= 128n) {
      this.#byte(Number(left & 0x7fn) + 0x80);
      left >>= 7n;
    }
    this.#byte(Number(left));
  }

  float32(value: number): void {
    scratch.setFloat32(0, value, true);
    for (let index = 0; index < 4; index += 1) this.#byte(scratch.getUint8(index));
  }

  float64(value: number): void {
    scratch.setFloat64(0, value, true);
    for (let index = 0; index < 8; index += 1) this.#byte(scratch.getUint8(index));
  }

  /** Bytes that are counted and not there. */
  hole(length: number): void {
    if (length <= 0) return;
    this.#holes.push({ start: this.size, length });
    this.#holeBytes += length;
  }

  /** What was written, as a file; holes read as zeros. */
  source(): ByteSource {
    const { size } = this;
    const bytes = this.#bytes.subarray(0, this.#length);
    const holes = this.#holes;
    return {
      size,
      read: (offset, length) => {
        const end = Math.min(offset + length, size);
        if (holes.length === 0) return bytes.subarray(offset, end);
        const read = new Uint8Array(Math.max(0, end - offset));
        let { index, before } = holesBefore(holes, offset);
        for (let at = offset; at < end; ) {
          const hole = holes[index];
          if (hole !== undefined && at >= hole.start) {
            at = Math.min(end, hole.start + hole.length);
            before += hole.length;
            index += 1;
            continue;
          }
          const until = Math.min(end, hole?.start ?? size);
          read.set(bytes.subarray(at - before, until - before), at - offset);
          at = until;
        }
        return read;
      },
    };
  }

  #byte(value: number): void {
    if (this.#length === this.#bytes.length) this.#reserve(1);
    this.#bytes[this.#length] = value;
    this.#length += 1;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + count));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

/** The first hole that ends after `offset`, and the bytes of the holes before it. */
function holesBefore(holes: readonly Hole[], offset: number): { index: number; before: number } {
  let before = 0;
  let index = 0;
  for (const hole of holes) {
    if (hole.start + hole.length > offset) break;
    before += hole.length;
    index += 1;
  }
  return { index, before };
}

const encoder = new TextEncoder();

const scratch = new DataView(new ArrayBuffer(8));
