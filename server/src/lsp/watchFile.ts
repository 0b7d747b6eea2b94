/** Asks the editor to report changes of one file; an editor that cannot watch files at run time is not asked. */

import type { Connection } from 'vscode-languageserver';
import { DidChangeWatchedFilesNotification } from './languageServer.ts';
import type { Session } from './session.ts';
import { fileName, folderOf } from './virtualText.ts';

export const fileWatcher =
  (connection: Connection, session: Session) =>
  async (uri: string): Promise<void> => {
    if (!session.client.workspace?.didChangeWatchedFiles?.dynamicRegistration) return;
    const watchers = [{ globPattern: { baseUri: folderOf(uri), pattern: fileName(uri) } }];
    await connection.client.register(DidChangeWatchedFilesNotification.type, { watchers });
  };
