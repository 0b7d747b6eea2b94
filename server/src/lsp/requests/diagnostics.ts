/** `textDocument/diagnostic`, for editors that request diagnostics. Text of diagnostics: `language/diagnostics.ts`. */

import {
  type DocumentDiagnosticParams,
  type DocumentDiagnosticReport,
  DocumentDiagnosticRequest,
  type ResponseError,
} from 'vscode-languageserver';
import { stopIfCancelled } from '../answer.ts';
import type { Request } from './request.ts';

export const diagnostics: Request = {
  capabilities: ({ shown }) =>
    shown.pullsDiagnostics()
      ? { diagnosticProvider: { interFileDependencies: false, workspaceDiagnostics: false } }
      : {},
  serve: ({ connection, handler, documents, shown }) => {
    connection.onRequest<DocumentDiagnosticReport | ResponseError<void>, void>(
      DocumentDiagnosticRequest.method,
      handler<DocumentDiagnosticParams, DocumentDiagnosticReport>(
        'diagnostics',
        { kind: 'full', items: [] },
        async ({ textDocument }, token) => {
          const view = await documents.view(textDocument.uri);
          stopIfCancelled(token);
          return { kind: 'full', items: view === undefined ? [] : shown.diagnosticsOf(view) };
        },
      ),
    );
  },
};
