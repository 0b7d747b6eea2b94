/**
 * Names of open dimensions. A program calls them `s27`, whatever they were called when it was exported; `layercost export`
 * writes the names beside it, as an extra file of the archive (`extra_files` of `torch.export.save`).
 */

import type { ByteSource } from '../byteSource.ts';
import { isObject, parseJson } from '../parseJson.ts';
import { readStoredEntry, type ZipEntry } from './zipDirectory.ts';

/** By symbol; empty where the archive has none that can be read. */
export type SymbolNames = ReadonlyMap<string, string>;

const symbolNamesFile = 'layercost_dimensions.json';

const longestFile = 2 ** 16;

export function readSymbolNames(source: ByteSource, entries: readonly ZipEntry[]): SymbolNames {
  const entry = entries.find(({ path }) => path.endsWith(`/${symbolNamesFile}`));
  const bytes = entry && readStoredEntry(source, entry, longestFile);
  if (bytes === undefined || 'problem' in bytes) return new Map();
  const parsed = parseJson(new TextDecoder().decode(bytes.value));
  if ('problem' in parsed || !isObject(parsed.value)) return new Map();
  const names = Object.entries(parsed.value).flatMap(([symbol, name]) =>
    isName(symbol) && typeof name === 'string' && isName(name) ? [[symbol, name] as const] : [],
  );
  // Two symbols of one name would become one dimension.
  return new Map(names.filter(([, name]) => names.filter((other) => other[1] === name).length === 1));
}

const isName = (text: string): boolean => /^[A-Za-z_]\w{0,63}$/.test(text);

/** The JSON of a program with its symbols renamed: in expressions, and as the keys of their bounds. */
export function withNames(program: string, names: SymbolNames): string {
  if (names.size === 0) return program;
  return program
    .replace(/\bSymbol\('(\w+)'/g, (whole, symbol: string) => {
      const name = names.get(symbol);
      return name === undefined ? whole : `Symbol('${name}'`;
    })
    .replace(/"(\w+)":(?=\s*\{\s*"(?:min_val|max_val)")/g, (whole, symbol: string) => {
      const name = names.get(symbol);
      return name === undefined ? whole : `"${name}":`;
    });
}
