/** `workspace/symbol`: layers of all open documents, by name. */

import { documentSymbols } from '../../language/documentSymbols.ts';
import {
  workspaceSymbols as symbolsMatching,
  type WorkspaceSymbol,
} from '../../language/workspaceSymbols.ts';
import { stopIfCancelled } from '../answer.ts';
import { toWorkspaceSymbol } from '../toProto.ts';
import type { Request } from './request.ts';

export const workspaceSymbols: Request = {
  capabilities: () => ({ workspaceSymbolProvider: true }),
  serve: ({ connection, handler, documents, texts }) => {
    connection.onWorkspaceSymbol(
      handler('symbols', [], async ({ query }, token) => {
        const found: WorkspaceSymbol[] = [];
        for (const uri of texts.keys()) {
          const view = documents.shownView(uri) ?? (await documents.view(uri));
          stopIfCancelled(token);
          if (view !== undefined)
            found.push(...symbolsMatching([{ uri, symbols: documentSymbols(view) }], query));
        }
        return found.map(toWorkspaceSymbol);
      }),
    );
  },
};
