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

/** The whole source as text (UTF-8, a byte-order mark dropped). For textual formats, which are small. */
export function decodeText(source: ByteSource): string {
  return new TextDecoder().decode(source.read(0, source.size));
}
