/**
 * What every name of a layer spec means: where it is defined and where it is used.
 *
 * Scopes are those of lowering: parameters of a block hide dims, layers of a block hide those outside, and a layer
 * named twice means the nearest one above. What several models of a file define under one name is one name, since
 * what they share may use it.
 */

import type { TextSpan } from '../../model/issue.ts';
import { defineNames } from './defineNames.ts';
import { NameTable, type SpecName } from './nameTable.ts';
import { referToNames } from './referToNames.ts';
import { bodiesOf, holds, type SpecText } from './specText.ts';

/** Every name that the text defines. */
export function namesOfSpec(document: SpecText): readonly SpecName[] {
  const table = new NameTable();
  const bodies = bodiesOf(document.spec);
  for (const { body, model } of bodies) defineNames(body, model, table);
  for (const { body, model } of bodies) referToNames(body, model, document, table);
  return table.names.map((name) => ({
    ...name,
    references: name.references.toSorted((left, right) => left.start - right.start),
  }));
}

/** The name at an offset, whether defined or used there, and the word itself. */
export function nameAt(
  names: readonly SpecName[],
  offset: number,
): { readonly name: SpecName; readonly span: TextSpan } | undefined {
  for (const name of names) {
    const span = [...name.definitions, ...name.references].find((candidate) => holds(candidate, offset));
    if (span !== undefined) return { name, span };
  }
  return undefined;
}
