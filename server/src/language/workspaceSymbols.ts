/** Layers and modules of the open models by name, wherever they are. */

import type { DocumentSymbol } from './documentSymbols.ts';
import type { Range } from './textLines.ts';

export interface WorkspaceSymbol {
  readonly name: string;
  readonly kind: DocumentSymbol['kind'];
  readonly uri: string;
  readonly range: Range;
  /** The module it is in; '' at the top level. */
  readonly container: string;
}

/** Symbols whose names hold the letters of `query` in order, case aside; all of them for an empty query. */
export function workspaceSymbols(
  documents: readonly { readonly uri: string; readonly symbols: readonly DocumentSymbol[] }[],
  query: string,
): readonly WorkspaceSymbol[] {
  return documents.flatMap(({ uri, symbols }) => below(uri, symbols, '', query.toLowerCase()));
}

function below(
  uri: string,
  symbols: readonly DocumentSymbol[],
  container: string,
  query: string,
): readonly WorkspaceSymbol[] {
  return symbols.flatMap(({ name, kind, selection, children }) => [
    ...(holdsInOrder(name.toLowerCase(), query) ? [{ name, kind, uri, range: selection, container }] : []),
    ...below(uri, children, name, query),
  ]);
}

function holdsInOrder(name: string, query: string): boolean {
  let at = 0;
  for (const letter of query) {
    at = name.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
