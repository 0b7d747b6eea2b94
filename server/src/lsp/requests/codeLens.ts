/** `textDocument/codeLens`. Text of lenses: `language/codeLenses.ts`. */

import { codeLenses } from '../../language/codeLenses.ts';
import { stopIfCancelled } from '../answer.ts';
import { toCodeLens } from '../toProto.ts';
import type { Request } from './request.ts';

export const codeLens: Request = {
  capabilities: () => ({ codeLensProvider: {} }),
  serve: ({ connection, handler, documents, session }) => {
    connection.onCodeLens(
      handler('code lens', [], async ({ textDocument: { uri } }, token) => {
        const view = await documents.view(uri);
        stopIfCancelled(token);
        if (view === undefined) return [];
        return codeLenses(view).map((lens) => toCodeLens(lens, uri, session.options.hasCommands === true));
      }),
    );
  },
};
