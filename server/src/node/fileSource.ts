/**
 * A file on disk as a `ByteSource`: positioned reads of an open file, so that a model of several gigabytes is
 * opened by reading the few kilobytes that matter. A gzip-compressed model is unpacked in memory.
 */

import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname } from 'node:path';
import type Zlib from 'node:zlib';
import { type ByteSource, byteSourceOfBuffer } from '../formats/byteSource.ts';
import type { Issue } from '../model/issue.ts';
import { didYouMeanOneOf } from '../model/likelyNames.ts';

export interface OpenFile {
  readonly source: ByteSource;
  /** What happened to the file since it was opened, where that makes what was read wrong. Asked before closing. */
  readonly spoiled: () => Issue | undefined;
  readonly close: () => void;
}

export type FileResult =
  | { readonly kind: 'open'; readonly file: OpenFile }
  | { readonly kind: 'failed'; readonly issue: Issue };

/** Largest gzip file unpacked in memory; exported graphs without weights are a few megabytes. */
const largestCompressedFile = 512 * 2 ** 20;

/** A graph shrinks to a tenth; what unpacks to more than this and twenty times itself was made to fill the memory. */
const largestUnpacked = 64 * 2 ** 20;
const greatestRatio = 20;

/** A pipe or a terminal would otherwise be waited for until somebody writes to it. */
const openFlags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);

/** Opens `path` for reading. The caller closes it. */
export function openFileSource(path: string): FileResult {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, openFlags);
    const status = fstatSync(descriptor);
    const file = status.isFile() ? openFile(path, descriptor, status) : failed(path, notAFile(status));
    if (file.kind === 'failed') closeSync(descriptor);
    return file;
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    return failed(path, existsSync(path) ? reasonOf(error) : `${reasonOf(error)}${neighboursLike(path)}`);
  }
}

function openFile(path: string, descriptor: number, status: Stats): FileResult {
  let problem: string | undefined;
  const source = positionedSource(descriptor, status.size, (error) => {
    problem ??= reasonOf(error);
  });
  const file: OpenFile = {
    source,
    spoiled: () => {
      const reason = problem ?? (hasChanged(descriptor, status) ? changed : undefined);
      return reason === undefined ? undefined : unreadable(path, reason);
    },
    close: () => closeSync(descriptor),
  };
  if (!isGzip(source)) return { kind: 'open', file };
  if (status.size > largestCompressedFile) {
    return failed(path, 'it is compressed and larger than 512 MiB; unpack it with gunzip first');
  }
  const unpacked = gunzipSync(source.read(0, status.size), {
    maxOutputLength: Math.max(largestUnpacked, status.size * greatestRatio),
  });
  return { kind: 'open', file: { ...file, source: byteSourceOfBuffer(unpacked) } };
}

/** Loading the library takes as long as reading a small model, and few models are compressed. */
const gunzipSync: typeof Zlib.gunzipSync = (...given) => {
  const zlib: typeof Zlib = createRequire(import.meta.url)('node:zlib');
  return zlib.gunzipSync(...given);
};

/** Bytes that cannot be read are missing bytes to the reader; `onError` hears why. */
function positionedSource(descriptor: number, size: number, onError: (error: unknown) => void): ByteSource {
  return {
    size,
    read: (offset, length) => {
      const wanted = Math.max(0, Math.min(length, size - offset));
      const buffer = new Uint8Array(wanted);
      let filled = 0;
      try {
        while (filled < wanted) {
          const count = readSync(descriptor, buffer, filled, wanted - filled, offset + filled);
          if (count === 0) break;
          filled += count;
        }
      } catch (error) {
        onError(error);
      }
      return buffer.subarray(0, filled);
    },
  };
}

function hasChanged(descriptor: number, before: Stats): boolean {
  const now = fstatSync(descriptor);
  return now.size !== before.size || now.mtimeMs !== before.mtimeMs;
}

const changed = 'it changed while it was read; wait until it is written, then try again';

function isGzip(source: ByteSource): boolean {
  const [first, second] = source.read(0, 2);
  return first === 0x1f && second === 0x8b;
}

function notAFile(status: Stats): string {
  if (status.isDirectory()) return reasons.EISDIR ?? '';
  if (status.isFIFO()) return 'it is a pipe, but models are read by position; write it to a file first';
  return 'it is a device, not a file; give the path of a model file';
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file; check the path',
  ENOTDIR: 'a part of the path is not a folder; check the path',
  EACCES: 'permission is denied; check its access rights',
  EPERM: 'permission is denied; check its access rights',
  EISDIR: 'it is a folder; give the path of a model file',
  ELOOP: 'its links form a cycle; check where they point',
  ENAMETOOLONG: 'its path is too long; check the path',
  ENXIO: 'it is a socket or a device, not a file; give the path of a model file',
  EIO: 'its disk or network reports an error; copy it elsewhere',
  ESTALE: 'its network drive lost it; try again',
  EMFILE: 'too many files are open; close some programs',
  ERR_INVALID_ARG_VALUE: 'its path contains an invalid character; check the path',
  ERR_BUFFER_TOO_LARGE: 'it is compressed and unpacks to an implausible size; unpack it with gunzip first',
  Z_DATA_ERROR: 'it looks gzip-compressed but cannot be unpacked; copy or export it again',
  Z_BUF_ERROR: 'it looks gzip-compressed but ends too early; copy or export it again',
};

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return reasons[code] ?? `${error.message.split('\n', 1)[0]?.replace(/\.+$/, '')}; check the path`;
}

/** ` (did you mean …?)` with the names of files beside a path that are like its own, or ''. */
function neighboursLike(path: string): string {
  try {
    return didYouMeanOneOf(basename(path), readdirSync(dirname(path)));
  } catch {
    return '';
  }
}

const failed = (path: string, reason: string): FileResult => ({
  kind: 'failed',
  issue: unreadable(path, reason),
});

const unreadable = (path: string, reason: string): Issue => ({
  code: 'file/unreadable',
  severity: 'error',
  message: `cannot read ${basename(path) || path}: ${reason}`,
});
