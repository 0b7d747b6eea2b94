/** Zip archives as tests need them: right ones, and each with one thing wrong. */

import { crc32 } from '../../server/src/formats/pt2/crc32.ts';

export interface ZipPart {
  readonly path: string;
  readonly content: Uint8Array;
  readonly flags?: number;
  readonly method?: number;
  /** What the table of contents says in place of the truth. */
  readonly size?: number;
  readonly offset?: number;
  readonly checksum?: number;
  /** Sizes and offset stand in an extra field of 64 bits. */
  readonly zip64?: boolean;
}

const encoder = new TextEncoder();

export const textPart = (path: string, text: string): ZipPart => ({ path, content: encoder.encode(text) });

/** An archive with its entries stored (PKWARE APPNOTE 6.3.10, 4.3). `zip64` writes the end records of 64 bits. */
export function zipOf(parts: readonly ZipPart[], zip64 = false): Uint8Array {
  const pieces: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const part of parts) {
    const path = encoder.encode(part.path);
    const sum = part.checksum ?? crc32(part.content);
    const local = [u32(0x04034b50), u16(20), u16(part.flags ?? 0), u16(part.method ?? 0), u32(0), u32(sum)];
    const size = part.content.length;
    const header = join([...local, u32(size), u32(size), u16(path.length), u16(0), path, part.content]);
    directory.push(directoryEntry(part, path, sum, offset));
    pieces.push(header);
    offset += header.length;
  }
  const table = join(directory);
  return join([...pieces, table, ...endRecords(parts.length, table.length, offset, zip64)]);
}

function directoryEntry(part: ZipPart, path: Uint8Array, sum: number, at: number): Uint8Array {
  const size = part.size ?? part.content.length;
  const offset = part.offset ?? at;
  const large = part.zip64 === true;
  const extra = large ? join([u16(1), u16(24), u64(size), u64(size), u64(offset)]) : new Uint8Array();
  const field = (value: number): Uint8Array => u32(large ? 0xffffffff : value);
  return join([
    ...[u32(0x02014b50), u16(20), u16(20), u16(part.flags ?? 0), u16(part.method ?? 0), u32(0), u32(sum)],
    ...[field(size), field(size), u16(path.length), u16(extra.length), u16(0), u16(0), u16(0), u32(0)],
    ...[field(offset), path, extra],
  ]);
}

function endRecords(count: number, size: number, offset: number, zip64: boolean): readonly Uint8Array[] {
  const end = (entries: number, bytes: number, start: number): readonly Uint8Array[] => [
    ...[u32(0x06054b50), u16(0), u16(0), u16(entries), u16(entries), u32(bytes), u32(start), u16(0)],
  ];
  if (!zip64) return end(count, size, offset);
  const counts = [u64(count), u64(count), u64(size), u64(offset)];
  return [
    ...[u32(0x06064b50), u64(44), u16(45), u16(45), u32(0), u32(0), ...counts],
    ...[u32(0x07064b50), u32(0), u64(offset + size), u32(1)],
    ...end(0xffff, 0xffffffff, 0xffffffff),
  ];
}

const u16 = (value: number): Uint8Array => Uint8Array.of(value & 0xff, (value >>> 8) & 0xff);
const u32 = (value: number): Uint8Array => join([u16(value & 0xffff), u16(value >>> 16)]);
const u64 = (value: number): Uint8Array => join([u32(value >>> 0), u32(Math.floor(value / 2 ** 32))]);

function join(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
