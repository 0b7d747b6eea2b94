/** Hands the server the files and folders it cannot open itself: in a browser, and on virtual file systems. */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  type ListFolderParams,
  type ListFolderResult,
  listFolder,
  type ReadBytesParams,
  type ReadBytesResult,
  readBytes,
} from '../../server/src/protocol.ts';

export const answerFileRequests = (client: BaseLanguageClient): vscode.Disposable =>
  vscode.Disposable.from(answerReadBytes(client), answerListFolder(client));

function answerListFolder(client: BaseLanguageClient): vscode.Disposable {
  return client.onRequest<ListFolderResult, void>(listFolder, async ({ uri }: ListFolderParams) => {
    try {
      const found = await vscode.workspace.fs.readDirectory(vscode.Uri.parse(uri));
      const isFolder = (type: vscode.FileType): boolean => (type & vscode.FileType.Directory) !== 0;
      return { entries: found.map(([name, type]) => ({ name, isFolder: isFolder(type) })) };
    } catch {
      return { entries: [] };
    }
  });
}

function answerReadBytes(client: BaseLanguageClient): vscode.Disposable {
  return client.onRequest<ReadBytesResult, void>(readBytes, async (asked: ReadBytesParams) => {
    const { uri, encoding, longest } = asked;
    try {
      if (longest !== undefined && (await vscode.workspace.fs.stat(vscode.Uri.parse(uri))).size > longest)
        return { failure: `it is longer than ${Math.round(longest / 1024)} KiB` };
      const bytes = await vscode.workspace.fs.readFile(vscode.Uri.parse(uri));
      return { bytes: encoding === 'binary' ? bytes : toBase64(bytes) };
    } catch (error) {
      return { failure: error instanceof Error ? error.message : String(error) };
    }
  });
}

/** In pieces, because a call takes only so many arguments. */
export function toBase64(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let start = 0; start < bytes.length; start += pieceLength)
    pieces.push(String.fromCharCode(...bytes.subarray(start, start + pieceLength)));
  return btoa(pieces.join(''));
}

const pieceLength = 0x8000;
