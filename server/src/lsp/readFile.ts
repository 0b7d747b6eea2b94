/** Opens a file by its address: the platform does where it can, else the client hands over the bytes. */

import type { Connection } from 'vscode-languageserver';
import { byteSourceOfBuffer } from '../formats/byteSource.ts';
import { formatBytes } from '../model/format.ts';
import { bytes } from '../model/units.ts';
import { type ReadBytesParams, type ReadBytesResult, readBytes } from '../protocol.ts';
import type { FileBounds, FileOpening, Platform } from './platform.ts';
import { fileName } from './virtualText.ts';

export type ReadFile = (uri: string, bounds?: FileBounds) => Promise<FileOpening>;

export function fileReader(
  connection: Pick<Connection, 'sendRequest'>,
  platform: Platform,
  clientReads: () => boolean,
): ReadFile {
  return async (uri, bounds) => {
    const own = platform.openFile(uri, bounds);
    if (own !== undefined) return own;
    if (!clientReads()) return unreadable(uri, 'the editor gives no access to it; save it to a local folder');
    const params: ReadBytesParams = {
      uri,
      encoding: platform.bytesEncoding,
      ...(bounds === undefined ? {} : { longest: bounds.longest }),
    };
    const answer = await connection.sendRequest<ReadBytesResult>(readBytes, params);
    if ('failure' in answer) return unreadable(uri, answer.failure);
    const buffer = typeof answer.bytes === 'string' ? fromBase64(answer.bytes) : answer.bytes;
    // A client of another version may not know the limit.
    if (bounds !== undefined && buffer.length > bounds.longest) return unreadable(uri, tooLong(bounds));
    return { kind: 'open', source: byteSourceOfBuffer(buffer), close: () => {} };
  };
}

export const tooLong = ({ longest }: FileBounds): string =>
  `it is longer than ${formatBytes(bytes(longest))}; check that it is the right file`;

export const unreadable = (uri: string, reason: string): FileOpening => ({
  kind: 'failed',
  issue: { code: 'file/unreadable', severity: 'error', message: `cannot read ${fileName(uri)}: ${reason}` },
});

function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const buffer = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) buffer[index] = binary.charCodeAt(index);
  return buffer;
}
