/**
 * `textDocument/hover`. Text of a layer's cost: `language/hover.ts`. Text of a word (a layer type, an argument):
 * `hover` of the language's features, such as `language/layer-spec/hoverSpec.ts`.
 */

import type { HoverParams } from 'vscode-languageserver';
import { hover as hoverOfCost } from '../../language/hover.ts';
import { stopIfCancelled } from '../answer.ts';
import { toHover } from '../toProto.ts';
import type { Request } from './request.ts';

export const hover: Request = {
  capabilities: () => ({ hoverProvider: true }),
  serve: ({ connection, handler, documents, openTexts }) => {
    connection.onHover(
      handler('hover', null, async (params: HoverParams, token) => {
        const view = await documents.view(params.textDocument.uri);
        stopIfCancelled(token);
        const text = openTexts.at(params);
        const found =
          text?.features.hover?.(text.offset, view) ?? (view && hoverOfCost(view, params.position));
        return found === undefined ? null : toHover(found);
      }),
    );
  },
};
