/**
 * What the lines of a Python file cost, where a model that is open was exported from it: hints and hovers on lines, lenses
 * above functions and classes. The server finds the lines; the file is sent when its text, or a model, has changed. A lens
 * opens models beside the file that have its name, until one is open that shows costs on its lines.
 */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  costPythonLines,
  onnxEditor,
  type PythonLinesParams,
  type PythonLinesResult,
} from '../../server/src/protocol.ts';
import { type Estimates, isModel } from './estimates.ts';
import { isOfModel } from './onnxTextFiles.ts';
import { modelClasses } from './pythonModels.ts';

const python: vscode.DocumentSelector = { language: 'python' };

/** Longer files are data. */
const longestText = 2 ** 20;

interface Costs {
  readonly version: number;
  readonly lines: Promise<PythonLinesResult['lines']>;
}

export function registerPythonLines(
  client: BaseLanguageClient,
  started: Promise<void>,
  estimates: Estimates,
): vscode.Disposable {
  const changed = new vscode.EventEmitter<void>();
  let known = new WeakMap<vscode.TextDocument, Costs>();

  const ask = async (document: vscode.TextDocument): Promise<PythonLinesResult['lines']> => {
    const isShown = vscode.workspace.textDocuments.some((each) => isModel(each) && isOfModel(each.uri));
    const text = document.getText();
    if (!isShown || text.length > longestText) return [];
    await started;
    const params: PythonLinesParams = { path: document.uri.path, text };
    return (await client.sendRequest<PythonLinesResult>(costPythonLines, params)).lines;
  };
  const costsOf = (document: vscode.TextDocument): Promise<PythonLinesResult['lines']> => {
    const { version } = document;
    const last = known.get(document);
    if (last?.version === version) return last.lines;
    const lines = ask(document).catch(() => []);
    known.set(document, { version, lines });
    return lines;
  };
  const refresh = (): void => {
    known = new WeakMap();
    changed.fire();
  };

  return vscode.Disposable.from(
    changed,
    estimates.onChange(refresh),
    vscode.workspace.onDidCloseTextDocument((document) => {
      if (isOfModel(document.uri)) refresh();
    }),
    vscode.languages.registerInlayHintsProvider(python, {
      onDidChangeInlayHints: changed.event,
      provideInlayHints: async (document, range) => {
        const lines = await costsOf(document);
        return lines.flatMap(({ line, text, details, isGroup }) => {
          if (isGroup || line < range.start.line || line > range.end.line) return [];
          const hint = new vscode.InlayHint(endOf(document, line), text);
          hint.paddingLeft = true;
          hint.tooltip = new vscode.MarkdownString(details);
          return [hint];
        });
      },
    }),
    vscode.languages.registerHoverProvider(python, {
      provideHover: async (document, { line }) => {
        const found = (await costsOf(document)).find((each) => each.line === line);
        return found === undefined
          ? undefined
          : new vscode.Hover(new vscode.MarkdownString(found.details), document.lineAt(line).range);
      },
    }),
    vscode.languages.registerCodeLensProvider(python, {
      onDidChangeCodeLenses: changed.event,
      provideCodeLenses: async (document) => {
        const lines = await costsOf(document);
        if (lines.length === 0) return offersOf(document);
        return lines.flatMap(({ line, text, isGroup }) =>
          isGroup ? [new vscode.CodeLens(document.lineAt(line).range, { title: text, command: '' })] : [],
        );
      },
    }),
  );
}

/** `blocks.pt2` and `blocks.Net.onnx` beside `blocks.py`. */
async function offersOf(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
  const [first] = modelClasses(document.getText());
  const stem = /([^/]+)\.py$/.exec(document.uri.path)?.[1];
  if (first === undefined || stem === undefined) return [];
  const folder = vscode.Uri.joinPath(document.uri, '..');
  const files = await vscode.workspace.fs.readDirectory(folder).then(
    (entries) => entries.map(([name]) => name),
    () => [],
  );
  return files
    .filter((name) => name.startsWith(`${stem}.`) && /\.(?:pt2|onnx)$/.test(name))
    .map(
      (name) =>
        new vscode.CodeLens(document.lineAt(first.line).range, {
          title: vscode.l10n.t('Show Costs From {0}', name),
          command: 'vscode.openWith',
          arguments: [
            vscode.Uri.joinPath(folder, name),
            onnxEditor,
            { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
          ],
        }),
    );
}

const endOf = (document: vscode.TextDocument, line: number): vscode.Position =>
  document.lineAt(Math.min(line, document.lineCount - 1)).range.end;
