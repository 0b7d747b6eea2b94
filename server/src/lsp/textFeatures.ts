/** Serves what a text says without its cost: completion, navigation, rename, formatting and the like. */

import * as lsp from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { caffeFeatures } from '../language/caffe/caffeFeatures.ts';
import { hover } from '../language/hover.ts';
import { layerSpecFeatures } from '../language/layer-spec/layerSpecFeatures.ts';
import type { IncludedText } from '../language/layer-spec/specText.ts';
import type { ModelView } from '../language/modelView.ts';
import { onnxTextFeatures } from '../language/onnx-text/onnxTextFeatures.ts';
import type { RelatedTexts, TextFeatures } from '../language/textFeatures.ts';
import { rangeOfSpan, splitLines, type TextLines } from '../language/textLines.ts';
import { languageIds } from '../protocol.ts';
import { type Answering, stopIfCancelled } from './answer.ts';
import type { ListFolder } from './listFolder.ts';
import type { RelatedSpecs } from './relatedSpecs.ts';
import {
  semanticLegend,
  toCompletionItem,
  toHover,
  toSelectionRange,
  toSemanticTokens,
  toSignatureHelp,
  toTextEdits,
} from './toProto.ts';
import { fileName, resolvePath } from './virtualText.ts';

export const textCapabilities: lsp.ServerCapabilities = {
  completionProvider: { triggerCharacters: ['(', ',', '=', ' ', '*', '.', '/', "'"] },
  signatureHelpProvider: { triggerCharacters: ['(', ','], retriggerCharacters: ['='] },
  definitionProvider: true,
  referencesProvider: true,
  documentHighlightProvider: true,
  renameProvider: { prepareProvider: true },
  documentFormattingProvider: true,
  documentRangeFormattingProvider: true,
  selectionRangeProvider: true,
  semanticTokensProvider: { legend: semanticLegend, full: true, range: true },
  documentLinkProvider: {},
};

export interface TextServices {
  readonly connection: lsp.Connection;
  readonly handler: Answering['handler'];
  readonly document: (uri: string) => TextDocument | undefined;
  /** The view of the present text, once it is there. */
  readonly view: (uri: string) => Promise<ModelView | undefined>;
  /** The view that was made last, of the present text or of one before. */
  readonly shownView: (uri: string) => ModelView | undefined;
  /** Entries of a folder, by its address. */
  readonly listFolder: ListFolder;
  /** Texts of the files that a document includes. */
  readonly included: (uri: string) => readonly IncludedText[];
  /** Texts that include a document, that it includes, or that share what it includes. */
  readonly related: RelatedSpecs;
  /** What the client does with a proposal: tab stops, and the commands of VS Code. */
  readonly proposals: () => {
    readonly snippets: boolean;
    readonly commands: boolean;
    readonly details: boolean;
  };
}

interface OpenText {
  readonly version: number;
  readonly document: TextDocument;
  readonly features: TextFeatures;
  readonly lines: TextLines;
  readonly included: readonly IncludedText[];
}

type MakeFeatures = (source: string, included: readonly IncludedText[]) => TextFeatures;

const languages: Readonly<Record<string, MakeFeatures | undefined>> = {
  [languageIds.layerSpec]: layerSpecFeatures,
  [languageIds.onnxText]: onnxTextFeatures,
  [languageIds.caffePrototxt]: caffeFeatures,
};

/** Proposals do not wait longer for the shapes that put them in order. */
const patience = 60;

export function serveTextFeatures(services: TextServices): void {
  const { connection, handler } = services;
  const read = new WeakMap<TextDocument, OpenText>();
  const open = (uri: string): OpenText | undefined => {
    const document = services.document(uri);
    const make = document === undefined ? undefined : languages[document.languageId];
    if (document === undefined || make === undefined) return undefined;
    const known = read.get(document);
    const included = services.included(uri);
    if (known?.version === document.version && isSame(known.included, included)) return known;
    const source = document.getText();
    const made = {
      version: document.version,
      document,
      features: make(source, included),
      lines: splitLines(source),
      included,
    };
    read.set(document, made);
    return made;
  };
  const at = (
    params: lsp.TextDocumentPositionParams,
  ): (OpenText & { readonly offset: number }) | undefined => {
    const text = open(params.textDocument.uri);
    return text === undefined ? undefined : { ...text, offset: text.document.offsetAt(params.position) };
  };
  /** What other files have to do with a word; nothing where it is of its file alone. */
  const relatedFor = async (params: lsp.TextDocumentPositionParams): Promise<RelatedTexts | undefined> => {
    const text = at(params);
    if (text?.features.acrossFiles?.isShared(text.offset) !== true) return undefined;
    return services.related.everywhere(params.textDocument.uri);
  };
  const range = (text: OpenText, span: { readonly start: number; readonly end: number }): lsp.Range =>
    rangeOfSpan(text.lines, span);

  connection.onCompletion(
    handler('completion', [], async (params: lsp.CompletionParams, token) => {
      const { uri } = params.textDocument;
      const view = (await withinPatience(services.view(uri))) ?? services.shownView(uri);
      stopIfCancelled(token);
      const text = at(params);
      const path = text?.features.path?.(text.offset);
      if (text !== undefined && path !== undefined) {
        const folder = resolvePath(uri, path.folder === '' ? '.' : path.folder);
        const entries = folder === undefined ? [] : await services.listFolder(folder);
        stopIfCancelled(token);
        return path
          .complete(entries, fileName(uri))
          .map((each, index) => toCompletionItem(each, index, range(text, each.span), services.proposals()));
      }
      // A blank asks for help only where a value or source is expected next.
      if (text === undefined || isIdleBlank(params, text)) return [];
      const client = services.proposals();
      return (text.features.complete?.(text.offset, view) ?? [])
        .filter((completion) => client.snippets || completion.kind !== 'snippet')
        .map((completion, index) =>
          toCompletionItem(completion, index, range(text, completion.span), client),
        );
    }),
  );
  connection.onSignatureHelp(
    handler('signature help', null, (params: lsp.SignatureHelpParams) => {
      const text = at(params);
      const help = text?.features.signatureHelp?.(text.offset);
      return help === undefined ? null : toSignatureHelp(help);
    }),
  );
  connection.onHover(
    handler('hover', null, async (params: lsp.HoverParams, token) => {
      const view = await services.view(params.textDocument.uri);
      stopIfCancelled(token);
      const text = at(params);
      const found = text?.features.hover?.(text.offset, view) ?? (view && hover(view, params.position));
      return found === undefined ? null : toHover(found);
    }),
  );
  connection.onDefinition(
    handler('definition', null, (params: lsp.DefinitionParams): lsp.LocationLink[] | null => {
      const text = at(params);
      const found = text?.features.definition?.(text.offset);
      if (text === undefined || found === undefined) return null;
      const { file } = found;
      const targetUri = file === undefined ? text.document.uri : resolvePath(text.document.uri, file.path);
      if (targetUri === undefined) return null;
      const lines = file === undefined ? text.lines : splitLines(file.text);
      return [
        {
          originSelectionRange: range(text, found.origin),
          targetUri,
          targetRange: rangeOfSpan(lines, found.whole),
          targetSelectionRange: rangeOfSpan(lines, found.target),
        },
      ];
    }),
  );
  connection.onReferences(
    handler('references', [], async (params: lsp.ReferenceParams, token) => {
      const related = await relatedFor(params);
      stopIfCancelled(token);
      const text = at(params);
      const { includeDeclaration } = params.context;
      const across =
        related && text?.features.acrossFiles?.references(text.offset, includeDeclaration, related);
      if (across !== undefined) {
        return across.flatMap(({ address, text: lines, spans }) =>
          spans.map((span) => ({ uri: address, range: rangeOfSpan(lines, span) })),
        );
      }
      const found = text?.features.references?.(text.offset, includeDeclaration) ?? [];
      return text === undefined
        ? []
        : found.map((span) => ({ uri: text.document.uri, range: range(text, span) }));
    }),
  );
  connection.onDocumentHighlight(
    handler('highlights', [], (params: lsp.DocumentHighlightParams) => {
      const text = at(params);
      const found = text?.features.references?.(text.offset, true) ?? [];
      const uses = new Set(text?.features.references?.(text.offset, false).map(({ start }) => start));
      return text === undefined
        ? []
        : found.map((span) => ({
            range: range(text, span),
            kind: uses.has(span.start) ? lsp.DocumentHighlightKind.Read : lsp.DocumentHighlightKind.Write,
          }));
    }),
  );
  connection.onPrepareRename(
    handler('rename', null, (params: lsp.PrepareRenameParams) => {
      const text = at(params);
      const { uri } = params.textDocument;
      const foreign = text?.features.acrossFiles?.prepareRename(text.offset, services.related.open(uri));
      if (text !== undefined && foreign !== undefined) return range(text, foreign);
      const outcome = text?.features.prepareRename?.(text.offset);
      if (text === undefined || outcome === undefined) return null;
      return outcome.kind === 'done' ? range(text, outcome.result) : refusal(outcome.reason);
    }),
  );
  connection.onRenameRequest(
    handler('rename', null, async (params: lsp.RenameParams, token) => {
      const related = await relatedFor(params);
      stopIfCancelled(token);
      const text = at(params);
      const across = related && text?.features.acrossFiles?.rename(text.offset, params.newName, related);
      if (across?.kind === 'refused') return refusal(across.reason);
      if (across?.kind === 'done') {
        const changes = across.result.map(({ address, text: lines, edits }) => [
          address,
          toTextEdits(lines, edits),
        ]);
        return { changes: Object.fromEntries(changes) };
      }
      const outcome = text?.features.rename?.(text.offset, params.newName);
      if (text === undefined || outcome === undefined) return null;
      if (outcome.kind === 'refused') return refusal(outcome.reason);
      return { changes: { [text.document.uri]: toTextEdits(text.lines, outcome.result) } };
    }),
  );
  connection.onDocumentFormatting(
    handler('formatting', [], ({ textDocument }: lsp.DocumentFormattingParams) => {
      const text = open(textDocument.uri);
      return text === undefined
        ? []
        : toTextEdits(text.lines, text.features.format?.(0, text.lines.lines.length - 1) ?? []);
    }),
  );
  connection.onDocumentRangeFormatting(
    handler('formatting', [], (params: lsp.DocumentRangeFormattingParams) => {
      const text = open(params.textDocument.uri);
      const { start, end } = params.range;
      const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
      return text === undefined
        ? []
        : toTextEdits(text.lines, text.features.format?.(start.line, last) ?? []);
    }),
  );
  connection.onSelectionRanges(
    handler('selection', [], ({ textDocument, positions }: lsp.SelectionRangeParams) => {
      const text = open(textDocument.uri);
      if (text === undefined) return [];
      return positions.flatMap((position) => {
        const spans = text.features.selection?.(text.document.offsetAt(position)) ?? [];
        return toSelectionRange(spans.map((span) => range(text, span))) ?? [];
      });
    }),
  );
  connection.languages.semanticTokens.on(
    handler('semantic tokens', { data: [] }, ({ textDocument }: lsp.SemanticTokensParams) => {
      const text = open(textDocument.uri);
      return toSemanticTokens(text?.lines, text?.features.tokens?.() ?? []);
    }),
  );
  connection.languages.semanticTokens.onRange(
    handler(
      'semantic tokens',
      { data: [] },
      ({ textDocument, range: asked }: lsp.SemanticTokensRangeParams) => {
        const text = open(textDocument.uri);
        if (text === undefined) return { data: [] };
        const first = text.document.offsetAt(asked.start);
        const last = text.document.offsetAt(asked.end);
        const tokens = text.features.tokens?.() ?? [];
        return toSemanticTokens(
          text.lines,
          tokens.filter(({ span }) => span.end >= first && span.start <= last),
        );
      },
    ),
  );
  connection.onDocumentLinks(
    handler('links', [], ({ textDocument }: lsp.DocumentLinkParams) => {
      const text = open(textDocument.uri);
      return (text?.features.links?.() ?? []).flatMap(({ span, path }) => {
        const target = resolvePath(textDocument.uri, path);
        return text === undefined || target === undefined ? [] : [{ range: range(text, span), target }];
      });
    }),
  );
}

const isSame = (left: readonly IncludedText[], right: readonly IncludedText[]): boolean =>
  left.length === right.length &&
  left.every(({ path, text }, index) => path === right[index]?.path && text === right[index]?.text);

/** The person is told why; that is no failure of the server. */
const refusal = (reason: string): lsp.ResponseError<void> =>
  new lsp.ResponseError<void>(lsp.ErrorCodes.InvalidRequest, reason);

/** A blank that was typed where nothing is expected, such as after a name's colon in a comment or between words. */
function isIdleBlank(
  { context }: lsp.CompletionParams,
  { document, offset }: { document: TextDocument; offset: number },
): boolean {
  if (context?.triggerCharacter !== ' ') return false;
  return !/(?:[:,(*]|\bfrom)\s$/.test(document.getText().slice(Math.max(0, offset - 8), offset));
}

/** What is there in time; the work goes on for those who wait for it. */
function withinPatience<Result>(work: Promise<Result>): Promise<Result | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), patience);
    const done = (result: Result | undefined): void => {
      clearTimeout(timer);
      resolve(result);
    };
    work.then(done, () => done(undefined));
  });
}
