/** A name that nothing defines and one that nothing reads: which of the two is the slip. */

import type { TextSpan } from '../model/issue.ts';

/**
 * Where `meant` is defined, if that is the slip: it stands in the text once, and `unknown` more often. Found by words, so
 * that dims, parameters and blocks are alike.
 */
export function misspeltDefinition(source: string, unknown: string, meant: string): TextSpan | undefined {
  const [definition, ...reads] = placesOf(source, meant);
  return definition === undefined || reads.length > 0 || placesOf(source, unknown).length < 2
    ? undefined
    : definition;
}

function placesOf(source: string, word: string): readonly TextSpan[] {
  if (!/^\w+$/.test(word)) return [];
  return [...source.matchAll(new RegExp(`\\b${word}\\b`, 'g'))].map(({ index }) => ({
    start: index,
    end: index + word.length,
  }));
}
