/** `textDocument/documentLink`: paths of included files. */

import type { DocumentLinkParams } from 'vscode-languageserver';
import { rangeIn } from '../openTexts.ts';
import { resolvePath } from '../virtualText.ts';
import type { Request } from './request.ts';

export const documentLinks: Request = {
  capabilities: () => ({ documentLinkProvider: {} }),
  serve: ({ connection, handler, openTexts }) => {
    connection.onDocumentLinks(
      handler('links', [], ({ textDocument: { uri } }: DocumentLinkParams) => {
        const text = openTexts.of(uri);
        if (text === undefined) return [];
        return (text.features.links?.() ?? []).flatMap(({ span, path }) => {
          const target = resolvePath(uri, path);
          return target === undefined ? [] : [{ range: rangeIn(text, span), target }];
        });
      }),
    );
  },
};
