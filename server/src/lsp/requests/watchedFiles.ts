/** `workspace/didChangeWatchedFiles`: a file behind an open document changed on disk. */

import { modelBehind } from '../virtualText.ts';
import type { Request } from './request.ts';

export const watchedFiles: Request = {
  serve: ({ connection, inBackground, texts, documents, files, clusters, frameworks, includes }) => {
    connection.onDidChangeWatchedFiles(({ changes }) =>
      inBackground('reading changed files', async () => {
        for (const change of changes) {
          files.forget(change.uri);
          for (const model of includes.includers(change.uri)) files.forget(model);
          clusters.forget(change.uri);
          frameworks.forget(change.uri);
          includes.forget(change.uri);
          for (const uri of texts.keys().filter((key) => modelBehind(key) === change.uri))
            await connection.workspace.textDocumentContent.refresh(uri);
        }
        for (const document of texts.all()) documents.touch(document, 'other');
      }),
    );
  },
};
