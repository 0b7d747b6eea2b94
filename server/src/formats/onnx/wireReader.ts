/**
 * Protobuf's wire format over a file read by position: what is not asked for is jumped over, not read.
 *
 * The first thing that is wrong is kept in `problem` and ends every loop: nothing throws, nothing runs past the
 * end. Source: protobuf.dev, "Encoding".
 *
 * Measured beside the static module that pbjs 2.7 makes of `onnx-ml.proto` (protobufjs 8.8, a Buffer), whole files, cold:
 * 17,051 nodes take it 200 to 430 ms and the reader with its tree 270 to 390; names that are met again are one string here,
 * and equal attributes are read once. It would add 106 kB to each of three bundles, and still read all payloads.
 */

import type { ByteSource } from '../byteSource.ts';

export interface WireProblem {
  /** `truncated`: the file ends too early; `malformed`: the bytes are not protobuf; `depth`: nested too deep. */
  readonly kind: 'truncated' | 'malformed' | 'depth';
  /** Offset in the file. */
  readonly offset: number;
  readonly what: string;
}

export const wireTypes = { varint: 0, fixed64: 1, length: 2, fixed32: 5 } as const;

/** Protobuf's own default limit of message nesting. */
const maximumDepth = 100;
/** Read-ahead starts small after a jump and doubles while reading goes on, so that jumps cost little. */
const smallestChunk = 4 * 1024;
const largestChunk = 512 * 1024;
/** Of a window read after a jump, too little is read to decode it as a whole. */
const shortestText = 16 * 1024;
/** Longer texts and messages are not kept to be recognized. */
const longestName = 256;
/** From here on, a length takes more than one byte. */
const longestShort = 0x80;
/** Highest field number protobuf allows. */
const highestField = 2 ** 29 - 1;

export class WireReader {
  /** Offset of the next byte. */
  position = 0;
  /** Number, wire type and offset of the current field. */
  field = 0;
  wireType = 0;
  fieldOffset = 0;
  problem: WireProblem | undefined;

  readonly #source: ByteSource;
  #end: number;
  #depth = 0;
  #chunk = smallestChunk;
  #window: Uint8Array = new Uint8Array(0);
  #windowStart = 0;
  #windowEnd = 0;
  /** Latin-1 text of the window, once a name was read from it. */
  #windowText: string | undefined;
  /** Names met before, by their bytes in Latin-1. */
  readonly #texts = new Map<string, string>();

  constructor(source: ByteSource) {
    this.#source = source;
    this.#end = source.size;
  }

  /** Moves to the next field of the message that ends at `end`; false at its end or once something is wrong. */
  nextField(end: number): boolean {
    const { position } = this;
    if (position >= end || this.problem !== undefined) return this.nextElement(end);
    this.#end = end;
    this.fieldOffset = position;
    // Nearly every tag is one byte in the window.
    const ahead = position < this.#windowEnd ? this.#window[position - this.#windowStart] : undefined;
    if (ahead !== undefined && ahead >= 8 && ahead < 0x80) {
      this.position = position + 1;
      this.field = ahead >>> 3;
      this.wireType = ahead & 7;
      return true;
    }
    const tag = this.unsigned();
    this.field = Math.floor(tag / 8);
    this.wireType = tag % 8;
    if (this.problem !== undefined) return false;
    if (this.field < 1 || this.field > highestField) {
      return this.#fail('malformed', `field number ${this.field} is not possible`);
    }
    return true;
  }

  /** Whether a message or packed list that ends at `end` goes on here. */
  nextElement(end: number): boolean {
    if (this.problem !== undefined || this.position === end) return false;
    return this.position < end || this.#fail('malformed', 'a value runs past the end of its message');
  }

  /** Steps into a nested message or payload: returns where it ends, at most the end of the enclosing one. */
  lengthDelimited(): number {
    const length = this.unsigned();
    const end = this.position + length;
    if (this.problem !== undefined) return this.#source.size;
    if (end > this.#end) {
      this.#fail(
        this.#end >= this.#source.size ? 'truncated' : 'malformed',
        `${length.toLocaleString('en-US')} bytes are announced, ${(this.#end - this.position).toLocaleString('en-US')} are left`,
      );
      return this.#source.size;
    }
    return end;
  }

  /** A signed 64-bit varint; saturates at ±(2^53 − 1). */
  signed(): number {
    return this.#varint(true);
  }

  /** An unsigned 64-bit varint; saturates at 2^53 − 1. */
  unsigned(): number {
    return this.#varint(false);
  }

  fixed32(): number {
    return this.#view(4)?.getUint32(0, true) ?? 0;
  }

  float32(): number {
    return this.#view(4)?.getFloat32(0, true) ?? 0;
  }

  float64(): number {
    return this.#view(8)?.getFloat64(0, true) ?? 0;
  }

  /** The next bytes. Valid until the next read. */
  bytes(length: number): Uint8Array {
    if (!this.#available(length)) return new Uint8Array(0);
    const start = this.position - this.#windowStart;
    this.position += length;
    return this.#window.subarray(start, start + length);
  }

  /**
   * Text of the current field; invalid UTF-8 becomes U+FFFD. Equal texts are one string: a graph is names met again
   * and again, and looking up a string is quickest where it is the very one that was stored.
   */
  string(): string {
    const start = this.#passText();
    const length = this.position - this.#windowStart - start;
    if (length > longestName) return decoder.decode(this.#window.subarray(start, start + length));
    const bytes = this.#latin1(start, length);
    const known = this.#texts.get(bytes);
    if (known !== undefined) return known;
    const text = this.#decode(bytes, start, length);
    this.#texts.set(bytes, text);
    return text;
  }

  /** As `string`, for a text that is hardly met again and not looked up, such as the name of a node: it is not kept. */
  uniqueString(): string {
    const start = this.#passText();
    const length = this.position - this.#windowStart - start;
    if (length > longestName) return decoder.decode(this.#window.subarray(start, start + length));
    return this.#decode(this.#latin1(start, length), start, length);
  }

  /** Moves behind the text of the current field; gives where in the window it begins. */
  #passText(): number {
    // Nearly every name is short and in the window.
    const at = this.position - this.#windowStart;
    const short = at >= 0 ? (this.#window[at] ?? longestShort) : longestShort;
    const end = this.position + 1 + short;
    if (short < longestShort && end <= this.#windowEnd && end <= this.#end && this.problem === undefined) {
      this.position = end;
      return at + 1;
    }
    const length = this.lengthDelimited() - this.position;
    if (!this.#available(length)) return this.position - this.#windowStart;
    this.position += length;
    return this.position - length - this.#windowStart;
  }

  #decode(bytes: string, start: number, length: number): string {
    return beyondAscii.test(bytes) ? decoder.decode(this.#window.subarray(start, start + length)) : bytes;
  }

  /**
   * The bytes of the short message that ends at `end`, as a text to know it by; `undefined` where it is long. The
   * position stays in front of it.
   */
  messageKey(end: number): string | undefined {
    const length = end - this.position;
    if (length > longestName || length < 0 || !this.#available(length)) return undefined;
    return this.#latin1(this.position - this.#windowStart, length);
  }

  /** Bytes as a text in which equal bytes are equal characters: V8 hashes and compares texts faster than we do bytes. */
  #latin1(start: number, length: number): string {
    const window = this.#window;
    // A window of which little is read is not worth decoding, nor keeping as the text that names are cut from.
    if (window.length < shortestText) return latin1.decode(window.subarray(start, start + length));
    this.#windowText ??= latin1.decode(window);
    return this.#windowText.slice(start, start + length);
  }

  /** Jumps over the value of the current field. */
  skip(): void {
    switch (this.wireType) {
      case wireTypes.varint:
        this.unsigned();
        return;
      case wireTypes.fixed64:
        this.#jump(8);
        return;
      case wireTypes.length:
        this.position = this.lengthDelimited();
        return;
      case wireTypes.fixed32:
        this.#jump(4);
        return;
      default:
        this.#fail('malformed', `wire type ${this.wireType} is not used by ONNX`);
    }
  }

  /** Opens one more level of nesting; false, and a problem, where the file nests too deep. */
  enter(): boolean {
    if (this.#depth >= maximumDepth) {
      return this.#fail('depth', `messages are nested more than ${maximumDepth} deep`);
    }
    this.#depth += 1;
    return true;
  }

  leave(): void {
    this.#depth -= 1;
  }

  /** Says that what was read here cannot be, and ends the reading. */
  refuse(what: string): void {
    this.#fail('malformed', what);
  }

  /** Records the first problem and moves to the end of the file, so that every loop over fields ends. */
  #fail(kind: WireProblem['kind'], what: string): false {
    this.problem ??= { kind, offset: this.fieldOffset, what };
    this.position = this.#source.size;
    return false;
  }

  #jump(length: number): void {
    if (this.position + length > this.#end) {
      this.#fail(this.#end >= this.#source.size ? 'truncated' : 'malformed', 'a value is cut off');
    } else {
      this.position += length;
    }
  }

  #view(length: number): DataView | undefined {
    const bytes = this.bytes(length);
    return bytes.length === length
      ? new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      : undefined;
  }

  #varint(signed: boolean): number {
    if (this.position >= this.#windowStart && this.position < this.#windowEnd) {
      const byte = this.#window[this.position - this.#windowStart] ?? 0;
      if (byte < 0x80) {
        this.position += 1;
        return byte;
      }
    }
    let low = 0;
    let middle = 0;
    let high = 0;
    for (let index = 0; index < 10; index++) {
      if (this.position >= this.#windowEnd || this.position < this.#windowStart) {
        if (!this.#available(1)) return 0;
      }
      const byte = this.#window[this.position - this.#windowStart] ?? 0;
      this.position += 1;
      if (index < 4) low |= (byte & 0x7f) << (7 * index);
      else if (index < 8) middle |= (byte & 0x7f) << (7 * (index - 4));
      else high |= (byte & 0x7f) << (7 * (index - 8));
      if (byte < 0x80) {
        if (index < 4) return low;
        return signed && (high & 0x80) !== 0
          ? Math.max(-join(~low & 0xfffffff, ~middle & 0xfffffff, ~high & 0xff) - 1, Number.MIN_SAFE_INTEGER)
          : join(low, middle, high & 0xff);
      }
    }
    this.#fail('malformed', 'a number is longer than 64 bits');
    return 0;
  }

  /** Makes the next `length` bytes available in the window. */
  #available(length: number): boolean {
    if (this.problem !== undefined) return false;
    if (this.position >= this.#windowStart && this.position + length <= this.#windowEnd) return true;
    const goesOn = this.position >= this.#windowStart && this.position <= this.#windowEnd;
    this.#chunk = goesOn ? Math.min(this.#chunk * 2, largestChunk) : smallestChunk;
    this.#window = this.#source.read(this.position, Math.max(length, this.#chunk));
    this.#windowText = undefined;
    this.#windowStart = this.position;
    this.#windowEnd = this.position + this.#window.length;
    return this.#window.length >= length || this.#fail('truncated', 'the file ends inside a value');
  }
}

/** 28 + 28 + 8 bits as a number of at most 2^53 − 1. */
function join(low: number, middle: number, high: number): number {
  return Math.min(low + middle * 2 ** 28 + high * 2 ** 56, Number.MAX_SAFE_INTEGER);
}

const decoder = new TextDecoder();
/** One character for each byte. */
const latin1 = new TextDecoder('latin1');
const beyondAscii = /[\u0080-\uffff]/;
