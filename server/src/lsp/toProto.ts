/** The only place where what the language room says becomes what LSP says. */

import * as lsp from 'vscode-languageserver';
import type { CodeLens } from '../language/codeLenses.ts';
import type { Diagnostic } from '../language/diagnostics.ts';
import type { DocumentSymbol } from '../language/documentSymbols.ts';
import type { FoldingRange } from '../language/foldingRanges.ts';
import type { Hover } from '../language/hover.ts';
import type { InlayHint } from '../language/inlayHints.ts';
import type { Severity } from '../model/issue.ts';
import { commands } from '../protocol.ts';

const severities: Readonly<Record<Severity, lsp.DiagnosticSeverity>> = {
  error: lsp.DiagnosticSeverity.Error,
  warning: lsp.DiagnosticSeverity.Warning,
  information: lsp.DiagnosticSeverity.Information,
};

export const toInlayHint = (hint: InlayHint): lsp.InlayHint => ({
  position: hint.position,
  label: hint.text,
  paddingLeft: true,
  tooltip: markdown(hint.tooltip),
});

export const toHover = (hover: Hover): lsp.Hover => ({
  contents: markdown(hover.markdown),
  range: hover.range,
});

export function toCodeLens(lens: CodeLens, uri: string, hasCommands: boolean): lsp.CodeLens {
  const command = lens.action === 'show-report' ? commands.showReport : commands.chooseCluster;
  const place = { line: lens.line, character: 0 };
  return {
    range: { start: place, end: place },
    command: hasCommands
      ? { title: lens.title, command, arguments: [uri] }
      : { title: lens.title, command: '' },
  };
}

export function toDiagnostic(diagnostic: Diagnostic, issuesPage: string | undefined): lsp.Diagnostic {
  const { code } = diagnostic;
  return {
    range: diagnostic.range,
    severity: severities[diagnostic.severity],
    source: 'layercost',
    code,
    // The page's headings are the codes; a Markdown renderer drops the slash from the anchor.
    ...(issuesPage === undefined
      ? {}
      : { codeDescription: { href: `${issuesPage}#${code.replace('/', '')}` } }),
    message: diagnostic.message,
  };
}

export const toDocumentSymbol = (symbol: DocumentSymbol): lsp.DocumentSymbol => ({
  name: symbol.name,
  detail: symbol.detail,
  kind: symbol.kind === 'module' ? lsp.SymbolKind.Module : lsp.SymbolKind.Function,
  range: symbol.range,
  selectionRange: symbol.selection,
  children: symbol.children.map(toDocumentSymbol),
});

export const toFoldingRange = (range: FoldingRange): lsp.FoldingRange => ({
  startLine: range.firstLine,
  endLine: range.lastLine,
  ...(range.kind === 'imports' ? { kind: lsp.FoldingRangeKind.Imports } : {}),
});

const markdown = (value: string): lsp.MarkupContent => ({ kind: lsp.MarkupKind.Markdown, value });
