/** `textDocument/signatureHelp`. Text: `signatureHelp` of the language's features. */

import type { SignatureHelpParams } from 'vscode-languageserver';
import { toSignatureHelp } from '../toProto.ts';
import type { Request } from './request.ts';

export const signatureHelp: Request = {
  capabilities: () => ({
    signatureHelpProvider: { triggerCharacters: ['(', ','], retriggerCharacters: ['='] },
  }),
  serve: ({ connection, handler, openTexts }) => {
    connection.onSignatureHelp(
      handler('signature help', null, (params: SignatureHelpParams) => {
        const text = openTexts.at(params);
        const help = text?.features.signatureHelp?.(text.offset);
        return help === undefined ? null : toSignatureHelp(help);
      }),
    );
  },
};
