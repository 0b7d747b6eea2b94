/** The header of a model or a function in ONNX text: `<key: value, …>`. */

import { readEntries } from './readEntries.ts';
import { readPairs } from './readType.ts';
import type { TextCursor } from './textCursor.ts';

export interface Header {
  readonly texts: Map<string, string>;
  readonly numbers: Map<string, number>;
  readonly metadata: Map<string, string>;
  readonly operatorSets: { readonly domain: string; readonly version: number }[];
}

export type HeaderKind = 'integer' | 'text' | 'pairs' | 'operator sets';

export const modelKeys: ReadonlyMap<string, HeaderKind> = new Map([
  ['ir_version', 'integer'],
  ['opset_import', 'operator sets'],
  ['producer_name', 'text'],
  ['producer_version', 'text'],
  ['domain', 'text'],
  ['model_version', 'integer'],
  ['doc_string', 'text'],
  ['metadata_props', 'pairs'],
]);

export const functionKeys: ReadonlyMap<string, HeaderKind> = new Map([
  ['opset_import', 'operator sets'],
  ['domain', 'text'],
  ['overload', 'text'],
  ['doc_string', 'text'],
  ['metadata_props', 'pairs'],
]);

const hint = 'a header is written `<ir_version: 10, opset_import: ["" : 21]>`';

/** `<key: value, …>` before a model or a function, where there is one. Reading goes on past a wrong entry for `report`. */
export function readHeader(
  cursor: TextCursor,
  keys: ReadonlyMap<string, HeaderKind>,
  report?: () => void,
): Header {
  const header: Header = { texts: new Map(), numbers: new Map(), metadata: new Map(), operatorSets: [] };
  if (!cursor.matches('<')) return header;
  const outer = cursor.hint;
  cursor.hint = hint;
  readEntries(
    cursor,
    '>',
    () => {
      const keyStart = cursor.next();
      const key = cursor.identifier('a key of the header');
      const kind = keys.get(key);
      if (kind === undefined) {
        cursor.failWith(
          `\`${key}\` is no key of a header: write one of ${[...keys.keys()].join(', ')}`,
          keyStart,
          keyStart + key.length,
        );
      }
      cursor.expect(':');
      if (cursor.failed) return;
      if (kind === 'integer') header.numbers.set(key, cursor.integer());
      else if (kind === 'text') header.texts.set(key, cursor.string());
      else if (kind === 'pairs') readMetadata(cursor, header.metadata);
      else readOperatorSets(cursor, header);
    },
    report,
  );
  cursor.hint = outer;
  return header;
}

function readOperatorSets(cursor: TextCursor, header: Header): void {
  cursor.expect('[');
  if (cursor.matches(']')) return;
  do {
    const domain = cursor.string();
    cursor.expect(':');
    const version = cursor.integer('the version of an operator set');
    if (!cursor.failed) header.operatorSets.push({ domain, version });
  } while (cursor.matches(','));
  cursor.expect(']');
}

function readMetadata(cursor: TextCursor, into: Map<string, string>): void {
  cursor.expect('[');
  if (!cursor.matches(']')) readPairs(cursor, into);
}
