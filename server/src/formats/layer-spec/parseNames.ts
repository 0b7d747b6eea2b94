/** Names of tensors: those a layer gives its outputs, and those by which others read them. */

import { nearestName } from '../../model/nearestName.ts';
import { wordsBehindCall } from './marks.ts';
import type { Name, Reference } from './syntax.ts';
import { type Parsed, parseTokens, type TokenCursor } from './tokenCursor.ts';

/** `fc`, or `q, k, v` where a layer has several outputs: the key of a layer. */
export function parseNames(text: string, start: number, end: number): Parsed<readonly Name[]> {
  return parseTokens(text, start, end, takeNames);
}

/** `stem` or `lstm.h_n`: a tensor that leaves the model. */
export function parseReference(text: string, start: number, end: number): Parsed<Reference> {
  return parseTokens(text, start, end, (cursor) => {
    const result = takeReference(cursor, 'the name of a layer or input');
    if (result !== undefined) cursor.expectEnd('the name');
    return result;
  });
}

/** `stem, lstm.h_n`; `what` says in a message what is expected. */
export function takeReferences(cursor: TokenCursor, what: string): readonly Reference[] {
  const references: Reference[] = [];
  do {
    const reference = takeReference(cursor, what);
    if (reference === undefined) return references;
    references.push(reference);
  } while (cursor.take(',') || missesComma(cursor));
  return references;
}

/** Another name where the words behind a list of tensors would stand. */
function missesComma(cursor: TokenCursor): boolean {
  const { kind, text } = cursor.token;
  if (kind !== 'name' || nearestName(text, wordsBehindNames) !== undefined) return false;
  cursor.reportComma();
  return true;
}

const wordsBehindNames: readonly string[] = [...wordsBehindCall, 'to'];

function takeReference(cursor: TokenCursor, what: string): Reference | undefined {
  const name = cursor.takeName();
  if (name === undefined) {
    cursor.report(cursor.token.span, `expected ${what}`);
    return undefined;
  }
  if (!cursor.take('.')) return { ...name, output: undefined };
  const output = cursor.takeName();
  if (output === undefined) cursor.report(cursor.token.span, `expected an output of \`${name.text}\``);
  return { ...name, output };
}

function takeNames(cursor: TokenCursor): readonly Name[] | undefined {
  const names: Name[] = [];
  do {
    const name = cursor.takeName();
    if (name === undefined) {
      cursor.report(
        cursor.token.span,
        'a layer name has letters, digits and `_`; separate several outputs with commas',
      );
      return names.length === 0 ? undefined : names;
    }
    names.push(name);
  } while (cursor.take(',') || missesComma(cursor));
  cursor.expectEnd('the name');
  return names;
}
