/** `textDocument/documentHighlight`: where a name is written and where it is read. */

import type { DocumentHighlightParams } from 'vscode-languageserver';
import { DocumentHighlightKind } from '../languageServer.ts';
import { rangeIn } from '../openTexts.ts';
import type { Request } from './request.ts';

export const documentHighlights: Request = {
  capabilities: () => ({ documentHighlightProvider: true }),
  serve: ({ connection, handler, openTexts }) => {
    connection.onDocumentHighlight(
      handler('highlights', [], (params: DocumentHighlightParams) => {
        const text = openTexts.at(params);
        if (text === undefined) return [];
        const { features, offset } = text;
        const uses = new Set(features.references?.(offset, false).map(({ start }) => start));
        return (features.references?.(offset, true) ?? []).map((span) => ({
          range: rangeIn(text, span),
          kind: uses.has(span.start) ? DocumentHighlightKind.Read : DocumentHighlightKind.Write,
        }));
      }),
    );
  },
};
