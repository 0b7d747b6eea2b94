/**
 * A file on disk as a `ByteSource`: positioned reads of an open file, so that a model of several gigabytes is
 * opened by reading the few kilobytes that matter. A gzip-compressed model is unpacked in memory.
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type ByteSource, byteSourceOfBuffer } from '../formats/byteSource.ts';
import type { Issue } from '../model/issue.ts';

export interface OpenFile {
  readonly source: ByteSource;
  readonly close: () => void;
}

export type FileResult =
  | { readonly kind: 'open'; readonly file: OpenFile }
  | { readonly kind: 'failed'; readonly issue: Issue };

/** Largest gzip file unpacked in memory; exported graphs without weights are a few megabytes. */
const largestCompressedFile = 512 * 2 ** 20;

/** Opens `path` for reading. The caller closes it. */
export function openFileSource(path: string): FileResult {
  try {
    const descriptor = openSync(path, 'r');
    const status = fstatSync(descriptor);
    if (!status.isFile()) {
      closeSync(descriptor);
      return failed(path, 'it is not a regular file; give the path of a model file');
    }
    const source = positionedSource(descriptor, status.size);
    if (!isGzip(source)) return { kind: 'open', file: { source, close: () => closeSync(descriptor) } };
    if (status.size > largestCompressedFile) {
      closeSync(descriptor);
      return failed(path, 'it is compressed and larger than 512 MiB; unpack it with gunzip first');
    }
    const compressed = source.read(0, status.size);
    closeSync(descriptor);
    return { kind: 'open', file: { source: byteSourceOfBuffer(gunzipSync(compressed)), close: () => {} } };
  } catch (error) {
    return failed(path, reasonOf(error));
  }
}

function positionedSource(descriptor: number, size: number): ByteSource {
  return {
    size,
    read: (offset, length) => {
      const wanted = Math.max(0, Math.min(length, size - offset));
      const buffer = new Uint8Array(wanted);
      let filled = 0;
      while (filled < wanted) {
        const count = readSync(descriptor, buffer, filled, wanted - filled, offset + filled);
        if (count === 0) return buffer.subarray(0, filled);
        filled += count;
      }
      return buffer;
    },
  };
}

function isGzip(source: ByteSource): boolean {
  const [first, second] = source.read(0, 2);
  return first === 0x1f && second === 0x8b;
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file; check the path',
  EACCES: 'permission is denied; check its access rights',
  EISDIR: 'it is a folder; give the path of a model file',
  Z_DATA_ERROR: 'it looks gzip-compressed but cannot be unpacked; copy or export it again',
  Z_BUF_ERROR: 'it looks gzip-compressed but ends too early; copy or export it again',
};

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return reasons[code] ?? error.message;
}

function failed(path: string, reason: string): FileResult {
  return {
    kind: 'failed',
    issue: {
      code: 'file/unreadable',
      severity: 'error',
      message: `cannot read ${basename(path)}: ${reason}`,
    },
  };
}
