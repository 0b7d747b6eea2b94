/** What Node offers the language server: files by positioned reads, and processes. */

import { readdirSync } from 'node:fs';
import { URI } from 'vscode-uri';
import type { Platform } from '../lsp/platform.ts';
import { tooLong, unreadable } from '../lsp/readFile.ts';
import { restOfTexts } from '../lsp/restingTexts.ts';
import { benchmarkInEditor } from './benchmarkInEditor.ts';
import { exportInEditor } from './exportInEditor.ts';
import { checkExternalData } from './externalData.ts';
import { openFileSource } from './fileSource.ts';
import { keptResults } from './keptResults.ts';
import { liesInside } from './liesInside.ts';
import { nextTurn } from './nextTurn.ts';
import { watchedMarket } from './ownPrices.ts';

export const nodePlatform: Platform = {
  bytesEncoding: 'base64',
  openFile: (uri, bounds) => {
    const parsed = URI.parse(uri);
    if (parsed.scheme !== 'file') return undefined;
    if (bounds?.inside !== undefined && !liesInside(URI.parse(bounds.inside).fsPath, parsed.fsPath))
      return unreadable(uri, 'it is not inside the folder of the model');
    const result = openFileSource(parsed.fsPath);
    if (result.kind === 'failed') return result;
    const { source, close } = result.file;
    if (bounds !== undefined && source.size > bounds.longest) {
      close();
      return unreadable(uri, tooLong(bounds));
    }
    return { kind: 'open', ...result.file };
  },
  listFolder: (uri) => {
    const parsed = URI.parse(uri);
    if (parsed.scheme !== 'file') return undefined;
    try {
      return readdirSync(parsed.fsPath, { withFileTypes: true }).map((entry) => ({
        name: entry.name,
        isFolder: entry.isDirectory(),
      }));
    } catch {
      return [];
    }
  },
  nextTurn,
  restOfTexts,
  checkNeighbours: (opened, uri) => {
    const parsed = URI.parse(uri);
    return parsed.scheme !== 'file' || opened.onnx === undefined
      ? []
      : checkExternalData(opened.onnx, parsed.fsPath);
  },
  benchmark: benchmarkInEditor,
  exportPython: exportInEditor,
  market: watchedMarket(),
  results: keptResults,
};
