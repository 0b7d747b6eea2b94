/** `textDocument/formatting` and `rangeFormatting`. */

import type {
  DocumentFormattingParams,
  DocumentRangeFormattingParams,
  TextEdit,
} from 'vscode-languageserver';
import type { OpenText } from '../openTexts.ts';
import { toTextEdits } from '../toProto.ts';
import type { Request } from './request.ts';

export const formatting: Request = {
  capabilities: () => ({ documentFormattingProvider: true, documentRangeFormattingProvider: true }),
  serve: ({ connection, handler, openTexts }) => {
    connection.onDocumentFormatting(
      handler('formatting', [], ({ textDocument }: DocumentFormattingParams) => {
        const text = openTexts.of(textDocument.uri);
        return text === undefined ? [] : formatted(text, 0, text.lines.lines.length - 1);
      }),
    );
    connection.onDocumentRangeFormatting(
      handler('formatting', [], (params: DocumentRangeFormattingParams) => {
        const text = openTexts.of(params.textDocument.uri);
        const { start, end } = params.range;
        const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
        return text === undefined ? [] : formatted(text, start.line, last);
      }),
    );
  },
};

const formatted = ({ features, lines }: OpenText, first: number, last: number): TextEdit[] =>
  toTextEdits(lines, features.format?.(first, last) ?? []);
