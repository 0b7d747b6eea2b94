/** `textDocument/definition`, into included files too. */

import type { DefinitionParams, LocationLink } from 'vscode-languageserver';
import { rangeOfSpan, splitLines } from '../../language/textLines.ts';
import { rangeIn } from '../openTexts.ts';
import { resolvePath } from '../virtualText.ts';
import type { Request } from './request.ts';

export const definition: Request = {
  capabilities: () => ({ definitionProvider: true }),
  serve: ({ connection, handler, openTexts }) => {
    connection.onDefinition(
      handler('definition', null, (params: DefinitionParams): LocationLink[] | null => {
        const text = openTexts.at(params);
        const found = text?.features.definition?.(text.offset);
        if (text === undefined || found === undefined) return null;
        const { file } = found;
        const { uri } = text.document;
        const targetUri = file === undefined ? uri : resolvePath(uri, file.path);
        if (targetUri === undefined) return null;
        const lines = file === undefined ? text.lines : splitLines(file.text);
        return [
          {
            originSelectionRange: rangeIn(text, found.origin),
            targetUri,
            targetRange: rangeOfSpan(lines, found.whole),
            targetSelectionRange: rangeOfSpan(lines, found.target),
          },
        ];
      }),
    );
  },
};
