/** What is in a folder: the platform looks where it can, else the client does. */

import type { Connection } from 'vscode-languageserver';
import type { FolderEntry } from '../language/textFeatures.ts';
import { type ListFolderParams, type ListFolderResult, listFolder } from '../protocol.ts';
import type { Platform } from './platform.ts';

/** Entries of a folder by its address; none where it cannot be read. */
export type ListFolder = (uri: string) => Promise<readonly FolderEntry[]>;

export function folderLister(
  connection: Pick<Connection, 'sendRequest'>,
  platform: Platform,
  clientReads: () => boolean,
): ListFolder {
  return async (uri) => {
    const own = platform.listFolder?.(uri);
    if (own !== undefined) return own;
    if (!clientReads()) return [];
    const params: ListFolderParams = { uri };
    const { entries } = await connection.sendRequest<ListFolderResult>(listFolder, params);
    return entries;
  };
}
