/**
 * The table of contents of a zip archive, and single entries that are stored as they are.
 *
 * Source: PKWARE's APPNOTE 6.3.10, sections 4.3 and 4.5.3 (zip64). Nothing is unpacked: `torch.export.save` stores, so
 * that no archive grows when it is read. Every length is checked against the file before it is used.
 */

import { byteAt } from '../../model/at.ts';
import type { ByteSource } from '../byteSource.ts';
import { crc32 } from './crc32.ts';

export interface ZipEntry {
  /** Path inside the archive, with `/` between folders. */
  readonly path: string;
  /** Bytes of the contents. */
  readonly size: number;
  readonly storedSize: number;
  /** 0 for stored as it is, 8 for deflated. */
  readonly method: number;
  readonly isEncrypted: boolean;
  readonly checksum: number;
  /** Where its local header begins. */
  readonly offset: number;
}

/** What was read, or one sentence that says why not, to follow "The archive". */
export type ZipRead<Value> = { readonly value: Value } | { readonly problem: string };

/** A table of contents of this length names about a million weights. */
const longestDirectory = 2 ** 26;
const mostEntries = 2 ** 20;
const endRecordBytes = 22;
const locatorBytes = 20;
const zip64EndBytes = 56;
const entryBytes = 46;
const localBytes = 30;
const longestComment = 0xffff;

/** The entries of an archive in the order of its table of contents. Never throws. */
export function readZipDirectory(source: ByteSource): ZipRead<readonly ZipEntry[]> {
  const place = findDirectory(source);
  if ('problem' in place) return place;
  const { offset, size, count } = place.value;
  if (size > longestDirectory || count > mostEntries) {
    return failed(`lists ${count} entries, more than any model has: it is corrupt or malicious`);
  }
  if (offset + size > source.size || count * entryBytes > size) return failed(truncated);
  const directory = source.read(offset, size).slice();
  const entries: ZipEntry[] = [];
  let position = 0;
  for (let index = 0; index < count; index += 1) {
    const entry = readEntryOfDirectory(directory, position);
    if ('problem' in entry) return entry;
    entries.push(entry.value.entry);
    position = entry.value.end;
  }
  const problem = problemOfEntries(entries, offset);
  return problem === undefined ? { value: entries } : failed(problem);
}

/** The bytes of one entry of at most `limit` bytes. Never throws. */
export function readStoredEntry(source: ByteSource, entry: ZipEntry, limit: number): ZipRead<Uint8Array> {
  if (entry.isEncrypted)
    return failed(`encrypts \`${shown(entry.path)}\`: save the model without a password`);
  if (entry.method !== 0 || entry.size !== entry.storedSize) {
    return failed(
      `compresses \`${shown(entry.path)}\`: save the model with \`torch.export.save\`, which does not`,
    );
  }
  if (entry.size > limit) {
    return failed(
      `holds ${entry.size} bytes in \`${shown(entry.path)}\`, more than ${limit}: no model needs as many, it is corrupt or malicious`,
    );
  }
  const header = source.read(entry.offset, localBytes);
  if (header.length < localBytes || uint32(header, 0) !== 0x04034b50) {
    return failed(`has no \`${shown(entry.path)}\` where it says so: copy or export the model again`);
  }
  const start = entry.offset + localBytes + uint16(header, 26) + uint16(header, 28);
  const bytes = source.read(start, entry.size).slice();
  if (bytes.length < entry.size) return failed(truncated);
  if (crc32(bytes) !== entry.checksum) {
    return failed(`has damaged bytes in \`${shown(entry.path)}\`: copy or export the model again`);
  }
  return { value: bytes };
}

interface DirectoryPlace {
  readonly offset: number;
  readonly size: number;
  readonly count: number;
}

const truncated = 'ends too early: copy or export the model again';

function findDirectory(source: ByteSource): ZipRead<DirectoryPlace> {
  const length = Math.min(source.size, endRecordBytes + longestComment);
  const start = source.size - length;
  const tail = source.read(start, length).slice();
  for (let at = length - endRecordBytes; at >= 0; at -= 1) {
    if (uint32(tail, at) !== 0x06054b50 || at + endRecordBytes + uint16(tail, at + 20) !== length) continue;
    const place = {
      count: uint16(tail, at + 10),
      size: uint32(tail, at + 12),
      offset: uint32(tail, at + 16),
    };
    const isLarge = place.count === 0xffff || place.size === 0xffffffff || place.offset === 0xffffffff;
    return isLarge ? findLargeDirectory(source, start + at) : { value: place };
  }
  return failed(truncated);
}

/** Section 4.3.14 and 4.3.15: a locator before the end record says where the record of 64 bits is. */
function findLargeDirectory(source: ByteSource, endRecord: number): ZipRead<DirectoryPlace> {
  const locator = endRecord < locatorBytes ? undefined : source.read(endRecord - locatorBytes, locatorBytes);
  if (locator === undefined || uint32(locator, 0) !== 0x07064b50) return failed(truncated);
  const record = source.read(uint64(locator, 8), zip64EndBytes);
  if (record.length < zip64EndBytes || uint32(record, 0) !== 0x06064b50) return failed(truncated);
  return { value: { count: uint64(record, 32), size: uint64(record, 40), offset: uint64(record, 48) } };
}

function readEntryOfDirectory(
  directory: Uint8Array,
  at: number,
): ZipRead<{ readonly entry: ZipEntry; readonly end: number }> {
  if (at + entryBytes > directory.length || uint32(directory, at) !== 0x02014b50) return failed(truncated);
  const extraStart = at + entryBytes + uint16(directory, at + 28);
  const commentStart = extraStart + uint16(directory, at + 30);
  const end = commentStart + uint16(directory, at + 32);
  if (end > directory.length) return failed(truncated);
  const path = new TextDecoder().decode(directory.subarray(at + entryBytes, extraStart));
  const large = largeFields(directory.subarray(extraStart, commentStart));
  let taken = 0;
  const field = (value: number): number => {
    if (value !== 0xffffffff) return value;
    taken += 1;
    return large[taken - 1] ?? Number.NaN;
  };
  const size = field(uint32(directory, at + 24));
  const storedSize = field(uint32(directory, at + 20));
  const offset = field(uint32(directory, at + 42));
  if (![size, storedSize, offset].every(Number.isSafeInteger)) return failed(truncated);
  const entry = {
    path,
    size,
    storedSize,
    offset,
    method: uint16(directory, at + 10),
    isEncrypted: (uint16(directory, at + 8) & 0x41) !== 0,
    checksum: uint32(directory, at + 16),
  };
  return { value: { entry, end } };
}

/** Section 4.5.3: the extra field 1 has, in this order, those of size, stored size and offset that need 64 bits. */
function largeFields(extra: Uint8Array): readonly number[] {
  for (let at = 0; at + 4 <= extra.length; at += 4 + uint16(extra, at + 2)) {
    if (uint16(extra, at) !== 1) continue;
    const end = Math.min(extra.length, at + 4 + uint16(extra, at + 2));
    const fields: number[] = [];
    for (let field = at + 4; field + 8 <= end; field += 8) fields.push(uint64(extra, field));
    return fields;
  }
  return [];
}

/** What no writer of models makes: paths out of the archive, names that stand twice, contents that overlap. */
function problemOfEntries(entries: readonly ZipEntry[], directory: number): string | undefined {
  const paths = new Set<string>();
  for (const { path } of entries) {
    const leaves = path.startsWith('/') || /[\\\0]|^[A-Za-z]:/.test(path) || path.split('/').includes('..');
    if (leaves) return `has the path \`${shown(path)}\`, which leads out of it: it is malicious`;
    if (paths.has(path)) return `has \`${shown(path)}\` twice: it is corrupt or malicious`;
    paths.add(path);
  }
  const inOrder = entries.toSorted((left, right) => left.offset - right.offset);
  for (const [index, { path, offset, storedSize }] of inOrder.entries()) {
    const next = inOrder[index + 1];
    if (offset + localBytes + storedSize > (next?.offset ?? directory)) {
      return `has contents of \`${shown(path)}\` that overlap others: it is corrupt or malicious`;
    }
  }
  return undefined;
}

const failed = (problem: string): { readonly problem: string } => ({ problem });

/** A path from a file, on one line and short. */
const shown = (path: string): string => path.replace(/[\p{Cc}`]/gu, '?').slice(0, 80);

const uint16 = (bytes: Uint8Array, at: number): number => byteAt(bytes, at) | (byteAt(bytes, at + 1) << 8);

const uint32 = (bytes: Uint8Array, at: number): number =>
  (uint16(bytes, at) | (uint16(bytes, at + 2) << 16)) >>> 0;

/** Exact up to 2⁵³; no file is longer. */
const uint64 = (bytes: Uint8Array, at: number): number => uint32(bytes, at) + uint32(bytes, at + 4) * 2 ** 32;
