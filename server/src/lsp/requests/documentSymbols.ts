/** `textDocument/documentSymbol`. Names and details: `language/documentSymbols.ts`. */

import { documentSymbols as symbolsOf } from '../../language/documentSymbols.ts';
import { stopIfCancelled } from '../answer.ts';
import { toDocumentSymbol } from '../toProto.ts';
import type { Request } from './request.ts';

export const documentSymbols: Request = {
  capabilities: () => ({ documentSymbolProvider: true }),
  serve: ({ connection, handler, documents }) => {
    connection.onDocumentSymbol(
      handler('outline', [], async ({ textDocument }, token) => {
        const view = await documents.view(textDocument.uri);
        stopIfCancelled(token);
        return view === undefined ? [] : symbolsOf(view).map(toDocumentSymbol);
      }),
    );
  },
};
