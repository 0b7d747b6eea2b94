/** `textDocument/codeLens`. Text of lenses: `language/codeLenses.ts`. */

import { type CodeLens, codeLenses } from '../../language/codeLenses.ts';
import { diagnostics } from '../../language/diagnostics.ts';
import type { ModelView } from '../../language/modelView.ts';
import { stopIfCancelled } from '../answer.ts';
import { toCodeLens } from '../toProto.ts';
import { modelBehind } from '../virtualText.ts';
import type { Request } from './request.ts';

export const codeLens: Request = {
  capabilities: () => ({ codeLensProvider: {} }),
  serve: ({ connection, handler, documents, session }) => {
    connection.onCodeLens(
      handler('code lens', [], async ({ textDocument: { uri } }, token) => {
        const view = await documents.view(uri);
        stopIfCancelled(token);
        if (view === undefined) return [];
        const hasCommands = session.options.hasCommands === true;
        const others = hasCommands ? fixesLens(uri, view) : [];
        return codeLenses(view, others).map((lens) => toCodeLens(lens, uri, hasCommands));
      }),
    );
  },
};

/** An editor offers no quick fixes in a read-only text; a lens leads to those that change settings. */
function fixesLens(uri: string, view: ModelView): readonly CodeLens[] {
  const hasFix = diagnostics(view).some(({ change, unset }) => change !== undefined || unset !== undefined);
  return modelBehind(uri) === undefined || !hasFix
    ? []
    : [{ line: 0, title: 'Quick fixes…', action: 'list-fixes' }];
}
