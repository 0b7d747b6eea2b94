/**
 * Bytes of a file, read by position, so that a reader can skip what it does not need.
 *
 * Formats see only this interface: Node gives positioned reads of an open file, a browser gives a buffer.
 */
export interface ByteSource {
  readonly size: number;
  /** The bytes [offset, offset + length), shortened at the end of the file. Valid until the next call. */
  read(offset: number, length: number): Uint8Array;
}

export function byteSourceOfBuffer(buffer: Uint8Array): ByteSource {
  return {
    size: buffer.byteLength,
    read: (offset, length) => buffer.subarray(offset, Math.min(offset + length, buffer.byteLength)),
  };
}

/** The whole source as text. For textual formats, which are small. */
export function decodeText(source: ByteSource): string {
  return decodeBytes(source.read(0, source.size));
}

/** UTF-8, or UTF-16 where a byte-order mark says so, as some editors on Windows save it; the mark is dropped. */
export function decodeBytes(bytes: Uint8Array): string {
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe
      ? 'utf-16le'
      : bytes[0] === 0xfe && bytes[1] === 0xff
        ? 'utf-16be'
        : 'utf-8';
  return new TextDecoder(encoding).decode(bytes);
}

/** Whether the bytes begin with a mark of UTF-16; UTF-32, whose mark begins alike, is not read. */
export const startsWithUtf16Mark = (bytes: Uint8Array): boolean =>
  ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) &&
  !(bytes[2] === 0 && bytes[3] === 0);
