/** Opens a file by its address: the platform does where it can, else the client hands over the bytes. */

import type { Connection } from 'vscode-languageserver';
import { byteSourceOfBuffer } from '../formats/byteSource.ts';
import { type ReadBytesParams, type ReadBytesResult, readBytes } from '../protocol.ts';
import type { FileOpening, Platform } from './platform.ts';
import { fileName } from './virtualText.ts';

export type ReadFile = (uri: string) => Promise<FileOpening>;

export function fileReader(connection: Connection, platform: Platform, clientReads: () => boolean): ReadFile {
  return async (uri) => {
    const own = platform.openFile(uri);
    if (own !== undefined) return own;
    if (!clientReads()) return unreadable(uri, 'the editor gives no access to it; save it to a local folder');
    const params: ReadBytesParams = { uri, encoding: platform.bytesEncoding };
    const answer = await connection.sendRequest<ReadBytesResult>(readBytes, params);
    if ('failure' in answer) return unreadable(uri, answer.failure);
    const { bytes } = answer;
    const buffer = typeof bytes === 'string' ? fromBase64(bytes) : bytes;
    return { kind: 'open', source: byteSourceOfBuffer(buffer), close: () => {} };
  };
}

const unreadable = (uri: string, reason: string): FileOpening => ({
  kind: 'failed',
  issue: { code: 'file/unreadable', severity: 'error', message: `cannot read ${fileName(uri)}: ${reason}` },
});

function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const buffer = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) buffer[index] = binary.charCodeAt(index);
  return buffer;
}
