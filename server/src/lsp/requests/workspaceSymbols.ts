/** `workspace/symbol`: layers of all open documents, by name. */

import { documentSymbols } from '../../language/documentSymbols.ts';
import { workspaceSymbols as symbolsMatching } from '../../language/workspaceSymbols.ts';
import { toWorkspaceSymbol } from '../toProto.ts';
import type { Request } from './request.ts';

export const workspaceSymbols: Request = {
  capabilities: () => ({ workspaceSymbolProvider: true }),
  serve: ({ connection, handler, documents, texts }) => {
    connection.onWorkspaceSymbol(
      handler('symbols', [], ({ query }) => {
        const open = texts.keys().flatMap((uri) => {
          const view = documents.shownView(uri);
          return view === undefined ? [] : [{ uri, symbols: documentSymbols(view) }];
        });
        return symbolsMatching(open, query).map(toWorkspaceSymbol);
      }),
    );
  },
};
