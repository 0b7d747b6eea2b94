/** `textDocument/codeAction`: quick fixes. The saving of a fix is found by costing the text with it. */

import * as lsp from 'vscode-languageserver';
import { diagnostics } from '../../language/diagnostics.ts';
import type { Fix } from '../../language/fix.ts';
import { layerSpecFixes } from '../../language/layer-spec/fixes/layerSpecFixes.ts';
import { readSpecText } from '../../language/layer-spec/specText.ts';
import { caffeFixes, onnxTextFixes } from '../../language/nearestFixes.ts';
import { type Range, splitLines } from '../../language/textLines.ts';
import { languageIds } from '../../protocol.ts';
import { stopIfCancelled } from '../answer.ts';
import { toDiagnostic, toTextEdits } from '../toProto.ts';
import { modelBehind } from '../virtualText.ts';
import type { Request } from './request.ts';

export const codeActions: Request = {
  capabilities: () => ({ codeActionProvider: { codeActionKinds: [lsp.CodeActionKind.QuickFix] } }),
  serve: ({ connection, handler, session, texts, documents, includes }) => {
    connection.onCodeAction(
      handler('quick fixes', [], async ({ textDocument, range, context }: lsp.CodeActionParams, token) => {
        const { uri } = textDocument;
        const wanted = context.only ?? [lsp.CodeActionKind.QuickFix];
        if (!wanted.some((kind) => lsp.CodeActionKind.QuickFix.startsWith(kind))) return [];
        const view = await documents.view(uri);
        const recost = await documents.recost(uri);
        stopIfCancelled(token);
        const document = texts.get(uri);
        if (view === undefined || document === undefined) return [];
        const source = document.getText();
        const here = diagnostics(view).filter((diagnostic) => touch(diagnostic.range, range));
        const fixes = (): readonly Fix[] => {
          switch (document.languageId) {
            case languageIds.layerSpec:
              return layerSpecFixes(readSpecText(source, includes.texts(uri)), view, here, recost);
            case languageIds.onnxText:
              // The text of a binary model is read-only.
              return modelBehind(uri) === undefined ? onnxTextFixes(source, view, here) : [];
            case languageIds.caffePrototxt:
              return caffeFixes(source, view, here);
            default:
              return [];
          }
        };
        const lines = splitLines(source);
        return fixes().map(
          ({ title, diagnostic, edits, preferred }): lsp.CodeAction => ({
            title,
            kind: lsp.CodeActionKind.QuickFix,
            diagnostics: [toDiagnostic(diagnostic, session.options.issuesPage)],
            edit: { changes: { [uri]: toTextEdits(lines, edits) } },
            ...(preferred ? { isPreferred: true } : {}),
          }),
        );
      }),
    );
  },
};

function touch(one: Range, other: lsp.Range): boolean {
  const isAfter = (left: lsp.Position, right: lsp.Position): boolean =>
    left.line > right.line || (left.line === right.line && left.character > right.character);
  return !isAfter(one.start, other.end) && !isAfter(other.start, one.end);
}
