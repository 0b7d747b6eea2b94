/** `textDocument/references`, in other specs too where a name is shared with them. */

import type { ReferenceParams, TextDocumentPositionParams } from 'vscode-languageserver';
import type { RelatedTexts } from '../../language/textFeatures.ts';
import { rangeOfSpan } from '../../language/textLines.ts';
import { stopIfCancelled } from '../answer.ts';
import { rangeIn } from '../openTexts.ts';
import type { ServerContext } from '../serverContext.ts';
import type { Request } from './request.ts';

export const references: Request = {
  capabilities: () => ({ referencesProvider: true }),
  serve: (context) => {
    const { connection, handler, openTexts } = context;
    connection.onReferences(
      handler('references', [], async (params: ReferenceParams, token) => {
        const related = await textsThatShare(context, params);
        stopIfCancelled(token);
        const text = openTexts.at(params);
        if (text === undefined) return [];
        const { includeDeclaration } = params.context;
        const across =
          related && text.features.acrossFiles?.references(text.offset, includeDeclaration, related);
        if (across !== undefined) {
          return across.flatMap(({ address, text: lines, spans }) =>
            spans.map((span) => ({ uri: address, range: rangeOfSpan(lines, span) })),
          );
        }
        const found = text.features.references?.(text.offset, includeDeclaration) ?? [];
        return found.map((span) => ({ uri: text.document.uri, range: rangeIn(text, span) }));
      }),
    );
  },
};

/** The files that may use a name too; `undefined` where only its own file can. */
export async function textsThatShare(
  { openTexts, related }: ServerContext,
  params: TextDocumentPositionParams,
): Promise<RelatedTexts | undefined> {
  const text = openTexts.at(params);
  if (text?.features.acrossFiles?.isShared(text.offset) !== true) return undefined;
  return related.everywhere(params.textDocument.uri);
}
