/** The only place where what the language room says becomes what LSP says. */

import type { CodeLens } from '../language/codeLenses.ts';
import type { Completion, CompletionKind } from '../language/completion.ts';
import type { Diagnostic } from '../language/diagnostics.ts';
import type { DocumentSymbol } from '../language/documentSymbols.ts';
import type { FoldingRange } from '../language/foldingRanges.ts';
import type { Hover } from '../language/hover.ts';
import type { InlayHint } from '../language/inlayHints.ts';
import { problemLines } from '../language/problemLines.ts';
import { type SemanticToken, tokenModifiers, tokenTypes } from '../language/semanticTokens.ts';
import type { SignatureHelp } from '../language/signatureHelp.ts';
import type { TextEdit } from '../language/textEdit.ts';
import { positionAt, rangeOfSpan, type TextLines } from '../language/textLines.ts';
import type { WorkspaceSymbol } from '../language/workspaceSymbols.ts';
import type { Severity } from '../model/issue.ts';
import { commands, type InitializationOptions } from '../protocol.ts';
import { lsp } from './languageServer.ts';

const severities: Readonly<Record<Severity, lsp.DiagnosticSeverity>> = {
  error: lsp.DiagnosticSeverity.Error,
  warning: lsp.DiagnosticSeverity.Warning,
  information: lsp.DiagnosticSeverity.Information,
};

/** The tooltip is resolved when somebody points at the hint. */
export const toInlayHint = (hint: InlayHint, uri: string): lsp.InlayHint => ({
  position: hint.position,
  label: hint.text,
  paddingLeft: true,
  data: { uri, line: hint.position.line },
});

export const toHover = (hover: Hover): lsp.Hover => ({
  contents: markdown(hover.markdown),
  range: hover.range,
});

const commandOf: Readonly<Record<CodeLens['action'], string>> = {
  'show-report': commands.showReport,
  'choose-cluster': commands.chooseCluster,
  'set-dimensions': commands.setDimensions,
  'list-fixes': commands.listFixes,
};

export function toCodeLens(lens: CodeLens, uri: string, hasCommands: boolean): lsp.CodeLens {
  const command = commandOf[lens.action];
  const place = { line: lens.line, character: 0 };
  return {
    range: { start: place, end: place },
    command: hasCommands
      ? {
          title: lens.title,
          command,
          arguments: [uri, ...(lens.model === undefined ? [] : [lens.model])],
        }
      : { title: lens.title, command: '' },
  };
}

export function toDiagnostic(
  diagnostic: Diagnostic,
  { issuesPage, hasCommands = false }: InitializationOptions,
): lsp.Diagnostic {
  const { code } = diagnostic;
  return {
    range: diagnostic.range,
    severity: severities[diagnostic.severity],
    source: 'layercost',
    code,
    ...(issuesPage === undefined ? {} : { codeDescription: { href: explanationOf(code, issuesPage) } }),
    message: problemLines(`${diagnostic.message}${adviceOnUnset(diagnostic.unset, hasCommands)}`),
    ...(diagnostic.unnecessary ? { tags: [lsp.DiagnosticTag.Unnecessary] } : {}),
  };
}

/** How the editor gives what a message says is unset. */
function adviceOnUnset(unset: readonly string[] = [], hasCommands: boolean): string {
  if (unset.length === 0) return '';
  const place = hasCommands ? '`Layercost: Set Dimensions…`' : 'the setting `layercost.dimensions`';
  return `; set ${unset.length === 1 ? 'it' : 'them'} with ${place}`;
}

/** A finding has a page of its own beside that of all codes, whose headings they are. */
function explanationOf(code: string, issuesPage: string): string {
  // A Markdown renderer drops the slash from the anchor.
  const path = code.startsWith('findings/') ? `${code}.md` : `issues.md#${code.replace('/', '')}`;
  return issuesPage.startsWith('command:')
    ? `${issuesPage}?${encodeURIComponent(JSON.stringify([path]))}`
    : issuesPage.replace(/[^/]*$/, path);
}

export const toDocumentSymbol = (symbol: DocumentSymbol): lsp.DocumentSymbol => ({
  name: symbol.name,
  detail: symbol.detail,
  kind: symbol.kind === 'module' ? lsp.SymbolKind.Module : lsp.SymbolKind.Function,
  range: symbol.range,
  selectionRange: symbol.selection,
  children: symbol.children.map(toDocumentSymbol),
});

export const toWorkspaceSymbol = (symbol: WorkspaceSymbol): lsp.SymbolInformation => ({
  name: symbol.name,
  kind: symbol.kind === 'module' ? lsp.SymbolKind.Module : lsp.SymbolKind.Function,
  location: { uri: symbol.uri, range: symbol.range },
  ...(symbol.container === '' ? {} : { containerName: symbol.container }),
});

export const toFoldingRange = (range: FoldingRange): lsp.FoldingRange => ({
  startLine: range.firstLine,
  endLine: range.lastLine,
  ...(range.kind === 'imports' ? { kind: lsp.FoldingRangeKind.Imports } : {}),
});

const completionKinds: Readonly<Record<CompletionKind, lsp.CompletionItemKind>> = {
  module: lsp.CompletionItemKind.Class,
  function: lsp.CompletionItemKind.Function,
  operator: lsp.CompletionItemKind.Operator,
  block: lsp.CompletionItemKind.Module,
  argument: lsp.CompletionItemKind.Property,
  value: lsp.CompletionItemKind.Value,
  dimension: lsp.CompletionItemKind.Constant,
  tensor: lsp.CompletionItemKind.Variable,
  key: lsp.CompletionItemKind.Keyword,
  snippet: lsp.CompletionItemKind.Snippet,
  file: lsp.CompletionItemKind.File,
  folder: lsp.CompletionItemKind.Folder,
};

/** `index` is its place in the order of the proposals, which editors would otherwise make alphabetical. */
export function toCompletionItem(
  completion: Completion,
  index: number,
  range: lsp.Range,
  client: { readonly snippets: boolean; readonly commands: boolean; readonly details: boolean },
): lsp.CompletionItem {
  const asSnippet = completion.snippet === true && client.snippets;
  const plain = completion.snippet
    ? completion.insert.replace(/\$\{\d+:([^}]*)\}|\$\d+/g, '$1')
    : completion.insert;
  return {
    label: completion.label,
    kind: completionKinds[completion.kind],
    sortText: String(index).padStart(4, '0'),
    textEdit: { range, newText: asSnippet ? completion.insert : plain },
    ...detailOf(completion, client.details),
    ...(completion.documentation === '' ? {} : { documentation: markdown(completion.documentation) }),
    ...(asSnippet ? { insertTextFormat: lsp.InsertTextFormat.Snippet } : {}),
    ...(asSnippet && client.commands && completion.asksForArguments
      ? { command: { title: 'Show arguments', command: 'editor.action.triggerParameterHints' } }
      : {}),
    ...((completion.kind === 'folder' || (asSnippet && completion.asksForProposals)) && client.commands
      ? { command: { title: 'Show what follows', command: 'editor.action.triggerSuggest' } }
      : {}),
  };
}

/** What is short stands beside the label; signatures stand above the documentation, which repeats them. */
function detailOf({ detail, kind, documentation }: Completion, beside: boolean): Partial<lsp.CompletionItem> {
  if (detail === '') return {};
  const isSignature = kind === 'module' || kind === 'function' || kind === 'operator' || kind === 'block';
  if (isSignature) return documentation === '' ? { detail } : {};
  return beside ? { labelDetails: { description: detail } } : { detail };
}

export const toSignatureHelp = (help: SignatureHelp): lsp.SignatureHelp => ({
  signatures: [
    {
      label: help.label,
      documentation: markdown(help.documentation),
      parameters: help.parameters.map(({ start, end, documentation }) => ({
        label: [start, end],
        documentation,
      })),
    },
  ],
  activeSignature: 0,
  // No parameter is marked by an index that none has.
  activeParameter: help.active ?? help.parameters.length,
});

export const toTextEdits = (text: TextLines, edits: readonly TextEdit[]): lsp.TextEdit[] =>
  edits.map(({ span, text: newText }) => ({ range: rangeOfSpan(text, span), newText }));

/** A chain of ranges, each within the next. */
export function toSelectionRange(ranges: readonly lsp.Range[]): lsp.SelectionRange | undefined {
  return ranges
    .toReversed()
    .reduce<lsp.SelectionRange | undefined>(
      (parent, range) => (parent === undefined ? { range } : { range, parent }),
      undefined,
    );
}

export const semanticLegend: lsp.SemanticTokensLegend = {
  tokenTypes: [...tokenTypes],
  tokenModifiers: [...tokenModifiers],
};

export function toSemanticTokens(
  text: TextLines | undefined,
  tokens: readonly SemanticToken[],
): lsp.SemanticTokens {
  const builder = new lsp.SemanticTokensBuilder();
  for (const { span, type, modifiers } of tokens) {
    if (text === undefined) break;
    const { line, character } = positionAt(text, span.start);
    const bits = modifiers.reduce((sum, modifier) => sum | (1 << tokenModifiers.indexOf(modifier)), 0);
    builder.push(line, character, span.end - span.start, tokenTypes.indexOf(type), bits);
  }
  return builder.build();
}

export const markdown = (value: string): lsp.MarkupContent => ({ kind: lsp.MarkupKind.Markdown, value });
