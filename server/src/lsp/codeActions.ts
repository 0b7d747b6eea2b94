/** Serves quick fixes. What they save is found by costing the text they make. */

import * as lsp from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { diagnostics } from '../language/diagnostics.ts';
import type { Fix, Recost } from '../language/fix.ts';
import { layerSpecFixes } from '../language/layer-spec/fixes/layerSpecFixes.ts';
import { type IncludedText, readSpecText } from '../language/layer-spec/specText.ts';
import type { ModelView } from '../language/modelView.ts';
import { caffeFixes, onnxTextFixes } from '../language/nearestFixes.ts';
import { type Range, splitLines } from '../language/textLines.ts';
import { languageIds } from '../protocol.ts';
import { type Answering, stopIfCancelled } from './answer.ts';
import { toDiagnostic, toTextEdits } from './toProto.ts';
import { modelBehind } from './virtualText.ts';

export interface CodeActionServices {
  readonly connection: lsp.Connection;
  readonly handler: Answering['handler'];
  readonly document: (uri: string) => TextDocument | undefined;
  readonly view: (uri: string) => Promise<ModelView | undefined>;
  /** How the open text of a document is costed. */
  readonly recost: (uri: string) => Promise<Recost>;
  readonly included: (uri: string) => readonly IncludedText[];
  readonly issuesPage: () => string | undefined;
}

export const codeActionCapabilities: lsp.ServerCapabilities = {
  codeActionProvider: { codeActionKinds: [lsp.CodeActionKind.QuickFix] },
};

export function serveCodeActions(services: CodeActionServices): void {
  const { connection, handler } = services;
  connection.onCodeAction(
    handler('quick fixes', [], async ({ textDocument, range, context }: lsp.CodeActionParams, token) => {
      const { uri } = textDocument;
      const wanted = context.only ?? [lsp.CodeActionKind.QuickFix];
      if (!wanted.some((kind) => lsp.CodeActionKind.QuickFix.startsWith(kind))) return [];
      const view = await services.view(uri);
      const recost = await services.recost(uri);
      stopIfCancelled(token);
      const document = services.document(uri);
      if (view === undefined || document === undefined) return [];
      const source = document.getText();
      const here = diagnostics(view).filter((diagnostic) => touch(diagnostic.range, range));
      const fixes = (): readonly Fix[] => {
        switch (document.languageId) {
          case languageIds.layerSpec:
            return layerSpecFixes(readSpecText(source, services.included(uri)), view, here, recost);
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
          diagnostics: [toDiagnostic(diagnostic, services.issuesPage())],
          edit: { changes: { [uri]: toTextEdits(lines, edits) } },
          ...(preferred ? { isPreferred: true } : {}),
        }),
      );
    }),
  );
}

function touch(one: Range, other: lsp.Range): boolean {
  const isAfter = (left: lsp.Position, right: lsp.Position): boolean =>
    left.line > right.line || (left.line === right.line && left.character > right.character);
  return !isAfter(one.start, other.end) && !isAfter(other.start, one.end);
}
