/** `textDocument/semanticTokens/full` and `range`. */

import type { SemanticTokensParams, SemanticTokensRangeParams } from 'vscode-languageserver';
import { semanticLegend, toSemanticTokens } from '../toProto.ts';
import type { Request } from './request.ts';

export const semanticTokens: Request = {
  capabilities: () => ({ semanticTokensProvider: { legend: semanticLegend, full: true, range: true } }),
  serve: ({ connection, handler, openTexts }) => {
    const { semanticTokens: tokens } = connection.languages;
    tokens.on(
      handler('semantic tokens', { data: [] }, ({ textDocument }: SemanticTokensParams) => {
        const text = openTexts.of(textDocument.uri);
        return toSemanticTokens(text?.lines, text?.features.tokens?.() ?? []);
      }),
    );
    tokens.onRange(
      handler('semantic tokens', { data: [] }, ({ textDocument, range }: SemanticTokensRangeParams) => {
        const text = openTexts.of(textDocument.uri);
        if (text === undefined) return { data: [] };
        const first = text.document.offsetAt(range.start);
        const last = text.document.offsetAt(range.end);
        const inRange = (text.features.tokens?.() ?? []).filter(
          ({ span }) => span.end >= first && span.start <= last,
        );
        return toSemanticTokens(text.lines, inRange);
      }),
    );
  },
};
