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
        const selection = text?.features.selection;
        if (text === undefined || selection === undefined) return [];
        return positions.map((position) => {
          const spans = selection(text.document.offsetAt(position));
          // There is a range for each position, an empty one where nothing is to be selected. Source: LSP 3.17, "Selection Range Request".
          const nothing = { range: { start: position, end: position } };
          return toSelectionRange(spans.map((span) => rangeIn(text, span))) ?? nothing;
        });
      }),
    );
  },
};
