/** `textDocument/diagnostic`, for editors that request diagnostics. Text of diagnostics: `language/diagnostics.ts`. */

import type {
  DocumentDiagnosticParams,
  DocumentDiagnosticReport,
  ResponseError,
} from 'vscode-languageserver';
import { stopIfCancelled } from '../answer.ts';
import { DocumentDiagnosticRequest } from '../languageServer.ts';
import type { Request } from './request.ts';

export const diagnostics: Request = {
  capabilities: ({ shown }) =>
    shown.pullsDiagnostics()
      ? { diagnosticProvider: { interFileDependencies: false, workspaceDiagnostics: false } }
      : {},
  serve: ({ connection, handler, texts, documents, resting, shown }) => {
    connection.onRequest<DocumentDiagnosticReport | ResponseError<void>, void>(
      DocumentDiagnosticRequest.method,
      handler<DocumentDiagnosticParams, DocumentDiagnosticReport>(
        'diagnostics',
        { kind: 'full', items: [] },
        async ({ textDocument }, token) => {
          await resting.rested(textDocument.uri);
          stopIfCancelled(token);
          const view = await documents.view(textDocument.uri);
          stopIfCancelled(token);
          const document = texts.get(textDocument.uri);
          const isShown = view !== undefined && document !== undefined;
          return { kind: 'full', items: isShown ? shown.diagnosticsOf(document, view) : [] };
        },
      ),
    );
  },
};
