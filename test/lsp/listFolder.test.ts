/** What is in a folder: who looks, and what the client is asked. */

import { expect, test } from 'vitest';
import type { Connection } from 'vscode-languageserver';
import type { FolderEntry } from '../../server/src/language/textFeatures.ts';
import { folderLister } from '../../server/src/lsp/listFolder.ts';
import type { Platform } from '../../server/src/lsp/platform.ts';
import { listFolder } from '../../server/src/protocol.ts';

const uri = 'file:///models/blocks';
const own: readonly FolderEntry[] = [{ name: 'own.layers.yaml', isFolder: false }];
const ofClient: readonly FolderEntry[] = [{ name: 'theirs', isFolder: true }];
const request = [listFolder, { uri }];

/** By what the platform does and whether the client reads: what is in the folder, and what the client was asked. */
test.each<[string, Platform['listFolder'], boolean, readonly FolderEntry[], readonly unknown[]]>([
  ['the platform looks where it can', () => own, true, own, []],
  ['and does so alone', () => own, false, own, []],
  ['an empty folder is an answer', () => [], true, [], []],
  ['the client looks where the platform cannot', () => undefined, true, ofClient, [request]],
  ['and where the platform never looks', undefined, true, ofClient, [request]],
  ['a client that reads nothing is not asked', () => undefined, false, [], []],
  ['nobody looks', undefined, false, [], []],
])('%s', async (_, ofPlatform, clientReads, entries, asked) => {
  const requests: unknown[] = [];
  const connection: Pick<Connection, 'sendRequest'> = {
    sendRequest: (...sent: unknown[]) => {
      requests.push(sent);
      return Promise.resolve({ entries: ofClient } as never);
    },
  };
  const list = folderLister(
    connection,
    { bytesEncoding: 'base64', openFile: () => undefined, ...(ofPlatform && { listFolder: ofPlatform }) },
    () => clientReads,
  );
  expect([await list(uri), requests]).toEqual([entries, asked]);
});
