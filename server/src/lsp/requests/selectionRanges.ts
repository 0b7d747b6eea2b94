/** `textDocument/selectionRange`. */

import type { SelectionRangeParams } from 'vscode-languageserver';
import { rangeIn } from '../openTexts.ts';
import { toSelectionRange } from '../toProto.ts';
import type { Request } from './request.ts';

export const selectionRanges: Request = {
  capabilities: () => ({ selectionRangeProvider: true }),
  serve: ({ connection, handler, openTexts }) => {
    connection.onSelectionRanges(
      handler('selection', [], ({ textDocument, positions }: SelectionRangeParams) => {
        const text = openTexts.of(textDocument.uri);
        if (text === undefined) return [];
        return positions.flatMap((position) => {
          const spans = text.features.selection?.(text.document.offsetAt(position)) ?? [];
          return toSelectionRange(spans.map((span) => rangeIn(text, span))) ?? [];
        });
      }),
    );
  },
};
