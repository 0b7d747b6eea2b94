/** `textDocument/didOpen`, `didChange`, `didSave` and `didClose`: a change costs the document again, and those that include it. */

import { TextDocumentSyncKind } from '../languageServer.ts';
import { modelBehind } from '../virtualText.ts';
import type { Request } from './request.ts';

export const textSynchronization: Request = {
  capabilities: () => ({
    textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
  }),
  serve: ({ connection, inBackground, texts, documents, includes, files, resting, shown }) => {
    const touchIncluders = (uri: string): void => {
      for (const model of includes.includers(uri)) {
        files.forget(model);
        for (const document of texts.all()) {
          const isShown = document.uri === model || modelBehind(document.uri) === model;
          if (isShown) documents.touch(document, 'other');
        }
      }
    };
    texts.onDidOpen(({ document }) => {
      shown.markSaved(document);
      documents.touch(document, 'other');
    });
    texts.onDidSave(({ document }) => {
      shown.markSaved(document);
      documents.touch(document, 'other');
    });
    texts.onDidChangeContent(({ document }) => {
      if (document.version > 1) {
        resting.typed(document.uri);
        documents.touch(document, 'keystroke');
      }
      touchIncluders(document.uri);
    });
    texts.onDidClose(({ document: { uri } }) => {
      documents.close(uri);
      resting.forget(uri);
      shown.forget(uri);
      includes.close(uri);
      includes.forget(uri);
      touchIncluders(uri);
      const source = modelBehind(uri);
      if (source !== undefined) files.forget(source);
      if (!shown.pullsDiagnostics())
        inBackground('clearing diagnostics', () => connection.sendDiagnostics({ uri, diagnostics: [] }));
    });
    texts.listen(connection);
  },
};
