/** Serves quick fixes. What they save is found by costing the text they make. */

import * as lsp from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { diagnostics } from '../language/diagnostics.ts';
import type { Recost } from '../language/fix.ts';
import { layerSpecFixes } from '../language/layer-spec/fixes/layerSpecFixes.ts';
import { type IncludedText, readSpecText } from '../language/layer-spec/specText.ts';
import type { ModelView } from '../language/modelView.ts';
import type { Range } from '../language/textLines.ts';
import { languageIds } from '../protocol.ts';
import { type Answering, stopIfCancelled } from './answer.ts';
import { toDiagnostic, toTextEdits } from './toProto.ts';

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
      if (view === undefined || document?.languageId !== languageIds.layerSpec) return [];
      const text = readSpecText(document.getText(), services.included(uri));
      const here = diagnostics(view).filter((diagnostic) => touch(diagnostic.range, range));
      return layerSpecFixes(text, view, here, recost).map(
        ({ title, diagnostic, edits, preferred }): lsp.CodeAction => ({
          title,
          kind: lsp.CodeActionKind.QuickFix,
          diagnostics: [toDiagnostic(diagnostic, services.issuesPage())],
          edit: { changes: { [uri]: toTextEdits(text.text, edits) } },
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
