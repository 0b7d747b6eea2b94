/** Reads the values of a header one behind the other, through a window, so that a long header costs little memory. */

import type { ByteSource } from '../byteSource.ts';

/** The header is not whole, or says what cannot be; the message says what and where. */
export class HeaderEnd extends Error {}

export class Cursor {
  readonly #source: ByteSource;
  #window = new DataView(new ArrayBuffer(0));
  /** Where the window begins in the file, and where the next value does. */
  #start = 0;
  #next = 0;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** Bytes of the file that are read or skipped. */
  get place(): number {
    return this.#next;
  }

  /** A whole number without sign, of up to four bytes. */
  unsigned(bytes: 1 | 2 | 4): number {
    return this.number({ bytes, kind: 'unsigned' });
  }

  /** A number; whole ones of eight bytes lose what a double cannot hold. */
  number({
    bytes,
    kind,
  }: {
    readonly bytes: 1 | 2 | 4 | 8;
    readonly kind: 'unsigned' | 'signed' | 'float';
  }): number {
    const at = this.#take(bytes);
    const view = this.#window;
    if (kind === 'float') return bytes === 8 ? view.getFloat64(at, true) : view.getFloat32(at, true);
    const isSigned = kind === 'signed';
    switch (bytes) {
      case 1:
        return isSigned ? view.getInt8(at) : view.getUint8(at);
      case 2:
        return isSigned ? view.getInt16(at, true) : view.getUint16(at, true);
      case 4:
        return isSigned ? view.getInt32(at, true) : view.getUint32(at, true);
      case 8:
        return Number(isSigned ? view.getBigInt64(at, true) : view.getBigUint64(at, true));
    }
  }

  /** How many of something follow, at most `most`. */
  count(what: string, most: number): number {
    const count = this.number({ bytes: 8, kind: 'unsigned' });
    if (count > most) throw new HeaderEnd(`it says to have ${count} ${what}, more than ${most}`);
    return count;
  }

  text(what: string): string {
    const length = this.number({ bytes: 8, kind: 'unsigned' });
    if (length > longestText)
      throw new HeaderEnd(`${what} is ${length} bytes long, more than ${longestText}`);
    const at = this.#take(length);
    return new TextDecoder().decode(
      new Uint8Array(this.#window.buffer, this.#window.byteOffset + at, length),
    );
  }

  skipText(): void {
    this.skip(this.number({ bytes: 8, kind: 'unsigned' }));
  }

  skip(bytes: number): void {
    this.#next += bytes;
    if (this.#next > this.#source.size) throw new HeaderEnd('it ends within its header');
  }

  /** The place in the window of the next `length` bytes, which are behind it then. */
  #take(length: number): number {
    const at = this.#next - this.#start;
    if (at >= 0 && at + length <= this.#window.byteLength) {
      this.#next += length;
      return at;
    }
    const read = this.#source.read(this.#next, Math.max(length, windowBytes));
    if (read.length < length) throw new HeaderEnd('it ends within its header');
    // The source may use its bytes again.
    this.#window = new DataView(read.slice().buffer);
    this.#start = this.#next;
    this.#next += length;
    return 0;
  }
}

const windowBytes = 2 ** 18;
/** Of a name, or of a template for chats, which is the longest text of real files. */
const longestText = 2 ** 24;
