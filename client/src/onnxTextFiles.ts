/**
 * The texts of binary models as read-only files of a file system of their own, so that the editor restores them
 * when its window is opened again, which it does not do for other virtual documents. What they say comes from
 * the server; a text follows its model, so an export that runs again is seen at once.
 */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  onnxLayersScheme,
  onnxLayersSuffix,
  onnxTextScheme,
  onnxTextSuffix,
} from '../../server/src/protocol.ts';

export interface OnnxTextFiles extends vscode.Disposable {
  /**
   * Shows a binary that was just written by a command of ours. Watching alone does not do: an editor misses files of a folder
   * that was created a moment ago.
   */
  readonly renew: (model: vscode.Uri) => void;
}

export function registerOnnxTextFiles(client: BaseLanguageClient, started: Promise<void>): OnnxTextFiles {
  const changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  const texts = new Map<string, { readonly content: Promise<Uint8Array>; readonly time: number }>();
  const watchers = new Map<string, vscode.Disposable>();

  const read = (uri: vscode.Uri): { content: Promise<Uint8Array>; time: number } => {
    const key = uri.toString();
    const known = texts.get(key);
    if (known !== undefined) return known;
    const content = started
      .then(() =>
        client.sendRequest<{ text: string }>('workspace/textDocumentContent', {
          uri: client.code2ProtocolConverter.asUri(uri),
        }),
      )
      .then(({ text }) => new TextEncoder().encode(text));
    const entry = { content, time: Date.now() };
    texts.set(key, entry);
    content.catch(() => texts.delete(key));
    return entry;
  };

  const follow = (text: vscode.Uri): void => {
    const key = text.toString();
    if (!isOfModel(text) || watchers.has(key)) return;
    const model = modelOf(text);
    const name = model.path.split('/').pop() ?? '';
    const pattern = new vscode.RelativePattern(
      vscode.Uri.joinPath(model, '..'),
      name.replace(/[[\]{}*?]/g, '[$&]'),
    );
    const watcher = vscode.workspace.createFileSystemWatcher(pattern);
    watchers.set(
      key,
      vscode.Disposable.from(
        watcher,
        watcher.onDidCreate(() => tell(text, 1)),
        watcher.onDidChange(() => tell(text, 2)),
        watcher.onDidDelete(() => tell(text, 3)),
      ),
    );
  };

  const tell = (text: vscode.Uri, type: 1 | 2 | 3): void => {
    // In this order: the server forgets the old file before the editor asks for the new text.
    const uri = modelOf(text).toString();
    client.sendNotification('workspace/didChangeWatchedFiles', { changes: [{ uri, type }] }).catch(() => {});
    texts.delete(text.toString());
    changed.fire([{ type: vscode.FileChangeType.Changed, uri: text }]);
  };

  const renew = (model: vscode.Uri): void => {
    for (const { uri } of vscode.workspace.textDocuments)
      if (isOfModel(uri) && modelOf(uri).toString() === model.toString()) tell(uri, 2);
  };

  const files: vscode.FileSystemProvider = {
    onDidChangeFile: changed.event,
    watch: () => new vscode.Disposable(() => {}),
    stat: async (uri) => {
      const { content, time } = read(uri);
      const { length } = await content;
      return { type: vscode.FileType.File, ctime: 0, mtime: time, size: length };
    },
    readFile: (uri) => read(uri).content,
    readDirectory: () => [],
    createDirectory: refuse,
    writeFile: refuse,
    delete: refuse,
    rename: refuse,
  };
  for (const { uri } of vscode.workspace.textDocuments) follow(uri);
  const parts = vscode.Disposable.from(
    changed,
    ...[onnxTextScheme, onnxLayersScheme].map((scheme) =>
      vscode.workspace.registerFileSystemProvider(scheme, files, {
        isReadonly: true,
        isCaseSensitive: true,
      }),
    ),
    vscode.workspace.onDidOpenTextDocument(({ uri }) => follow(uri)),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => {
      const key = uri.toString();
      texts.delete(key);
      watchers.get(key)?.dispose();
      watchers.delete(key);
    }),
    { dispose: () => vscode.Disposable.from(...watchers.values()).dispose() },
  );
  return { renew, dispose: () => parts.dispose() };
}

/** The text's address. Its query holds the whole address of the binary, so that any file system will do. */
export const textOf = (model: vscode.Uri): vscode.Uri =>
  vscode.Uri.from({
    scheme: onnxTextScheme,
    path: model.path + onnxTextSuffix,
    query: model.toString(),
  });

/** The address of the same model as layers. */
export const layersOf = (model: vscode.Uri): vscode.Uri =>
  vscode.Uri.from({
    scheme: onnxLayersScheme,
    path: model.path + onnxLayersSuffix,
    query: model.toString(),
  });

/** The binary model that a text stands for. */
export const modelOf = (text: vscode.Uri): vscode.Uri => vscode.Uri.parse(text.query);

/** Whether a text stands for a binary model. */
export const isOfModel = ({ scheme }: vscode.Uri): boolean =>
  scheme === onnxTextScheme || scheme === onnxLayersScheme;

function refuse(uri: vscode.Uri): never {
  throw vscode.FileSystemError.NoPermissions(uri);
}
